import { APICallError } from "@ai-sdk/provider"
import { Agent } from "@mastra/core/agent"
import { MockLanguageModelV4 } from "ai/test"
import { equal } from "node:assert/strict"
import { test } from "node:test"

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}

test("answers after the provider was overloaded, and after a long silence", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] })
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      if (model.doGenerateCalls.length === 1) {
        throw new APICallError({ message: "overloaded", url: "", requestBodyValues: {}, statusCode: 503 })
      }
      await new Promise((resolve) => setTimeout(resolve, 20_000))
      const content = [{ type: "text" as const, text: "Hello!" }]
      return { content, finishReason: { unified: "stop" as const, raw: undefined }, usage, warnings: [] }
    }
  })
  // @ts-expect-error The types of @mastra/core 1.71.0 refuse a model of AI SDK 7, which it runs.
  const agent = new Agent({ id: "chat", name: "Chat", instructions: "Answer.", model, maxRetries: 2 })
  const reply = agent.generate("Hello")
  for (let second = 0; second < 30; second++) {
    await new Promise(setImmediate)
    mock.timers.tick(1000)
  }
  equal((await reply).text, "Hello!")
  equal(model.doGenerateCalls.length, 2)
})
