// Vendors over real sockets, against servers that speak their wire: dialling and its refusals, binary JSON, closes, a second connection.
import type { PreparedSession, VendorEvent, VendorLink } from "@colloquy/core/realtime"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { GeminiLive, OpenAiRealtime } from "../../src/realtime/index.ts"
import { until } from "../../../../test/until.ts"
import { type FakeVendor, startVendor } from "./FakeVendor.ts"
import { setup } from "./Mapped.ts"

const vendor = Effect.acquireRelease(
  Effect.promise(() => startVendor()),
  (started) => Effect.promise(started.close)
)

/** A connected session that writes down what it hears. */
const connect = Effect.fnUntraced(function* (prepared: PreparedSession) {
  const events: Array<VendorEvent> = []
  const audio: Array<Buffer> = []
  const looks = new Set<() => void>()
  const link: VendorLink = yield* prepared.connect({
    event: (event) => {
      events.push(event)
      for (const look of looks) look()
    },
    audio: (_, base64) => audio.push(Buffer.from(Buffer.from(base64).toString("latin1"), "base64"))
  })
  const heard = (tag: VendorEvent["_tag"]): Effect.Effect<VendorEvent> =>
    Effect.gen(function* () {
      const found = Deferred.makeUnsafe<VendorEvent>()
      const look = () => {
        const event = events.find(({ _tag }) => _tag === tag)
        if (event !== undefined) Deferred.doneUnsafe(found, Effect.succeed(event))
      }
      looks.add(look)
      look()
      return yield* Deferred.await(found)
    })
  return { link, events, audio, heard }
})

const openAi = ({ url }: FakeVendor) =>
  Result.getOrThrow(
    OpenAiRealtime.model({ url, apiKey: Redacted.make("sk-1"), models: { "voice-1": {} } }).prepare(setup())
  )

const gemini = ({ url }: FakeVendor) =>
  Result.getOrThrow(
    GeminiLive.model({ url, apiKey: Redacted.make("key-1"), models: { "voice-1": {} } }).prepare(setup())
  )

const live = (title: string, test: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(test))

/** The vendor will close the connection; the session may go on with the handle. */
const sayGoodbye = ({ say }: Connection, handle: string, options?: Parameters<Connection["say"]>[1]) => {
  say({ sessionResumptionUpdate: { newHandle: handle, resumable: true } }, options)
  say({ goAway: { timeLeft: "10s" } }, options)
}

type Connection = Awaited<ReturnType<FakeVendor["connection"]>>

/** The next connection, which goes on with the handle. */
const resumed = Effect.fnUntraced(function* (server: FakeVendor, handle: string) {
  const next = yield* Effect.promise(server.connection)
  const opening = yield* Effect.promise(() => next.message((message) => "setup" in message))
  assert.deepInclude(opening["setup"], { sessionResumption: { handle } })
  return next
})

/** The present clock, with another way to sleep. */
const clockWithSleep = (sleep: Clock.Clock["sleep"]) =>
  Effect.map(Clock.Clock, (clock): Clock.Clock => ({
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
    currentTimeMillis: clock.currentTimeMillis,
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
    currentTimeNanos: clock.currentTimeNanos,
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep
  }))

const audioMessage = (data: Buffer) => ({
  serverContent: {
    modelTurn: { parts: [{ inlineData: { mimeType: "audio/pcm;rate=24000", data: data.toString("base64") } }] }
  }
})

describe("a vendor over a socket", () => {
  live(
    "is dialled with key and model, set up, and heard byte by byte",
    Effect.gen(function* () {
      const server = yield* vendor
      const session = yield* connect(openAi(server))
      const there = yield* Effect.promise(server.connection)
      assert.strictEqual(there.request.headers.authorization, "Bearer sk-1")
      assert.strictEqual(there.request.url, "/realtime?model=voice-1")
      there.say({ type: "session.created", session: {} })
      yield* Effect.promise(() => there.message(({ type }) => type === "session.update"))
      there.say({ type: "session.updated", session: {} })
      yield* session.heard("Ready")
      const microphone = Buffer.from(Array.from({ length: 960 }, (_, index) => index % 251))
      session.link.sendAudio(microphone)
      const append = yield* Effect.promise(() => there.message(({ type }) => type === "input_audio_buffer.append"))
      assert.deepStrictEqual(Buffer.from(String(append["audio"]), "base64"), microphone)
      there.say({ type: "response.created", response: { id: "r1" } })
      there.say({
        type: "response.output_audio.delta",
        response_id: "r1",
        item_id: "i1",
        delta: microphone.toString("base64")
      })
      there.say({
        type: "response.done",
        response: { id: "r1", status: "completed", usage: { input_tokens: 1, output_tokens: 2 } }
      })
      yield* session.heard("ResponseDone")
      assert.deepStrictEqual(session.audio, [microphone])
    })
  )

  live(
    "has its messages passed on before their memory is given back, alone in it or with others",
    Effect.gen(function* () {
      const server = yield* vendor
      const views: Array<Uint8Array> = []
      const heard: Array<string> = []
      let look = () => {}
      const link = yield* openAi(server).connect({
        event: () => {},
        audio: (_, base64) => {
          views.push(base64)
          heard.push(Buffer.from(base64).toString("latin1"))
          look()
        }
      })
      const there = yield* Effect.promise(server.connection)
      there.say({ type: "session.created", session: {} })
      yield* Effect.promise(() => there.message(({ type }) => type === "session.update"))
      const say = (letter: string) =>
        there.say({ type: "response.output_audio.delta", item_id: "i1", delta: letter.repeat(1280) })
      const hear = (count: number) =>
        Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              look = () => (heard.length < count ? undefined : resolve())
              look()
            })
        )
      for (const [index, letter] of ["A", "B", "C"].entries()) {
        say(letter)
        yield* hear(index + 1)
      }
      const { socket: connection } = there.request
      connection.cork()
      for (const letter of ["D", "E", "F"]) say(letter)
      connection.uncork()
      yield* hear(6)
      assert.deepStrictEqual(
        heard,
        ["A", "B", "C", "D", "E", "F"].map((letter) => letter.repeat(1280))
      )
      // What came by itself is released; what shares its memory with others stays until nothing needs it.
      assert.deepStrictEqual(
        views.map(({ byteLength }) => byteLength > 0),
        [false, false, false, true, true, true]
      )
      assert.strictEqual(link.buffered(), 0)
    })
  )

  live(
    "that refuses the handshake is told with its own words: a key, a limit, no JSON at all",
    Effect.gen(function* () {
      const server = yield* vendor
      const refusals = [
        [401, '{"error":{"message":"Incorrect API key"}}', "provider_error", "Incorrect API key (HTTP 401)"],
        [400, '{"code":"invalid-argument","error":"No such voice"}', "provider_error", "No such voice (HTTP 400)"],
        [403, '[{"error":{"message":"Not here"}}]', "provider_error", "Not here (HTTP 403)"],
        [429, '{"error":{"message":"Slow down"}}', "provider_unavailable", "Slow down (HTTP 429)"],
        [502, "<html>", "provider_unavailable", "The provider refused the connection. (HTTP 502)"]
      ] as const
      for (const [status, body, code, reason] of refusals) {
        server.refuse(status, body)
        const failure = yield* Effect.flip(connect(openAi(server)))
        assert.deepStrictEqual([failure.code, failure.reason], [code, reason])
      }
    })
  )

  live(
    "that repeats the key in its refusals, its errors and its goodbye is not repeated",
    Effect.gen(function* () {
      const server = yield* vendor
      const session = yield* connect(openAi(server))
      const there = yield* Effect.promise(server.connection)
      there.say({ type: "error", error: { code: "invalid_api_key", message: "Incorrect API key provided: sk-1." } })
      yield* session.heard("Failed")
      there.socket.close(1008, "No such key: sk-1")
      yield* session.heard("Closed")
      assert.notInclude(JSON.stringify(session.events), "sk-1")
      assert.include(JSON.stringify(session.events), "Incorrect API key provided: [key].")
      server.refuse(401, '{"error":{"message":"Incorrect API key provided: sk-1. Find yours on our page."}}')
      const failure = yield* Effect.flip(connect(openAi(server)))
      assert.strictEqual(failure.reason, "Incorrect API key provided: [key]. Find yours on our page. (HTTP 401)")
    })
  )

  live(
    "that is not there is provider_unavailable",
    Effect.gen(function* () {
      const gone = yield* Effect.promise(() => startVendor())
      yield* Effect.promise(gone.close)
      const failure = yield* Effect.flip(connect(openAi(gone)))
      assert.strictEqual(failure.code, "provider_unavailable")
    })
  )

  live(
    "that dies is told once, with the reason of its close frame",
    Effect.gen(function* () {
      const server = yield* vendor
      const session = yield* connect(gemini(server))
      const there = yield* Effect.promise(server.connection)
      yield* Effect.promise(() => there.message((message) => "setup" in message))
      there.socket.close(1007, "API key not valid. Please pass a valid API key.")
      assert.deepStrictEqual(yield* session.heard("Closed"), {
        _tag: "Closed",
        reason: "API key not valid. Please pass a valid API key. (1007)"
      })
      assert.lengthOf(session.events, 1)
    })
  )

  live(
    "that vanishes without a word is told too",
    Effect.gen(function* () {
      const server = yield* vendor
      const session = yield* connect(openAi(server))
      const there = yield* Effect.promise(server.connection)
      there.socket.terminate()
      const closed = yield* session.heard("Closed")
      assert.match(closed._tag === "Closed" ? closed.reason : "", /1006/)
    })
  )

  live(
    "that speaks JSON in binary frames is understood, and may send its client to another connection",
    Effect.gen(function* () {
      const server = yield* vendor
      const session = yield* connect(gemini(server))
      const first = yield* Effect.promise(server.connection)
      yield* Effect.promise(() => first.message((message) => "setup" in message))
      first.say({ setupComplete: {} }, { binary: true })
      yield* session.heard("Ready")
      sayGoodbye(first, "h1", { binary: true })
      const second = yield* resumed(server, "h1")
      second.say({ setupComplete: {} }, { binary: true })
      yield* Effect.promise(() => first.closed)
      second.say(audioMessage(Buffer.from("the second")), { binary: true })
      second.say({ serverContent: { turnComplete: true } }, { binary: true })
      yield* session.heard("ResponseDone")
      session.link.sendAudio(Buffer.from("microphone"))
      yield* Effect.promise(() => second.message((message) => "realtimeInput" in message))
      assert.deepStrictEqual(session.audio.map(String), ["the second"])
      assert.lengthOf(
        session.events.filter(({ _tag }) => _tag === "Ready"),
        1
      )
      assert.isFalse(session.events.some(({ _tag }) => _tag === "Closed"))
    })
  )

  live(
    "is left for a new connection each time that it says goodbye",
    Effect.gen(function* () {
      const server = yield* vendor
      const session = yield* connect(gemini(server))
      let current = yield* Effect.promise(server.connection)
      current.say({ setupComplete: {} })
      for (const handle of ["h1", "h2", "h3"]) {
        sayGoodbye(current, handle)
        const next = yield* resumed(server, handle)
        next.say({ setupComplete: {} })
        yield* Effect.promise(() => current.closed)
        current = next
      }
      session.link.sendAudio(Buffer.from("microphone"))
      yield* Effect.promise(() => current.message((message) => "realtimeInput" in message))
      assert.isFalse(session.events.some(({ _tag }) => _tag === "Closed"))
    })
  )

  live(
    "is not left in the middle of an answer: the new connection is opened once more after it",
    Effect.gen(function* () {
      const server = yield* vendor
      const session = yield* connect(gemini(server))
      const first = yield* Effect.promise(server.connection)
      first.say({ setupComplete: {} })
      sayGoodbye(first, "h1")
      const early = yield* Effect.promise(server.connection)
      first.say(audioMessage(Buffer.from("an answer")))
      yield* session.heard("ResponseStarted")
      early.say({ setupComplete: {} })
      yield* Effect.promise(() => early.closed)
      first.say({ sessionResumptionUpdate: { newHandle: "h2", resumable: true } })
      first.say(audioMessage(Buffer.from(" to its end")))
      first.say({ serverContent: { turnComplete: true } })
      yield* session.heard("ResponseDone")
      const second = yield* resumed(server, "h2")
      second.say({ setupComplete: {} })
      yield* Effect.promise(() => first.closed)
      assert.deepStrictEqual(session.audio.map(String), ["an answer", " to its end"])
    })
  )

  live(
    "that refuses a new connection is asked again until the old one ends",
    Effect.gen(function* () {
      // A second passes at once, and every longer time never.
      const quick = yield* clockWithSleep((duration) =>
        Duration.toMillis(duration) === 1000 ? Effect.void : Effect.never
      )
      const server = yield* vendor
      yield* Effect.gen(function* () {
        const session = yield* connect(gemini(server))
        const first = yield* Effect.promise(server.connection)
        first.say({ setupComplete: {} })
        yield* session.heard("Ready")
        server.refuse(503, "{}", 2)
        sayGoodbye(first, "h1")
        const second = yield* Effect.promise(server.connection)
        second.say({ setupComplete: {} })
        yield* Effect.promise(() => first.closed)
      }).pipe(Effect.scoped, Effect.provideService(Clock.Clock, quick))
    })
  )

  live(
    "that was left for another connection leaves nothing that goes on",
    Effect.gen(function* () {
      const sleeping = new Set<symbol>()
      // No time passes, so a sleep ends only with what began it.
      const counting = yield* clockWithSleep(() => {
        const each = Symbol("sleep")
        return Effect.acquireUseRelease(
          Effect.sync(() => sleeping.add(each)),
          () => Effect.never,
          () => Effect.sync(() => sleeping.delete(each))
        )
      })
      const server = yield* vendor
      yield* Effect.gen(function* () {
        const session = yield* connect(gemini(server))
        const first = yield* Effect.promise(server.connection)
        first.say({ setupComplete: {} })
        sayGoodbye(first, "h1")
        const second = yield* Effect.promise(server.connection)
        second.say({ setupComplete: {} })
        yield* Effect.promise(() => first.closed)
        second.say({ serverContent: { modelTurn: { parts: [{ text: "Hello" }] } } })
        yield* session.heard("ResponseStarted")
        assert.isAbove(sleeping.size, 0)
      }).pipe(Effect.scoped, Effect.provideService(Clock.Clock, counting))
      yield* Effect.promise(() => until(() => sleeping.size === 0))
    })
  )

  live(
    "is closed with its session",
    Effect.gen(function* () {
      const server = yield* vendor
      const exit = yield* Effect.exit(Effect.scoped(connect(openAi(server))))
      assert.isTrue(Exit.isSuccess(exit))
      const there = yield* Effect.promise(server.connection)
      assert.strictEqual(yield* Effect.promise(() => there.closed), 1000)
    })
  )
})
