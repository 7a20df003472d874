/**
 * A realtime model that switches to another one when its vendor fails, before or during a session. The other one gets the conversation so
 * far as its history, and the sound of the user that has no transcript yet. The client only gets an error that does not end the session.
 */
import { makeResampler } from "@colloquy/core/adapters"
import {
  type AudioFormat,
  emptyConversation,
  entryText,
  type ModelSetup,
  noteEvent,
  type PreparedSession,
  type RealtimeModel,
  SetupRefused,
  type SpokenMessage,
  type VendorCommand,
  type VendorEvent,
  type VendorLink,
  type VendorListener,
  VendorUnavailable
} from "@colloquy/core/realtime"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"

export interface Fallback {
  readonly to: RealtimeModel
  /** The model of the other provider, which gets empty `provider_options`. */
  readonly model: string
}

/** Sound of the user that waits for its transcript, in seconds: older sound is forgotten. */
const keptSeconds = 30

/** A realtime model that switches to another one when its vendor fails in a session. */
export const withFallback = (native: RealtimeModel, { model, to }: Fallback): RealtimeModel => ({
  id: native.id,
  models: native.models,
  prepare: (setup) =>
    Result.flatMap(native.prepare(setup), (first) => {
      const now: ModelSetup = { instructions: first.instructions, tools: setup.tools }
      const other: Prepare = (history, { instructions, tools }) =>
        to.prepare({ model, options: {}, apiKey: null, instructions, tools, history })
      return Result.flatMap(other(setup.history, now), (second) =>
        [first.inputFormat, first.outputFormat, second.inputFormat, second.outputFormat].every(isPlain)
          ? Result.succeed({ ...first, connect: (listener) => connect(first, other, setup.history, now, listener) })
          : Result.fail(new SetupRefused({ code: "invalid_first_frame", reason: plainOnly }))
      )
    })
})

const isPlain = ({ channels, encoding }: AudioFormat): boolean => encoding === "pcm_s16le" && channels === 1
const plainOnly = "A model with a fallback takes PCM audio of one channel only."

type Prepare = (
  history: ReadonlyArray<SpokenMessage>,
  setup: ModelSetup
) => Result.Result<PreparedSession, SetupRefused>

const connect = Effect.fnUntraced(function* (
  first: PreparedSession,
  prepareOther: Prepare,
  history: ReadonlyArray<SpokenMessage>,
  atFirst: ModelSetup,
  listener: VendorListener
): Effect.fn.Return<VendorLink, VendorUnavailable, Scope.Scope> {
  const clock = yield* Clock.Clock
  const whole = yield* Effect.scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const firstScope = yield* Scope.fork(whole)
  let said = emptyConversation
  let setup = atFirst
  let isReady = false
  let isFinishing = false
  let isPaused = false
  let responding: string | null = null
  let phase: "first" | "between" | "second" = "first"
  let link: VendorLink | null = null
  let toSecond = (audio: Uint8Array): Uint8Array => audio
  /** The sound since the last transcript, which the other vendor gets. */
  let unheard: Array<Uint8Array> = []
  let unheardBytes = 0
  const openCalls = new Set<string>()
  const waiting: Array<VendorCommand> = []
  /** How many texts the other vendor repeats from the history: they are in the thread already. */
  let repeats = 0

  const keep = (audio: Uint8Array): void => {
    unheard.push(audio.slice())
    unheardBytes += audio.byteLength
    const most = keptSeconds * first.inputFormat.sampleRate * 2
    while (unheardBytes > most) unheardBytes -= unheard.shift()?.byteLength ?? unheardBytes
  }

  const forgetSound = (): void => {
    unheard = []
    unheardBytes = 0
  }

  const note = (event: VendorEvent): void => {
    said = noteEvent(said, event, clock.currentTimeMillisUnsafe())
    if (event._tag === "Ready") isReady = true
    if (event._tag === "ResponseStarted") responding = event.responseId
    if (event._tag === "ResponseDone") responding = null
    if (event._tag === "ToolCalled") openCalls.add(event.call.id)
    if (event._tag === "ToolsCancelled") for (const id of event.toolCallIds) openCalls.delete(id)
    if (event._tag === "NothingSaid" || (event._tag === "TranscriptFinal" && event.role === "user")) forgetSound()
  }

  const tell = (event: VendorEvent): void => {
    note(event)
    listener.event(event)
  }

  const fromFirst: VendorListener = {
    event: (event) => {
      if (phase !== "first") return
      const isDead = event._tag === "Closed" || (event._tag === "Failed" && !isReady)
      if (isDead && !isFinishing) return die(event.reason)
      tell(event)
    },
    audio: (itemId, base64) => {
      if (phase === "first") listener.audio(itemId, base64)
    }
  }

  const die = (reason: string): void => {
    phase = "between"
    link = null
    run(Scope.close(firstScope, Exit.void))
    if (isReady) listener.event({ _tag: "Failed", reason: `${reason} The session goes on with another model.` })
    if (openCalls.size > 0) tell({ _tag: "ToolsCancelled", toolCallIds: [...openCalls] })
    // The other vendor gets the sound of a turn that has no transcript yet.
    for (const entry of said.entries) {
      if (entry.role === "user" && !entry.isDone) tell({ _tag: "NothingSaid", itemId: entry.key })
    }
    if (responding !== null) tell({ _tag: "ResponseDone", responseId: responding })
    run(
      Effect.provideService(open(reason), Scope.Scope, whole).pipe(
        Effect.catch((error) => Effect.sync(() => listener.event({ _tag: "Closed", reason: error.reason })))
      )
    )
  }

  const open = Effect.fnUntraced(function* (reason: string) {
    const messages = said.entries.flatMap((entry): ReadonlyArray<SpokenMessage> => {
      const text = entryText(entry)
      return text === "" ? [] : [{ role: entry.role, text }]
    })
    const last = messages.at(-1)
    const question = last?.role === "user" ? last.text : null
    const before = question === null ? messages : messages.slice(0, -1)
    const preparedFor = setup
    const prepared = prepareOther([...history, ...before], preparedFor)
    if (Result.isFailure(prepared)) return yield* new VendorUnavailable({ code: "provider_closed", reason })
    const second = prepared.success
    const resample = makeResampler(second.outputFormat.sampleRate, first.outputFormat.sampleRate)
    const isSame = second.outputFormat.sampleRate === first.outputFormat.sampleRate
    toSecond = makeResampler(first.inputFormat.sampleRate, second.inputFormat.sampleRate)
    const begin = (): void => {
      phase = "second"
      if (isPaused) link?.pause()
      const { instructions, tools } = setup
      const refusal = setup === preparedFor ? null : link?.send({ _tag: "Setup", instructions, tools })
      if (refusal) tell({ _tag: "Failed", reason: refusal.reason })
      if (question !== null) {
        repeats++
        link?.send({ _tag: "Text", text: question })
      }
      for (const audio of unheard) link?.sendAudio(toSecond(audio))
      for (const command of waiting.splice(0)) link?.send(command)
    }
    link = yield* second.connect({
      event: (event) => {
        if (event._tag === "Ready") {
          if (!isReady) tell(event)
          return begin()
        }
        if (event._tag === "Typed" && repeats > 0) {
          repeats--
          return
        }
        tell(event)
      },
      audio: (itemId, base64) => {
        if (isSame) return listener.audio(itemId, base64)
        const samples = resample(Buffer.from(Buffer.from(base64).toString("latin1"), "base64"))
        listener.audio(itemId, Buffer.from(Buffer.from(samples).toString("base64"), "latin1"))
      }
    })
  })

  const connected = yield* Effect.result(Effect.provideService(first.connect(fromFirst), Scope.Scope, firstScope))
  if (Result.isSuccess(connected)) {
    if (phase === "first") link = connected.success
  } else {
    phase = "between"
    yield* open(connected.failure.reason)
  }

  return {
    send: (command) => {
      if (command._tag === "ToolOutputs") for (const { toolCallId } of command.outputs) openCalls.delete(toolCallId)
      const refusal = phase !== "between" && link !== null ? link.send(command) : null
      if (command._tag === "Setup" && refusal === null) setup = command
      if (phase !== "between" && link !== null) return refusal
      if (command._tag === "Text" || command._tag === "Commit") waiting.push(command)
      return null
    },
    sendAudio: (audio, sent) => {
      keep(audio)
      if (phase === "first" && link !== null) return link.sendAudio(audio, sent)
      if (phase === "second" && link !== null) return link.sendAudio(toSecond(audio), sent)
      sent?.()
    },
    buffered: () => link?.buffered() ?? 0,
    pause: () => {
      isPaused = true
      link?.pause()
    },
    resume: () => {
      isPaused = false
      link?.resume()
    },
    finish: () => {
      isFinishing = true
      link?.finish()
    }
  }
})
