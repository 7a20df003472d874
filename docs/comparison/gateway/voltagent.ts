import type { LanguageModelV3, LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { APICallError } from "@ai-sdk/provider"
import { Agent } from "@voltagent/core"

const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined }
}
const gateway: LanguageModelV3 = {
  specificationVersion: "v3",
  provider: "house",
  modelId: "house-1",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("Only streams")),
  doStream: async ({ abortSignal, prompt }) => {
    const url = process.env["GATEWAY_URL"] ?? "http://127.0.0.1:8080"
    const body = JSON.stringify({ messages: prompt })
    const response = await fetch(url, { method: "POST", body, signal: abortSignal ?? null })
    if (!response.ok || response.body === null) {
      throw new APICallError({
        message: "The gateway refused",
        url,
        requestBodyValues: {},
        statusCode: response.status
      })
    }
    const parts = new TransformStream<string, LanguageModelV3StreamPart>({
      start: (controller) => {
        controller.enqueue({ type: "stream-start", warnings: [] })
        controller.enqueue({ type: "text-start", id: "1" })
      },
      transform: (delta, controller) => controller.enqueue({ type: "text-delta", id: "1", delta }),
      flush: (controller) => {
        controller.enqueue({ type: "text-end", id: "1" })
        controller.enqueue({ type: "finish", finishReason: { unified: "stop", raw: undefined }, usage })
      }
    })
    return { stream: response.body.pipeThrough(new TextDecoderStream()).pipeThrough(parts) }
  }
}
const agent = new Agent({ name: "House", instructions: "Answer.", model: gateway })
const { fullStream } = await agent.streamText("Hello")
for await (const part of fullStream) {
  if (part.type === "text-delta") process.stdout.write(part.text)
  if (part.type === "error") process.stdout.write(String(part.error))
}
