/**
 * A voice model that needs no network and no key: it plays back what the user says, answers texts with a melody (one note for each of the first
 * words), calls the tool that a text names, and can be interrupted. The audio is real PCM in real time.
 */
import { describeModel, joinBytes, noUsage } from "@colloquy/core/adapters"
import {
  type Cut,
  RealtimeCapabilities,
  type RealtimeModel,
  type Refusal,
  type SessionSetup,
  SetupRefused,
  type VendorCommand,
  type VendorLink,
  type VendorListener
} from "@colloquy/core/realtime"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { sampleArguments, splitWords, wantedTool } from "./DemoModel.ts"
import { makeTurns, soundMillis, wordNote, sampleRate, silence, tone } from "./DemoSound.ts"

/** The `model` that a voice session names to talk without a vendor, with the provider `demo`. */
export const demoVoiceName = "demo-voice-1"

const format = { encoding: "pcm_s16le", sampleRate, channels: 1 } as const
const settings = ["instructions", "turn_detection"]

const capabilities = Schema.encodeSync(RealtimeCapabilities)({
  inputFormats: [format],
  outputFormats: [format],
  providerSettings: settings,
  canCancel: true,
  turnDetection: ["server_vad"]
})

export const demoVoice: RealtimeModel = {
  id: "demo",
  models: [
    describeModel({
      name: demoVoiceName,
      provider: "demo",
      modelType: "realtime",
      displayName: "Demo voice (no network)",
      supportsTools: true,
      supportsAudioInput: true,
      supportsAudioOutput: true,
      details: capabilities
    })
  ],
  prepare: (setup) => {
    const unknown = Object.keys(setup.options).find((name) => !settings.includes(name))
    if (unknown !== undefined) {
      const reason = `The demo has no setting "${unknown}", only ${settings.join(" and ")}.`
      const code = unknown === "model" ? "model_mismatch" : "invalid_first_frame"
      return Result.fail(new SetupRefused({ code, reason }))
    }
    const { instructions } = setup.options
    return Result.succeed({
      inputFormat: format,
      outputFormat: format,
      canCancel: true,
      instructions: typeof instructions === "string" ? instructions : setup.instructions,
      connect: (listener) => connect(setup, listener)
    })
  }
}

const connect = Effect.fnUntraced(function* (setup: SessionSetup, listener: VendorListener) {
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const speaker = makeSpeaker(listener, run, () => clock.currentTimeMillisUnsafe())
  yield* Effect.addFinalizer(() => Effect.sync(speaker.leave))
  yield* Effect.forkScoped(Effect.sync(() => listener.event({ _tag: "Ready" })))
  return makeLink(setup, listener.event, speaker)
})

/** Some words of an answer, and their sound. */
interface Piece {
  readonly words: string
  readonly sound: Uint8Array
}

/** Gives one answer at a time; a new one ends the current one. */
const makeSpeaker = (
  { audio, event: tell }: VendorListener,
  run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>,
  now: () => number
) => {
  let answer: { itemId: string; text: string; millis: number; beganAt: number; fiber: Fiber.Fiber<void> } | null = null
  let count = 0

  const newId = (kind: string): string => {
    count++
    return `${kind}_${count}`
  }

  /** `cut` is null when everything was said. */
  const end = (cut: Cut | null): void => {
    if (answer === null) return
    const { itemId, text } = answer
    answer = null
    tell({ _tag: "TranscriptFinal", role: "assistant", itemId, text })
    if (cut !== null) tell({ _tag: "Interrupted", cut })
    tell({ _tag: "Used", usage: { ...noUsage, costUsd: 0 } })
    tell({ _tag: "ResponseDone", responseId: itemId })
  }

  /** Stops the current answer, because the user speaks, cancels, or asks again. */
  const interrupt = (): void => {
    if (answer === null) return
    const { beganAt, fiber, itemId, millis } = answer
    fiber.interruptUnsafe()
    end({ itemId, heardMillis: Math.min(millis, now() - beganAt), generatedMillis: millis })
  }

  const say = (pieces: ReadonlyArray<Piece>): void => {
    interrupt()
    const itemId = newId("answer")
    tell({ _tag: "ResponseStarted", responseId: itemId })
    const sayPiece = ({ sound, words }: Piece) =>
      Effect.suspend(() => {
        if (words !== "") tell({ _tag: "TranscriptDelta", role: "assistant", itemId, text: words })
        if (sound.length > 0) audio(itemId, Buffer.from(Buffer.from(sound).toString("base64")))
        return Effect.sleep(soundMillis(sound))
      })
    const speaking = Effect.andThen(
      Effect.forEach(pieces, sayPiece, { discard: true }),
      Effect.sync(() => end(null))
    )
    const text = pieces.map(({ words }) => words).join("")
    const millis = pieces.reduce((sum, { sound }) => sum + soundMillis(sound), 0)
    answer = { itemId, text, millis, beganAt: now(), fiber: run(speaking) }
  }

  return { newId, say, interrupt, leave: () => answer?.fiber.interruptUnsafe() }
}

const makeLink = (
  setup: SessionSetup,
  tell: VendorListener["event"],
  { interrupt, newId, say }: ReturnType<typeof makeSpeaker>
): VendorLink => {
  let { tools } = setup

  const answerSpeech = (audio: Uint8Array): void => {
    const itemId = newId("speech")
    const heard = `${(soundMillis(audio) / 1000).toFixed(1)} seconds of sound`
    tell({ _tag: "UserItem", itemId, before: null, transcribed: true })
    tell({ _tag: "TranscriptFinal", role: "user", itemId, text: `(${heard})` })
    const chime = joinBytes([tone(440, 120), tone(660, 120), silence(100)])
    say([{ words: `I heard ${heard}. Here it is again.`, sound: chime }, ...echo(audio)])
  }
  const turns = makeTurns(setup.options["turn_detection"] === null, interrupt, answerSpeech)

  const answerText = (text: string): void => {
    tell({ _tag: "Typed", itemId: newId("text"), text })
    const tool = wantedTool(tools, text)
    if (tool === undefined) {
      return say(melody(`You wrote: "${text.slice(0, 200)}". I am a demo, and this is my melody for it.`))
    }
    interrupt()
    const responseId = newId("response")
    tell({ _tag: "ResponseStarted", responseId })
    const args = JSON.stringify(sampleArguments(tool, text))
    tell({ _tag: "ToolCalled", call: { id: newId("call"), name: tool.name, arguments: args } })
    tell({ _tag: "ResponseDone", responseId })
  }

  const send = (command: VendorCommand): Refusal | null => {
    switch (command._tag) {
      case "Text":
        answerText(command.text)
        return null
      case "Commit":
        return turns.commit() ? null : { code: "invalid_frame", reason: "There is no audio to commit." }
      case "Cancel":
      case "ClientGone":
        interrupt()
        return null
      // The demo sends its audio in real time, so it knows how much was played.
      case "Played":
      case "Heard":
        return null
      case "ToolOutputs":
        say(melody(command.outputs.map(({ name, output }) => `${name} says: ${output}`).join(" ")))
        return null
      case "Setup":
        tools = command.tools
        return null
      case "Native":
        return { code: "unsupported_frame", reason: "The demo has no events of its own." }
    }
  }

  return {
    send,
    sendAudio: (audio, sent) => {
      turns.hear(audio)
      sent?.()
    },
    buffered: () => 0,
    pause: () => {},
    resume: () => {},
    finish: interrupt
  }
}

/** One note for each of the first words. Nobody listens to a melody of a whole search result. */
const melody = (text: string): ReadonlyArray<Piece> =>
  splitWords(text).map((words, index) => ({
    words,
    sound: index < longestMelody ? wordNote(words.trim()) : new Uint8Array()
  }))

const longestMelody = 12

/** The sound of the user in pieces of a tenth of a second. */
const echo = (audio: Uint8Array): ReadonlyArray<Piece> =>
  Array.from({ length: Math.ceil(audio.length / echoBytes) }, (_, index) => ({
    words: "",
    sound: audio.subarray(index * echoBytes, (index + 1) * echoBytes)
  }))

const echoBytes = sampleRate / 5
