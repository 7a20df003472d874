/**
 * A voice model that plays a script, without a socket and without randomness. Each connection plays one list of beats. The test fails, when its
 * scope closes, if a session ended before all its beats were played, if more or fewer sessions were opened than the script has, or if a client
 * sent an unexpected text.
 */
import { describeModel, noUsage } from "@colloquy/core/adapters"
import {
  type PreparedSession,
  type RealtimeModel,
  type SessionSetup,
  type VendorCommand,
  type VendorLink,
  type VendorListener,
  VendorUnavailable
} from "@colloquy/core/realtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { VoiceBeat } from "./RealtimeScript.ts"

export * from "./RealtimeScript.ts"

/** A voice that follows a script, and what was asked of it. */
export interface ScriptedRealtimeModel {
  readonly model: RealtimeModel
  /** The setups of all sessions, in order. */
  readonly setups: ReadonlyArray<SessionSetup>
  /** All commands of the clients, in order. */
  readonly commands: ReadonlyArray<VendorCommand>
  /** All audio of the clients. */
  readonly heard: () => Uint8Array
  /** Whether the service has paused the model, because a client does not read. */
  readonly isPaused: () => boolean
}

/** The id of the voice, and what it can. */
export interface ScriptedRealtimeOptions {
  /** The provider's id; the model is `<id>-voice`. */
  readonly id?: string
  readonly canCancel?: boolean
}

/** Makes a voice of a script for each session. */
export const make = (
  sessions: ReadonlyArray<ReadonlyArray<VoiceBeat>>,
  options: ScriptedRealtimeOptions = {}
): Effect.Effect<ScriptedRealtimeModel, never, Scope.Scope> =>
  Effect.gen(function* () {
    const id = options.id ?? "scripted"
    const complaints: Array<string> = []
    const setups: Array<SessionSetup> = []
    const commands: Array<VendorCommand> = []
    const heard: Array<Uint8Array> = []
    let isPaused = false
    let connections = 0

    const connect = (listener: VendorListener): Effect.Effect<VendorLink, VendorUnavailable, Scope.Scope> =>
      Effect.gen(function* () {
        const beats = sessions[connections]
        connections++
        if (beats === undefined) {
          complaints.push(`The script has ${sessions.length} sessions, and one more was opened.`)
          return yield* new VendorUnavailable({
            code: "provider_unavailable",
            reason: "The script has no more sessions."
          })
        }
        const [first] = beats
        if (first?._tag === "Refuse") {
          return yield* new VendorUnavailable({ code: "provider_unavailable", reason: first.reason })
        }
        const play = new Play(listener, connections, (text) => complaints.push(text))
        let played = 0
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            const left = beats.slice(played).flatMap(({ _tag }) => (_tag === "Hang" ? [] : [_tag]))
            if (left.length > 0)
              complaints.push(`Session ${play.session} ended before these beats were over: ${left.join(", ")}.`)
          })
        )
        const story = Effect.gen(function* () {
          listener.event({ _tag: "Ready" })
          for (const beat of beats) {
            yield* play.waitFor(beat)
            played++
            yield* play.perform(beat)
          }
        })
        yield* Effect.forkScoped(story)
        return {
          send: (command) => {
            commands.push(command)
            play.take(command)
            return null
          },
          sendAudio: (audio, sent) => {
            heard.push(audio.slice())
            play.listen()
            sent?.()
          },
          buffered: () => 0,
          pause: () => {
            isPaused = true
          },
          resume: () => {
            isPaused = false
          },
          finish: () => {}
        }
      })

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        if (connections < sessions.length) {
          complaints.push(`The script has ${sessions.length} sessions, but ${connections} were opened.`)
        }
        return complaints.length === 0 ? Effect.void : Effect.die(new Error(complaints.join("\n")))
      })
    )

    return {
      model: {
        id,
        models: [describeModel({ name: `${id}-voice`, provider: id, modelType: "realtime" })],
        prepare: (setup) => Result.succeed(prepared(setup, options, setups, connect))
      },
      setups,
      commands,
      heard: () => Buffer.concat(heard),
      isPaused: () => isPaused
    }
  })

const format = { encoding: "pcm_s16le", sampleRate: 24_000, channels: 1 } as const

const prepared = (
  setup: SessionSetup,
  options: ScriptedRealtimeOptions,
  setups: Array<SessionSetup>,
  connect: PreparedSession["connect"]
): PreparedSession => ({
  inputFormat: format,
  outputFormat: format,
  canCancel: options.canCancel ?? true,
  instructions: setup.instructions,
  connect: (listener) =>
    Effect.suspend(() => {
      setups.push(setup)
      return connect(listener)
    })
})

/** The duration of PCM16 mono audio at 24 kHz. */
const soundMillis = (audio: Uint8Array): number => audio.byteLength / 48

/** Plays one session: keeps what the client has sent, and the last response. */
class Play {
  readonly session: number
  private readonly listener: VendorListener
  private readonly complain: (text: string) => void
  private readonly speech = Latch.makeUnsafe(false)
  private readonly texts: Array<string> = []
  private readonly text = Latch.makeUnsafe(false)
  private readonly calls = new Map<string, Deferred.Deferred<void>>()
  private waitsFor: Deferred.Deferred<void> | null = null
  private items = 0
  private last: { readonly itemId: string; readonly millis: number } | null = null

  constructor(listener: VendorListener, session: number, complain: (text: string) => void) {
    this.listener = listener
    this.session = session
    this.complain = complain
  }

  listen(): void {
    this.speech.openUnsafe()
  }

  take(command: VendorCommand): void {
    if (command._tag === "Text") {
      this.listener.event({ _tag: "Typed", itemId: this.newId("typed"), text: command.text })
      this.texts.push(command.text)
      this.text.openUnsafe()
    }
    if (command._tag === "Heard" && this.last !== null && this.last.itemId === command.itemId) {
      const { itemId, millis } = this.last
      const heardMillis = Math.min(command.millis, millis)
      this.listener.event({ _tag: "CutShort", cut: { itemId, heardMillis, generatedMillis: millis } })
    }
    if (command._tag === "ToolOutputs") {
      for (const { toolCallId } of command.outputs) this.answer(toolCallId)
    }
  }

  /** Waits until the beat may be played. */
  waitFor(beat: VoiceBeat): Effect.Effect<void> {
    if (beat._tag === "CancelTool") return Effect.void
    const before = this.waitsFor === null ? Effect.void : Deferred.await(this.waitsFor)
    this.waitsFor = null
    if (beat._tag === "Hear") return Effect.andThen(before, this.speech.await)
    if (beat._tag === "Read") return Effect.andThen(before, this.text.await)
    return before
  }

  perform(beat: VoiceBeat): Effect.Effect<void> {
    switch (beat._tag) {
      case "Pause":
        return Effect.sleep(beat.duration)
      case "Hang":
        return Effect.never
      default:
        return Effect.sync(() => this.play(beat))
    }
  }

  private play(beat: Exclude<VoiceBeat, { readonly _tag: "Pause" | "Hang" }>): void {
    switch (beat._tag) {
      case "Hear":
        return this.hear(beat.transcript)
      case "Read":
        return this.read(beat.text)
      case "Say":
        return this.say(beat)
      case "CallTool":
        return this.callTool(beat)
      case "CancelTool":
        return this.cancelTool(beat.id)
      case "Interrupt":
        return this.interrupt(beat.heard)
      case "Fail":
        return this.listener.event({ _tag: "Failed", reason: beat.reason })
      case "Close":
        return this.listener.event({ _tag: "Closed", reason: beat.reason })
      case "Refuse":
        return this.complain("`refuse` must be the first beat of a session.")
    }
  }

  private newId(kind: string): string {
    this.items++
    return `${kind}_${this.session}_${this.items}`
  }

  private hear(transcript: string | null): void {
    this.speech.closeUnsafe()
    const itemId = this.newId("item")
    this.listener.event({ _tag: "UserItem", itemId, before: null, transcribed: true })
    this.listener.event(
      transcript === null
        ? { _tag: "TranscriptFailed", itemId }
        : { _tag: "TranscriptFinal", role: "user", itemId, text: transcript }
    )
  }

  private read(expected: string): void {
    const text = this.texts.shift()
    if (this.texts.length === 0) this.text.closeUnsafe()
    if (text !== expected)
      this.complain(`The script expects the text ${JSON.stringify(expected)}, but the client sent another one.`)
  }

  private say({ audio, text, usage }: Extract<VoiceBeat, { _tag: "Say" }>): void {
    const responseId = this.newId("response")
    const itemId = this.newId("item")
    this.listener.event({ _tag: "ResponseStarted", responseId })
    this.listener.event({ _tag: "TranscriptDelta", role: "assistant", itemId, text })
    this.listener.audio(itemId, Buffer.from(Buffer.from(audio).toString("base64"), "latin1"))
    this.listener.event({ _tag: "TranscriptFinal", role: "assistant", itemId, text })
    this.listener.event({ _tag: "Used", usage: { ...noUsage, ...usage } })
    this.listener.event({ _tag: "ResponseDone", responseId })
    this.last = { itemId, millis: soundMillis(audio) }
  }

  private callTool(beat: Extract<VoiceBeat, { _tag: "CallTool" }>): void {
    const responseId = this.newId("response")
    const id = beat.id ?? this.newId("call")
    const answered = Deferred.makeUnsafe<void>()
    this.calls.set(id, answered)
    this.waitsFor = answered
    this.listener.event({ _tag: "ResponseStarted", responseId })
    this.listener.event({ _tag: "ToolCalled", call: { id, name: beat.name, arguments: beat.arguments } })
    this.listener.event({ _tag: "Used", usage: { ...noUsage, inputTokens: 10, outputTokens: 5, costUsd: 0.001 } })
    this.listener.event({ _tag: "ResponseDone", responseId })
  }

  private cancelTool(id: string): void {
    this.listener.event({ _tag: "ToolsCancelled", toolCallIds: [id] })
    this.answer(id)
  }

  private answer(id: string): void {
    const answered = this.calls.get(id)
    if (answered !== undefined) Deferred.doneUnsafe(answered, Effect.void)
  }

  private interrupt(heard: number): void {
    const { last } = this
    const cut =
      last === null ? null : { itemId: last.itemId, heardMillis: last.millis * heard, generatedMillis: last.millis }
    this.listener.event({ _tag: "Interrupted", cut })
  }
}
