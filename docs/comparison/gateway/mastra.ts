import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { APICallError } from "@ai-sdk/provider"
import { Agent } from "@mastra/core/agent"

const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined }
}
const gateway = {
  specificationVersion: "v4",
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
    const parts = new TransformStream<string, LanguageModelV4StreamPart>({
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
} satisfies LanguageModelV4
// @ts-expect-error The types of @mastra/core 1.71.0 refuse a model of AI SDK 7, which it runs.
const agent = new Agent({ id: "house", name: "House", instructions: "Answer.", model: gateway })
const stream = await agent.stream("Hello")
for await (const chunk of stream.fullStream) {
  if (chunk.type === "text-delta") process.stdout.write(chunk.payload.text)
  if (chunk.type === "error") process.stdout.write(String(chunk.payload.error))
}
