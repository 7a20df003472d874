import { fail, pause, say, TestKernel } from "colloquy/testing"
import { equal } from "node:assert/strict"
import { test } from "node:test"

test("answers after the provider was overloaded, and after a long silence", async () => {
  const kernel = await TestKernel.open([fail("overloaded"), [pause("20 seconds"), say("Hello!")]])
  const reply = kernel.send({ content: "Hello" })
  await kernel.adjust("30 seconds")
  equal((await reply).content, "Hello!")
  equal(kernel.model.requests.length, 2)
  await kernel.close()
})
