/**
 * A whole conversation with every provider, in a kernel: two rounds of tools with reasoning before each, then an answer, then another
 * message. What a provider wanted back (signatures, encrypted items) is stored, read and sent again by the kernel itself, and every request
 * begins with the bytes of the one before, so that the vendor's prompt cache holds.
 */
import { assert, describe, it } from "@effect/vitest"
import { Kernel, Principal, Providers, Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { InMemory } from "../../src/in-memory/index.ts"
import * as FakeVendor from "./FakeVendor.ts"
import type { Said } from "@colloquy/testing/contracts"
import { model, usage } from "./Scenarios.ts"
import type { Vendor } from "./Vendor.ts"
import { vendors } from "./Vendors.ts"

const timeTool = {
  name: "get_time",
  description: "Tells the time",
  parameters: { type: "object", properties: { zone: { type: "string" } } }
}

const callsIn = (zone: string): ReadonlyArray<Said> => [
  { reasoning: `What about ${zone}?` },
  { text: `Let me look at ${zone}. ` },
  { call: { slot: 0, id: `call_${zone}`, name: "get_time" } },
  { arguments: { slot: 0, text: `{"zone":"${zone}"}` } },
  { finish: "tool_calls", usage }
]
const says = (text: string): ReadonlyArray<Said> => [{ text }, { finish: "stop", usage }]

const kernelWith = (vendor: Vendor, server: string) => {
  const { listModels: _, ...provider } = vendor.provider({ server, apiKey: Redacted.make("sk-1") })
  return Kernel.layer.pipe(
    Layer.provide([
      Providers.layer({ providers: [provider], defaults: { provider: provider.id, model } }),
      InMemory.layer
    ])
  )
}

const converse = Effect.gen(function* () {
  const turns = yield* Turns
  const first = yield* turns.send({ content: "What time is it?", tools: [timeTool], thinking: {} })
  const { threadId } = first
  const answer = (toolCallId: string) =>
    Effect.flatMap(
      turns.submitToolOutputs({ threadId, outputs: [{ toolCallId, output: "10:00" }] }),
      (next) => next.reply
    )
  const second = yield* answer("call_Bern")
  const third = yield* answer("call_Rome")
  const fourth = yield* turns.send({ threadId, content: "Thank you.", tools: [timeTool], thinking: {} })
  return [first, second, third, fourth]
})

describe.each(vendors)("$name", (vendor) => {
  it.live("goes through two rounds of tools and on", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const answers = [callsIn("Bern"), callsIn("Rome"), says("It is ten in both."), says("You are welcome.")]
      fake.script(vendor.path, ...answers.map((each) => FakeVendor.sse(vendor.render(each))))
      const replies = yield* converse.pipe(Principal.provide("ada"), Effect.provide(kernelWith(vendor, fake.baseUrl)))
      assert.deepStrictEqual(
        replies.map((reply) => reply.status),
        ["REQUIRES_ACTION", "REQUIRES_ACTION", "COMPLETED", "COMPLETED"]
      )
      assert.strictEqual(replies[3]?.content, "You are welcome.")
      const histories = fake.requests.map(({ body }) => vendor.history(body))
      const sent = histories.map((history) => JSON.stringify(history).slice(0, -1))
      sent.slice(1).forEach((each, index) => assert.isTrue(each.startsWith(sent[index] ?? "-"), `request ${index + 1}`))
      assert.include(sent[3], "It is ten in both.")
    })
  )
})
