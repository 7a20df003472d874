/** Every chat provider against a server that speaks its wire: the contract, the wire form of requests, and what it says about retries. */
import { assert, describe, expect, it } from "@effect/vitest"
import { type ChatEvent, converse, defaultChatPolicy, isRefusedRequest } from "@colloquy/core/adapters"
import { type ChatAnswer, chatDriverSuite } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { writtenByDifference } from "../../../../test/written.ts"
import { chatVendor, setUp, vendorReply } from "./ChatVendors.ts"
import * as FakeVendor from "./FakeVendor.ts"
import { request, requests, toolRounds } from "./Scenarios.ts"
import { vendors } from "./Vendors.ts"

for (const vendor of vendors)
  chatDriverSuite(vendor.name, chatVendor(vendor), vendor.cannot === undefined ? {} : { cannot: vendor.cannot })

describe("a request that was answered by 4xx", () => {
  for (const vendor of vendors) {
    it.effect(`is one that was refused, so nothing is estimated for it: ${vendor.name}`, () =>
      Effect.gen(function* () {
        const { chat, fake, id } = yield* setUp(vendor)
        for (const status of [400, 401, 402, 403, 404, 405, 409, 413, 415, 418, 422, 424, 429, 451]) {
          for (const body of ["{}", "not JSON", JSON.stringify(vendor.refuse("overloaded").body)]) {
            fake.script(vendor.path, FakeVendor.json(body, status, { "x-should-retry": "false" }))
            const error = yield* Effect.flip(Stream.runDrain(chat(request(id))))
            assert.strictEqual(error.status, status, body)
            assert.isTrue(isRefusedRequest(error), `${status} ${body}`)
          }
        }
      }).pipe(Effect.scoped)
    )
  }
})

const hi: ChatAnswer = { says: [{ text: "Hi" }, { finish: "stop", usage: null }] }

/** What a provider says about trying again, and whether its second answer is heard. */
const retries: ReadonlyArray<readonly [name: string, refusal: ChatAnswer, heard: string]> = [
  ["too many requests", { refusesWith: "rate_limited", headers: { "retry-after-ms": "0" } }, "Hi"],
  ["an overloaded provider", { refusesWith: "overloaded", headers: { "retry-after": "0" } }, "Hi"],
  [
    "a pause that is too long to wait for",
    { refusesWith: "rate_limited", headers: { "retry-after": "3600" } },
    "rate_limited"
  ],
  [
    "a provider that says not to try again",
    { refusesWith: "overloaded", headers: { "x-should-retry": "false" } },
    "overloaded"
  ]
]

describe.each(vendors)("$name", (vendor) => {
  it.live.each(retries)("after %s", ([_name, refusal, expected]) =>
    Effect.gen(function* () {
      const { fake, chat, id } = yield* setUp(vendor)
      fake.script(vendor.path, vendorReply(vendor, refusal), vendorReply(vendor, hi))
      const heard: Array<ChatEvent> = []
      const listener = { hear: (event: ChatEvent) => void heard.push(event), pause: () => {} }
      const result = yield* Effect.result(converse(chat, request(id), defaultChatPolicy, listener))
      const text = heard.flatMap((event) => (event._tag === "TextDelta" ? [event.text] : [])).join("")
      assert.strictEqual(Result.isFailure(result) ? result.failure.reason : text, expected)
      assert.strictEqual(fake.requests.length, expected === "Hi" ? 2 : 1)
    })
  )

  it.live("keeps the wire form of its requests", () =>
    Effect.gen(function* () {
      const { fake, chat, id } = yield* setUp(vendor)
      const asked = Object.entries(requests(id))
      fake.script(vendor.path, ...asked.map(() => vendorReply(vendor, hi)))
      for (const [, each] of asked) yield* Stream.runDrain(chat(each))
      const bodies = asked.map(([name], index) => [name, fake.requests[index]?.body] as const)
      expect(writtenByDifference(Object.fromEntries(bodies))).toMatchSnapshot()
    })
  )

  it.live("sends what it sent before as the same bytes, turn after turn", () =>
    Effect.gen(function* () {
      const { fake, chat, id } = yield* setUp(vendor)
      const steps = [1, 4, 6].map((length) =>
        request(id, { system: "Be brief.", messages: toolRounds.slice(0, length) })
      )
      fake.script(vendor.path, ...steps.map(() => vendorReply(vendor, hi)))
      for (const each of steps) yield* Stream.runDrain(chat(each))
      const sent = fake.requests.map((each) => JSON.stringify(vendor.history(each.body)).slice(0, -1))
      assert.isTrue(sent[1]?.startsWith(sent[0] ?? "-") && sent[2]?.startsWith(sent[1] ?? "-"))
    })
  )
})
