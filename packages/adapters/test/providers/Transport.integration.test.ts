/**
 * What a provider can do to us, on purpose or because it is broken. Every case ends in a `ModelError`, in bounded memory, with the
 * connection closed, and without a word of what the provider wrote. Spoken in the OpenAI dialect; the transport is the same for all.
 * All of it holds on both ways to the network.
 */
import { assert, describe, it } from "@effect/vitest"
import type { ChatEvent, ModelError } from "@colloquy/core/adapters"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { setImmediate as nextTurn } from "node:timers/promises"
import { gzipSync } from "node:zlib"
import { faultOfStatus } from "../../src/protocols/Fault.ts"
import { fetchJson, type TransportSettings } from "../../src/protocols/Transport.ts"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import * as FakeVendor from "./FakeVendor.ts"
import { request } from "./Scenarios.ts"
import { frame } from "./vendors/OpenAiChat.ts"

const path = "/v1/chat/completions"
const hello = frame({ choices: [{ delta: { content: "Hello" } }] })
const finish = frame({ choices: [{ delta: {}, finish_reason: "stop" }] })
const mebibyte = 1024 * 1024
const secret = "sk-very-secret"

const chatDriver = (fake: FakeVendor.FakeVendor, settings: TransportSettings) =>
  OpenAiCompatible.provider({ id: "local", ...settings, baseUrl: `${fake.baseUrl}/v1` }).chat ??
  assert.fail("no driver")

/** Asks once and tells everything that was heard, and how it ended. */
const ask = (
  fake: FakeVendor.FakeVendor,
  settings: TransportSettings & { readonly apiKey?: Redacted.Redacted<string> } = {}
) =>
  Effect.suspend(() => {
    const events: Array<ChatEvent> = []
    const provider = OpenAiCompatible.provider({
      id: "local",
      apiKey: Redacted.make(secret),
      ...settings,
      baseUrl: `${fake.baseUrl}/v1`
    })
    assert.isDefined(provider.chat)
    return provider.chat(request("local")).pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.result,
      Effect.map((result) => ({ events, error: Result.isFailure(result) ? result.failure : null }))
    )
  })

const ways: ReadonlyArray<{ readonly way: string; readonly by: TransportSettings }> = [
  { way: "node:http", by: {} },
  { way: "fetch", by: { fetch: globalThis.fetch } }
]

const joinedText = (events: ReadonlyArray<ChatEvent>): string =>
  events.map((event) => (event._tag === "TextDelta" ? event.text : "")).join("")

const errorFacts = (error: ModelError | null): object => Object.assign({}, error)

const aborted = (fake: FakeVendor.FakeVendor) =>
  Effect.promise(() => (fake.requests[0] ?? assert.fail("no request")).aborted)

interface Hostile {
  readonly name: string
  readonly reply: FakeVendor.Reply
  readonly settings?: TransportSettings
  /** Null: the stream ends without `Finished`, which the kernel reports as cut off. */
  readonly error: object | null
  /** What is heard before the end. */
  readonly text?: string
}

const html = { "content-type": "text/html" }

const hostile: ReadonlyArray<Hostile> = [
  {
    name: "a line that never ends",
    reply: FakeVendor.sse([hello, { forever: "x".repeat(65_536) }]),
    settings: { maxEventCharacters: mebibyte },
    error: { reason: "malformed", code: "oversized_answer" },
    text: "Hello"
  },
  {
    name: "comments that never end",
    reply: FakeVendor.sse([{ forever: `: ${"ping ".repeat(10_000)}\n\n` }]),
    settings: { maxAnswerBytes: mebibyte },
    error: { reason: "malformed", code: "oversized_answer" }
  },
  {
    name: "a small body that unpacks to a large one",
    reply: FakeVendor.sse([gzipSync(`: ${"x".repeat(8 * mebibyte)}\n\n`)], { "content-encoding": "gzip" }),
    settings: { maxAnswerBytes: mebibyte },
    error: { reason: "malformed", code: "oversized_answer" }
  },
  {
    name: "an event of many lines that never ends",
    reply: FakeVendor.sse([{ forever: `data: ${"x".repeat(10_000)}\n` }]),
    settings: { maxEventCharacters: mebibyte },
    error: { reason: "malformed", code: "oversized_answer" }
  },
  {
    name: "a page in place of an answer",
    reply: { headers: html, body: [{ forever: "<p>" }] },
    error: { reason: "malformed", code: "unexpected_content_type" }
  },
  {
    name: "a body of no type",
    reply: { body: [{ forever: "data: x" }] },
    error: { reason: "malformed", code: "unexpected_content_type" }
  },
  {
    name: "bytes that are no text",
    reply: FakeVendor.sse([Uint8Array.of(0xff, 0xfe, 0x0a, 0x0a)]),
    error: { reason: "malformed", code: "malformed_answer" }
  },
  {
    name: "a character that is cut off by the end",
    reply: FakeVendor.sse([hello, Uint8Array.of(0xf0, 0x9f)]),
    error: { reason: "malformed", code: "malformed_answer" },
    text: "Hello"
  },
  {
    name: "data that is no JSON",
    reply: FakeVendor.sse([hello, "data: {]\n\n", new FakeVendor.Gate()]),
    error: { reason: "malformed", code: "malformed_answer" },
    text: "Hello"
  },
  {
    name: "an error in the form of an answer",
    reply: FakeVendor.json({ error: { message: secret, code: "rate_limit_exceeded" } }),
    error: { reason: "rate_limited", code: "rate_limit_exceeded" }
  },
  {
    name: "an answer of JSON that is none",
    reply: FakeVendor.json("{"),
    error: { reason: "malformed", code: "malformed_answer" }
  },
  {
    name: "a whole answer that never ends",
    reply: { headers: { "content-type": "application/json" }, body: [{ forever: " ".repeat(65_536) }] },
    settings: { maxAnswerBytes: mebibyte },
    error: { reason: "malformed", code: "oversized_answer" }
  },
  {
    name: "an error that never ends",
    reply: { status: 500, headers: html, body: [{ forever: "<p>".repeat(10_000) }] },
    error: { reason: "overloaded", status: 500 }
  },
  { name: "an error that says nothing", reply: { status: 418, body: [] }, error: { reason: "unknown", status: 418 } },
  {
    name: "an error whose code is a sentence",
    reply: FakeVendor.json({ error: { code: `your key ${secret}`, message: secret } }, 400),
    error: { reason: "invalid_request", status: 400 }
  },
  {
    name: "an error whose code is a word of JavaScript, which is none that providers document",
    reply: FakeVendor.json({ error: { code: "constructor", type: "__proto__" } }, 400, { "x-request-id": "req-1" }),
    error: { reason: "invalid_request", status: 400, requestId: "req-1" }
  },
  {
    name: "an error that is nested too deep",
    reply: FakeVendor.json(`${"[".repeat(32_000)}${"]".repeat(32_000)}`, 400),
    error: { reason: "invalid_request", status: 400 }
  },
  {
    name: "JSON that is nested too deep",
    reply: FakeVendor.sse([
      `data: {"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":${"[".repeat(200_000)}${"]".repeat(200_000)}}}]}}]}\n\n`
    ]),
    error: { reason: "malformed", code: "malformed_answer" }
  },
  {
    name: "an event that the end cuts in two",
    reply: FakeVendor.sse([hello, 'data: {"choices":[{"de']),
    error: null,
    text: "Hello"
  },
  {
    name: "events of the wrong shape",
    reply: FakeVendor.sse([
      "data:\n\n",
      "data: []\n\n",
      "data: 7\n\n",
      'data: {"choices":7}\n\n',
      'data: {"choices":[{"delta":{"content":7,"tool_calls":[null,{"function":null}]}}]}\n\n',
      hello,
      FakeVendor.closed
    ]),
    error: { reason: "cut_off" },
    text: "Hello"
  }
]

describe.each(ways)("a hostile provider, by $way", ({ by }) => {
  for (const { name, reply, settings, error, text } of hostile) {
    it.live(name, () =>
      Effect.gen(function* () {
        const fake = yield* FakeVendor.make
        fake.script(path, reply)
        const heard = yield* ask(fake, { ...by, ...settings })
        if (error === null) assert.isNull(heard.error)
        else assert.deepInclude(errorFacts(heard.error), error)
        assert.notInclude(`${heard.error?.message} ${JSON.stringify(heard.error)} ${String(heard.error)}`, secret)
        assert.strictEqual(joinedText(heard.events), text ?? "")
        // The network's own buffers are the rest.
        assert.isBelow(fake.requests[0]?.bytesWritten ?? 0, 16 * mebibyte)
        if (reply.body.some((piece) => typeof piece === "object" && !(piece instanceof Uint8Array)))
          yield* aborted(fake)
      })
    )
  }

  it.live("a redirect is not followed: the key stays here", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script(path, { status: 307, headers: { location: `${fake.baseUrl}/elsewhere` }, body: [] })
      const { error } = yield* ask(fake, by)
      assert.deepInclude(errorFacts(error), { reason: "unknown", status: 307 })
      assert.strictEqual(fake.requests.length, 1)
    })
  )

  it.live("nobody there", () =>
    Effect.gen(function* () {
      const fake = yield* Effect.scoped(FakeVendor.make)
      const { error } = yield* ask(fake, by)
      assert.strictEqual(error?.reason, "connection")
    })
  )

  it.live("an address that is none", () =>
    Effect.gen(function* () {
      const call = {
        provider: "local",
        model: "",
        url: "http://localhost:99999/v1",
        headers: {},
        secrets: {},
        body: null
      }
      const error = yield* Effect.flip(fetchJson(call, { requestIdHeader: "x", fault: faultOfStatus }, by))
      assert.deepInclude(errorFacts(error), { reason: "connection" })
      assert.match(error.forOperator ?? "", /^The address is not valid: /u)
    })
  )

  it.live("an error inside of an answer: the operator gets its sentence, without keys and the conversation", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const message = `The node "Hello" lost its upstream, ask with ${secret}`
      const errors: ReadonlyArray<object> = [
        { error: { code: 502, message } },
        { choices: [{ delta: {}, error: { message } }] },
        { error: message }
      ]
      for (const error of errors) {
        for (const reply of [FakeVendor.sse([hello, frame(error)]), FakeVendor.json(error)]) {
          fake.script(path, reply)
          const heard = yield* ask(fake, by)
          assert.strictEqual(heard.error?.forOperator, "The node … lost its upstream, ask with [hidden]")
          assert.notInclude(`${heard.error?.message} ${JSON.stringify(heard.error)}`, secret)
          assert.notInclude(heard.error?.message ?? "", "upstream")
        }
      }
    })
  )

  it.live("a key that fits into no header does not get into the error", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const { error } = yield* ask(fake, { ...by, apiKey: Redacted.make(`${secret}\nx`) })
      assert.isNotNull(error)
      assert.strictEqual(error.reason, "connection")
      assert.notInclude(
        `${error.message} ${JSON.stringify(error)} ${String(error.stack)} ${String(error.cause)}`,
        secret
      )
    })
  )
})

describe.each(ways)("a slow provider, by $way", ({ by }) => {
  it.effect("that does not answer is given up in time", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const gate = new FakeVendor.Gate()
      fake.script(path, { body: [], headHeldBy: gate })
      const asking = yield* Effect.forkChild(ask(fake, { ...by, headTimeout: "20 seconds" }), {
        startImmediately: true
      })
      yield* fake.request(0)
      yield* TestClock.adjust("20 seconds")
      const { error } = yield* Fiber.join(asking)
      assert.strictEqual(error?.reason, "timeout")
      yield* aborted(fake)
    })
  )

  it.effect("that does not end its error does not hold us", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      fake.script(path, { status: 529, body: ["{", new FakeVendor.Gate()] })
      const asking = ask(fake, { ...by, headTimeout: "1000 days", bodyTimeout: "5 seconds" })
      // Nobody can see from outside when the head has arrived and the wait for the body begins.
      const timePasses = Effect.forever(
        Effect.andThen(
          Effect.promise(() => nextTurn()),
          TestClock.adjust("5 seconds")
        )
      )
      const { error } = yield* Effect.raceFirst(asking, timePasses)
      assert.deepInclude(errorFacts(error), { reason: "overloaded", status: 529 })
      yield* aborted(fake)
    })
  )

  it.effect("that does not end the connection after its answer does not hold us", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const finished = yield* Deferred.make<void>()
      fake.script(path, FakeVendor.sse([hello, finish, "data: [DONE]\n\n", new FakeVendor.Gate()]))
      const chat = chatDriver(fake, by)
      const asking = yield* chat(request("local")).pipe(
        Stream.runForEach((event) => (event._tag === "Finished" ? Deferred.succeed(finished, undefined) : Effect.void)),
        Effect.forkChild({ startImmediately: true })
      )
      yield* Deferred.await(finished)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(asking)
      yield* aborted(fake)
    })
  )
})

describe.each(ways)("a good provider, by $way", ({ by }) => {
  it.live("may answer as a whole where a stream was asked for", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const message = {
        content: "Hello",
        tool_calls: [{ id: "c", type: "function", function: { name: "now", arguments: "" } }]
      }
      fake.script(
        path,
        FakeVendor.json({
          model: "m",
          choices: [{ message, finish_reason: "tool_calls" }],
          usage: { prompt_tokens: 3, completion_tokens: 4 }
        })
      )
      const { events, error } = yield* ask(fake, by)
      assert.isNull(error)
      assert.deepStrictEqual(
        events.map((event) => event._tag),
        ["TextDelta", "ToolCallStart", "ToolCallReady", "Usage", "Finished"]
      )
    })
  )

  it.live("may forget the blank line, the end mark, or the end of the connection", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const endings = [["data: [DONE]"], [], [FakeVendor.closed]] as const
      fake.script(path, ...endings.map((ending) => FakeVendor.sse([hello, finish, ...ending])))
      for (const _ of endings) {
        const { events, error } = yield* ask(fake, by)
        assert.isNull(error)
        assert.strictEqual(joinedText(events), "Hello")
        assert.strictEqual(events.at(-1)?._tag, "Finished")
      }
    })
  )

  it.live("is not disturbed in ending its answer, so that the connection can be used again", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const gate = new FakeVendor.Gate()
      fake.script(path, FakeVendor.sse([hello, finish, "data: [DONE]\n\n", gate]))
      const chat = chatDriver(fake, by)
      yield* Stream.runForEach(chat(request("local")), (event) =>
        Effect.sync(() => event._tag === "Finished" && gate.open())
      )
      const seen = yield* fake.request(0)
      assert.isTrue(yield* Effect.promise(() => seen.complete))
    })
  )

  it.live("nor by a listener who leaves with the last word", () =>
    Effect.gen(function* () {
      const fake = yield* FakeVendor.make
      const gate = new FakeVendor.Gate()
      fake.script(path, FakeVendor.sse([hello, finish, "data: [DONE]\n\n", gate]))
      const chat = chatDriver(fake, by)
      yield* Stream.runDrain(Stream.takeUntil(chat(request("local")), (event) => event._tag === "Finished"))
      gate.open()
      const seen = yield* fake.request(0)
      assert.isTrue(yield* Effect.promise(() => seen.complete))
    })
  )
})
