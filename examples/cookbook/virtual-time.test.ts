/** A conversation as a unit test: the model follows a script, and time passes when the test says so. */
import { fail, pause, say, TestKernel } from "colloquy/testing"
import { assert, it } from "@effect/vitest"

it("answers after the provider was overloaded, and after a long silence", async () => {
  const kernel = await TestKernel.open([fail("overloaded"), [pause("20 seconds"), say("Hello!")]])
  const reply = kernel.send({ content: "Hello" })
  await kernel.adjust("30 seconds")
  assert.strictEqual((await reply).content, "Hello!")
  assert.lengthOf(kernel.model.requests, 2)
  await kernel.close()
})
