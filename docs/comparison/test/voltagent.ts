import { APICallError } from "@ai-sdk/provider"
import { Agent } from "@voltagent/core"
import { MockLanguageModelV3 } from "ai/test"
import { equal } from "node:assert/strict"
import { test } from "node:test"

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}

test("answers after the provider was overloaded, and after a long silence", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] })
  const model = new MockLanguageModelV3({
    doGenerate: async () => {
      if (model.doGenerateCalls.length === 1) {
        throw new APICallError({ message: "overloaded", url: "", requestBodyValues: {}, statusCode: 503 })
      }
      await new Promise((resolve) => setTimeout(resolve, 20_000))
      const content = [{ type: "text" as const, text: "Hello!" }]
      return { content, finishReason: { unified: "stop" as const, raw: undefined }, usage, warnings: [] }
    }
  })
  const agent = new Agent({ name: "Chat", instructions: "Answer.", model })
  const reply = agent.generateText("Hello")
  for (let second = 0; second < 30; second++) {
    await new Promise(setImmediate)
    mock.timers.tick(1000)
  }
  equal((await reply).text, "Hello!")
  equal(model.doGenerateCalls.length, 2)
})
