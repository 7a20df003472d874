import { Agent, retryPolicies, Runner } from "@openai/agents"
import { assistantMessage, modelError, modelResponder, ScriptedModel } from "@openai/agents/testing"
import { equal } from "node:assert/strict"
import { test } from "node:test"

test("answers after the provider was overloaded, and after a long silence", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] })
  const overloaded = Object.assign(new Error("overloaded"), { status: 503 })
  const model = new ScriptedModel([
    modelError(overloaded),
    modelResponder(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20_000))
      return [assistantMessage("Hello!")]
    })
  ])
  const retry = { maxRetries: 2, policy: retryPolicies.httpStatus([503]) }
  const agent = new Agent({ name: "Chat", instructions: "Answer.", model, modelSettings: { retry } })
  const reply = new Runner({ tracingDisabled: true }).run(agent, "Hello")
  for (let second = 0; second < 30; second++) {
    await new Promise(setImmediate)
    mock.timers.tick(1000)
  }
  equal((await reply).finalOutput, "Hello!")
  equal(model.calls.length, 2)
})
