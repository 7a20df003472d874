import { AIMessage, createAgent, fakeModel, modelRetryMiddleware } from "langchain"
import { equal } from "node:assert/strict"
import { test } from "node:test"

// The fake model answers at once: a silence cannot be scripted.
test("answers after the provider was overloaded", async ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] })
  const model = fakeModel().respond(new Error("overloaded")).respond(new AIMessage("Hello!"))
  const agent = createAgent({ model, tools: [], middleware: [modelRetryMiddleware({ maxRetries: 2 })] })
  const reply = agent.invoke({ messages: [{ role: "user", content: "Hello" }] })
  for (let second = 0; second < 30; second++) {
    await new Promise(setImmediate)
    mock.timers.tick(1000)
  }
  equal((await reply).messages.at(-1)?.text, "Hello!")
  equal(model.callCount, 2)
})
