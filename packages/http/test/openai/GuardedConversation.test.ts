/** A conversation that an OpenAI client sends to a service with a guard: nothing of it is stored as it was sent. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { guard } from "@colloquy/core/promises"
import { say, TestKernel } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import { textIn } from "../../../core/test/support/StoredText.ts"
import { openai } from "../../src/openai/index.ts"
import { serve } from "../Service.ts"

it("is stored as the guard has rewritten it, also what is kept to ask for the same again", async () => {
  const state = InMemory.makeState()
  const noKeys = guard({ before: (text) => text.replaceAll(/sk-\d+/gu, "[key]") })
  const kernel = noKeys.pipe(
    Layer.provideMerge(TestKernel.layer([say("Hello.")], { stores: InMemory.layerFrom(state) }))
  )
  await using service = await serve(kernel, { wings: [openai] })
  const input = [
    { role: "user", content: "My key is sk-1." },
    { role: "assistant", content: "It is sk-1." },
    { role: "user", content: "And?" }
  ]
  const { status } = await service.call("POST", "/v1/responses", { model: "scripted/scripted-model", input })
  assert.strictEqual(status, 200)
  assert.include(textIn(state), "My key is [key].")
  assert.notMatch(textIn(state), /sk-\d/u)
})
