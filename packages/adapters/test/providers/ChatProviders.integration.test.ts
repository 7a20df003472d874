/** Every chat provider against a server that speaks its wire: the contract, the wire form of requests, and what it says about retries. */
import { assert, describe, expect, it } from "@effect/vitest"
import { type ChatEvent, converse, defaultChatPolicy, isRefusedRequest } from "@colloquy/core/adapters"
import { type ChatAnswer, chatDriverSuite, type ChatVendor } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { writtenByDifference } from "../../../../test/written.ts"
import * as FakeVendor from "./FakeVendor.ts"
import { model, request, requests, toolRounds } from "./Scenarios.ts"
import type { Vendor } from "./Vendor.ts"
import { vendors } from "./Vendors.ts"

const setUp = (vendor: Vendor) =>
  Effect.map(FakeVendor.make, (fake) => {
    const provider = vendor.provider({ server: fake.baseUrl, apiKey: Redacted.make("sk-of-the-host") })
    assert.isDefined(provider.chat)
    return { fake, id: provider.id, chat: provider.chat }
  })

const vendorReply = (vendor: Vendor, answer: ChatAnswer): FakeVendor.Reply => {
  if ("refusesWith" in answer) {
    const { status, body } = vendor.refuse(answer.refusesWith)
    // The words of our vendors are "no".
    const words = JSON.stringify(body).replaceAll('"no"', '"sk-of-the-host wrote a secret"')
    return FakeVendor.json(words, status, answer.headers)
  }
  const frames = vendor.render(answer.says)
  if (answer.breaksAfter !== undefined)
    return FakeVendor.sse([...frames.slice(0, answer.breaksAfter), FakeVendor.closed])
  return FakeVendor.sse(answer.pieces === undefined ? frames : cut(frames.join(""), answer.pieces))
}

const cut = (text: string, size: number): ReadonlyArray<Uint8Array> => {
  const bytes = new TextEncoder().encode(text)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size)
  )
}

const chatVendor = (vendor: Vendor) =>
  Effect.map(setUp(vendor), ({ chat, fake }): ChatVendor => ({
    driver: chat,
    model,
    answers: (answer) => fake.script(vendor.path, vendorReply(vendor, answer)),
    hangs: (says) => {
      fake.script(vendor.path, FakeVendor.sse([...vendor.render(says), new FakeVendor.Gate()]))
      return {
        asked: Effect.asVoid(fake.request(0)),
        left: Effect.flatMap(fake.request(0), ({ aborted }) => Effect.promise(() => aborted))
      }
    },
    requests: () => fake.requests.length,
    wire: {
      keys: () => fake.requests.map(({ headers }) => String(headers[vendor.keyHeader[0]])),
      sends: (contentType, body) =>
        fake.script(vendor.path, { headers: { "content-type": contentType }, body: [body] }),
      ...(vendor.readByLibrary === true
        ? {}
        : { neverEnds: () => fake.script(vendor.path, FakeVendor.sse([{ forever: "x".repeat(65_536) }])) })
    }
  }))

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
