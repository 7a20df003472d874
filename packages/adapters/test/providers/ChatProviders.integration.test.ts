/** Every chat provider against a server that speaks its wire: all scenarios, the wire form of requests, keys, and leaving early. */
import { assert, describe, expect, it } from "@effect/vitest"
import {
  type ChatDriver,
  type ChatEvent,
  type ChatRequest,
  converse,
  defaultChatPolicy,
  type ModelError
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as FakeVendor from "./FakeVendor.ts"
import {
  type Answer,
  type Heard,
  type Said,
  type Scenario,
  request,
  requests,
  scenarios,
  toolRounds
} from "./Scenarios.ts"
import { type Vendor, vendors } from "./Vendors.ts"

const key = "sk-of-the-host"
const done: ReadonlyArray<Said> = [{ text: "Hi" }, { finish: "stop", usage: null }]

const setUp = (vendor: Vendor) =>
  Effect.map(FakeVendor.make, (fake) => {
    const provider = vendor.provider({ server: fake.baseUrl, apiKey: Redacted.make(key) })
    assert.isDefined(provider.chat)
    return { fake, id: provider.id, chat: provider.chat }
  })

const replyOf = (vendor: Vendor, answer: Answer): FakeVendor.Reply => {
  if ("refusesWith" in answer) {
    const { status, body } = vendor.refuse(answer.refusesWith)
    return FakeVendor.json(body, status, answer.headers)
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

/** One step as the kernel runs it, with retries. */
const hear = (chat: ChatDriver, asked: ChatRequest) =>
  Effect.gen(function* () {
    const events: Array<ChatEvent> = []
    const listener = { hear: (event: ChatEvent) => void events.push(event), pause: () => {} }
    const result = yield* Effect.result(converse(chat, asked, defaultChatPolicy, listener))
    checkOrder(events)
    return fold(events, Result.isFailure(result) ? result.failure : null)
  })

const fold = (events: ReadonlyArray<ChatEvent>, error: ModelError | null): Heard => {
  const all = <Tag extends ChatEvent["_tag"]>(tag: Tag) =>
    events.filter((event): event is Extract<ChatEvent, { _tag: Tag }> => event._tag === tag)
  return {
    text: all("TextDelta")
      .map((event) => event.text)
      .join(""),
    reasoning: all("ReasoningDelta")
      .map((event) => event.text)
      .join(""),
    calls: all("ToolCallReady").map((event) => event.call),
    finish: all("Finished").at(-1)?.reason ?? null,
    usage: all("Usage").at(-1)?.usage ?? null,
    error: error === null ? null : error.reason
  }
}

/** The promises of `ChatEvent` on order. */
const checkOrder = (events: ReadonlyArray<ChatEvent>): void => {
  const written = new Map<string, string>()
  const ready = new Set<string>()
  events.forEach((event, index) => {
    if (event._tag === "Finished") assert.strictEqual(index, events.length - 1, "Finished is last")
    if (event._tag === "ToolCallStart") {
      assert.isFalse(written.has(event.id), "a call starts once")
      written.set(event.id, "")
    }
    if (event._tag === "ToolCallDelta") {
      assert.isFalse(ready.has(event.id), "no delta after the call is ready")
      written.set(event.id, `${written.get(event.id) ?? assert.fail("a delta before its start")}${event.arguments}`)
    }
    if (event._tag !== "ToolCallReady") return
    assert.isFalse(ready.has(event.call.id), "a call is ready once")
    ready.add(event.call.id)
    assert.strictEqual(event.call.arguments, written.get(event.call.id) || "{}", "a call is the sum of its deltas")
  })
}

const play = (vendor: Vendor, scenario: Scenario) =>
  Effect.gen(function* () {
    const { fake, chat, id } = yield* setUp(vendor)
    fake.script(vendor.path, ...scenario.answers.map((answer) => replyOf(vendor, answer)))
    const heard = yield* hear(chat, request(id, scenario.request))
    assert.deepInclude(heard, scenario.heard)
    assert.strictEqual(fake.requests.length, scenario.answers.length, "number of requests")
  })

describe.each(vendors)("$name", (vendor) => {
  for (const scenario of scenarios) {
    if (vendor.cannot?.[scenario.name] === undefined) it.live(scenario.name, () => play(vendor, scenario))
  }

  it.live("keeps the wire form of its requests", () =>
    Effect.gen(function* () {
      const { fake, chat, id } = yield* setUp(vendor)
      const asked = Object.entries(requests(id))
      fake.script(vendor.path, ...asked.map(() => replyOf(vendor, { says: done })))
      for (const [, each] of asked) yield* Stream.runDrain(chat(each))
      asked.forEach(([name], index) => expect(fake.requests[index]?.body).toMatchSnapshot(name))
    })
  )

  it.live("sends what it sent before as the same bytes, turn after turn", () =>
    Effect.gen(function* () {
      const { fake, chat, id } = yield* setUp(vendor)
      const steps = [1, 4, 6].map((length) =>
        request(id, { system: "Be brief.", messages: toolRounds.slice(0, length) })
      )
      fake.script(vendor.path, ...steps.map(() => replyOf(vendor, { says: done })))
      for (const each of steps) yield* Stream.runDrain(chat(each))
      const sent = fake.requests.map((each) => JSON.stringify(vendor.history(each.body)).slice(0, -1))
      assert.isTrue(sent[1]?.startsWith(sent[0] ?? "-") && sent[2]?.startsWith(sent[1] ?? "-"))
    })
  )

  it.live("prefers the customer's key to the host's", () =>
    Effect.gen(function* () {
      const { fake, chat, id } = yield* setUp(vendor)
      const reply = replyOf(vendor, { says: done })
      fake.script(vendor.path, reply, reply)
      yield* Stream.runDrain(chat(request(id)))
      yield* Stream.runDrain(chat(request(id, { apiKey: Redacted.make("sk-of-the-customer") })))
      const [name, value] = vendor.keyHeader
      assert.deepStrictEqual(
        fake.requests.map((each) => each.headers[name]),
        [value(key), value("sk-of-the-customer")]
      )
    })
  )

  it.live("closes the connection when nobody listens any more", () =>
    Effect.gen(function* () {
      const { fake, chat, id } = yield* setUp(vendor)
      const frames = vendor.render([{ text: "a" }, { text: "b" }, { text: "c" }, { finish: "stop", usage: null }])
      fake.script(vendor.path, FakeVendor.sse([...frames.slice(0, 2), new FakeVendor.Gate(), ...frames.slice(2)]))
      const heard = yield* chat(request(id)).pipe(
        Stream.filter((event) => event._tag === "TextDelta"),
        Stream.take(2),
        Stream.runCollect
      )
      assert.deepStrictEqual(
        heard.map((event) => event.text),
        ["a", "b"]
      )
      yield* Effect.promise(() => (fake.requests[0] ?? assert.fail("no request")).aborted)
    })
  )

  it.live("closes the connection when it is interrupted before the first word", () =>
    Effect.gen(function* () {
      const { fake, chat, id } = yield* setUp(vendor)
      fake.script(vendor.path, FakeVendor.sse([new FakeVendor.Gate()]))
      const listening = yield* Effect.forkChild(Stream.runDrain(chat(request(id))), { startImmediately: true })
      const seen = yield* fake.request(0)
      yield* Fiber.interrupt(listening)
      yield* Effect.promise(() => seen.aborted)
    })
  )
})
