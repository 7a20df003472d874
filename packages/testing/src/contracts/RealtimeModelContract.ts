/**
 * The contract of `RealtimeModel`, in the terms of the port. The suite calls a model only through the port, and controls the vendor behind
 * it (a server that speaks the vendor's wire) through `RealtimeVendor`.
 */
import type { ToolCall } from "@colloquy/core"
import type { RealtimeModel, SessionSetup, VendorEvent, VendorLink } from "@colloquy/core/realtime"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"

/** What the vendor does in a session, one after the other, as soon as the session is set up. */
export type VoicePlay =
  /** A whole answer: these words in this audio (PCM16, mono, 24 kHz), and its usage. */
  | { readonly says: string; readonly audio: Uint8Array }
  /** An answer that calls a tool. */
  | { readonly calls: ToolCall }
  /** Closes the connection with this reason. */
  | { readonly closes: string }

/** A realtime model with a vendor that plays a script. */
export interface RealtimeVendor {
  /** With the host's key `sk-of-the-host`. It serves the model `voice-1`. */
  readonly model: RealtimeModel
  /** Completes when the connection is closed. */
  readonly left: Effect.Effect<void>
  /** The audio of the client, once there are as many bytes. */
  readonly heard: (bytes: number) => Effect.Effect<Uint8Array>
  /** What contains the key of the connection. Absent: the model has no wire, as a scripted one. */
  readonly key?: Effect.Effect<string>
}

/** Opens a vendor for one session with these plays; `refused`: it refuses the connection, in words that contain the key. */
export type OpenVendor = (
  plays: ReadonlyArray<VoicePlay> | "refused"
) => Effect.Effect<RealtimeVendor, never, Scope.Scope>

const setup = (fields: Partial<SessionSetup> = {}): SessionSetup => ({
  model: "voice-1",
  instructions: "Be brief.",
  tools: [{ name: "get_time", description: "Tells the time", parameters: null }],
  options: {},
  history: [],
  apiKey: null,
  ...fields
})

interface Listened {
  readonly link: VendorLink
  readonly events: ReadonlyArray<VendorEvent>
  readonly audio: () => Uint8Array
  /** Waits until an event of this kind was told. */
  readonly told: (tag: VendorEvent["_tag"]) => Effect.Effect<void>
  readonly tags: () => ReadonlyArray<VendorEvent["_tag"]>
}

const listen = Effect.fnUntraced(function* ({ model }: RealtimeVendor, fields: Partial<SessionSetup> = {}) {
  const prepared = Result.getOrThrow(model.prepare(setup(fields)))
  const events: Array<VendorEvent> = []
  const pieces: Array<Uint8Array> = []
  const first = new Map<VendorEvent["_tag"], Deferred.Deferred<void>>()
  const firstEvent = (tag: VendorEvent["_tag"]) => {
    const known = first.get(tag) ?? Deferred.makeUnsafe<void>()
    first.set(tag, known)
    return known
  }
  const link = yield* prepared.connect({
    event: (event) => {
      events.push(event)
      Deferred.doneUnsafe(firstEvent(event._tag), Effect.void)
    },
    audio: (_, base64) => pieces.push(Buffer.from(Buffer.from(base64).toString("latin1"), "base64"))
  })
  const listened: Listened = {
    link,
    events,
    audio: () => Buffer.concat(pieces),
    told: (tag) => Deferred.await(firstEvent(tag)),
    tags: () => events.map(({ _tag }) => _tag).filter((tag) => tag !== "Native")
  }
  return listened
})

const sound = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 31) % 251)

const answer: VoicePlay = { says: "It is ten.", audio: sound(4800) }
const call: ToolCall = { id: "call_1", name: "get_time", arguments: '{"zone":"UTC"}' }

/** What every realtime model must do. */
export const realtimeModelSuite = (name: string, open: OpenVendor): void => {
  describe(`the contract of RealtimeModel: ${name}`, () => {
    it.live("MUST tell that it is ready before anything that the model says", () =>
      Effect.gen(function* () {
        const session = yield* listen(yield* open([answer]))
        yield* session.told("ResponseDone")
        assert.strictEqual(session.tags()[0], "Ready")
        assert.strictEqual(session.tags().filter((tag) => tag === "Ready").length, 1)
      })
    )

    it.live(
      "MUST tell an answer from its start to its end, with its words, its audio byte by byte, and what it used",
      () =>
        Effect.gen(function* () {
          const session = yield* listen(yield* open([answer]))
          yield* session.told("ResponseDone")
          const told = session.tags().filter((tag) => tag !== "Ready" && tag !== "TranscriptDelta")
          assert.strictEqual(told[0], "ResponseStarted")
          assert.strictEqual(told.at(-1), "ResponseDone")
          assert.includeMembers([...told], ["TranscriptFinal", "Used"])
          const words = session.events.filter((event) => event._tag === "TranscriptFinal")
          assert.deepStrictEqual(
            words.map(({ role, text }) => [role, text]),
            [["assistant", "It is ten."]]
          )
          assert.deepStrictEqual(new Uint8Array(session.audio()), sound(4800))
          const used = session.events.filter((event) => event._tag === "Used")
          assert.isTrue(used.every(({ usage }) => usage.outputTokens >= 0))
        })
    )

    it.live("MUST tell a call of a tool once, with its whole arguments", () =>
      Effect.gen(function* () {
        const session = yield* listen(yield* open([{ calls: call }]))
        yield* session.told("ToolCalled")
        const calls = session.events.flatMap((event) => (event._tag === "ToolCalled" ? [event.call] : []))
        assert.deepStrictEqual(calls, [call])
        const outputs = [{ toolCallId: call.id, name: call.name, output: "ten" }]
        assert.isNull(session.link.send({ _tag: "ToolOutputs", outputs }))
      })
    )

    it.live("MUST send the audio of the client in its order", () =>
      Effect.gen(function* () {
        const vendor = yield* open([])
        const session = yield* listen(vendor)
        yield* session.told("Ready")
        const whole = sound(3200)
        session.link.sendAudio(whole.slice(0, 1600))
        session.link.sendAudio(whole.slice(1600))
        assert.deepStrictEqual(new Uint8Array(yield* vendor.heard(whole.length)), whole)
      })
    )

    it.live("MUST tell once, as the last event, that the vendor has closed the connection", () =>
      Effect.gen(function* () {
        const session = yield* listen(yield* open([answer, { closes: "The session is over." }]))
        yield* session.told("Closed")
        assert.strictEqual(session.tags().at(-1), "Closed")
        assert.strictEqual(session.tags().filter((tag) => tag === "Closed").length, 1)
      })
    )

    it.live("MUST close the connection with its scope, and tell nothing more", () =>
      Effect.gen(function* () {
        const vendor = yield* open([answer])
        const scope = yield* Scope.make()
        const session = yield* Effect.provideService(listen(vendor), Scope.Scope, scope)
        yield* session.told("ResponseDone")
        const count = session.events.length
        yield* Scope.close(scope, Exit.void)
        yield* vendor.left
        assert.strictEqual(session.events.length, count)
      })
    )

    it.live("MUST fail when the vendor refuses the connection, without the key", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(listen(yield* open("refused")))
        assert.strictEqual(error._tag, "VendorUnavailable")
        assert.notInclude(error.message, "sk-of-the-host")
      })
    )

    it.live("MUST ask with the customer's own key if there is one", () =>
      Effect.gen(function* () {
        const vendor = yield* open([])
        yield* listen(vendor, { apiKey: Redacted.make("sk-of-the-customer") })
        if (vendor.key === undefined) return
        const key = yield* vendor.key
        assert.include(key, "sk-of-the-customer")
        assert.notInclude(key, "sk-of-the-host")
      })
    )
  })
}
