/**
 * A voice model that needs no network and no key: it plays back what the user says, answers texts with a melody (one note for each of the first
 * words), calls the tool that a text names, and can be interrupted. The audio is real PCM in real time.
 */
import { describeModel, noUsage } from "@colloquy/core/adapters"
import type { ToolDefinition } from "@colloquy/core"
import {
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
import { sampleArguments, wantedTool } from "./DemoModel.ts"
import { SpeechDetector, type Heard, join, soundMillis, wordNote, sampleRate, silence, tone } from "./DemoSound.ts"

/** The `model` that a voice session names to talk without a vendor, with the provider `demo`. */
export const demoVoiceName = "demo-voice-1"

const format = { encoding: "pcm_s16le", sampleRate, channels: 1 } as const

const capabilities = Schema.encodeSync(RealtimeCapabilities)({
  inputFormats: [format],
  outputFormats: [format],
  providerSettings: ["instructions", "turn_detection"],
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
    const unknown = Object.keys(setup.options).find((name) => !["instructions", "turn_detection"].includes(name))
    if (unknown !== undefined) {
      const code = unknown === "model" ? "model_mismatch" : "invalid_first_frame"
      return Result.fail(
        new SetupRefused({
          code,
          reason: `The demo has no setting "${unknown}", only instructions and turn_detection.`
        })
      )
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
  const talk = new DemoTalk({ listener, tools: setup.tools, run, now: () => clock.currentTimeMillisUnsafe() })
  const detector = new SpeechDetector(setup.options["turn_detection"] === null)
  yield* Effect.addFinalizer(() => Effect.sync(() => talk.leave()))
  yield* Effect.forkScoped(Effect.sync(() => listener.event({ _tag: "Ready" })))
  const onHeard = (all: ReadonlyArray<Heard>): void => {
    for (const heard of all) {
      if (heard._tag === "Began") talk.interrupt()
      else talk.answerSpeech(heard.audio)
    }
  }
  const link: VendorLink = {
    send: (command) => (command._tag === "Commit" ? commit(detector, onHeard) : talk.take(command)),
    sendAudio: (audio, sent) => {
      onHeard(detector.hear(audio))
      sent?.()
    },
    buffered: () => 0,
    pause: () => {},
    resume: () => {},
    finish: () => talk.interrupt()
  }
  return link
})

const commit = (detector: SpeechDetector, onHeard: (heard: ReadonlyArray<Heard>) => void): Refusal | null => {
  const heard = detector.end()
  if (heard.length === 0) return { code: "invalid_frame", reason: "There is no audio to commit." }
  onHeard(heard)
  return null
}

interface Surroundings {
  readonly listener: VendorListener
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly now: () => number
}

/** An answer while it is spoken. */
interface Speech {
  readonly responseId: string
  readonly itemId: string
  readonly text: string
  readonly millis: number
  readonly beganAt: number
  readonly fiber: Fiber.Fiber<void>
}

const pieceMillis = 100

/** The answers of the demo. It gives one answer at a time; a new question ends the current answer. */
class DemoTalk {
  private readonly around: Surroundings
  private readonly asked = new Map<string, string>()
  private outputs: Array<string> = []
  private speech: Speech | null = null
  private count = 0
  private tools: ReadonlyArray<ToolDefinition>

  constructor(around: Surroundings) {
    this.around = around
    this.tools = around.tools
  }

  take(command: Exclude<VendorCommand, { readonly _tag: "Commit" }>): Refusal | null {
    switch (command._tag) {
      case "Text":
        this.tell({ _tag: "Typed", itemId: this.newId("text"), text: command.text })
        this.answerText(command.text)
        return null
      case "Cancel":
      case "ClientGone":
        this.interrupt()
        return null
      // The demo sends its audio in real time, so it knows how much was played.
      case "Played":
      case "Heard":
        return null
      case "ToolOutputs":
        for (const { name, output, toolCallId } of command.outputs) {
          if (this.asked.delete(toolCallId)) this.outputs.push(`${name} says: ${output}`)
        }
        if (this.asked.size === 0) this.say(this.outputs.splice(0).join(" "))
        return null
      case "Setup":
        this.tools = command.tools
        return null
      case "Native":
        return { code: "unsupported_frame", reason: "The demo has no events of its own." }
    }
  }

  answerSpeech(audio: Uint8Array): void {
    const itemId = this.newId("speech")
    const seconds = (soundMillis(audio) / 1000).toFixed(1)
    this.tell({ _tag: "UserItem", itemId, before: null, transcribed: true })
    this.tell({ _tag: "TranscriptFinal", role: "user", itemId, text: `(${seconds} seconds of sound)` })
    const chime = join([tone(440, 120), tone(660, 120), silence(100)])
    this.say(`I heard ${seconds} seconds of sound. Here it is again.`, join([chime, audio]))
  }

  /** Stops the current answer, because the user speaks, cancels, or asks again. */
  interrupt(): void {
    const { speech } = this
    if (speech === null) return
    const heardMillis = Math.min(speech.millis, this.around.now() - speech.beganAt)
    this.silence(speech)
    const cut = { itemId: speech.itemId, heardMillis, generatedMillis: speech.millis }
    this.tell({ _tag: "TranscriptFinal", role: "assistant", itemId: speech.itemId, text: speech.text })
    this.tell({ _tag: "Interrupted", cut })
    this.done(speech.responseId)
  }

  leave(): void {
    if (this.speech !== null) this.silence(this.speech)
  }

  private answerText(text: string): void {
    const tool = wantedTool(this.tools, text)
    if (tool === undefined)
      return this.say(`You wrote: "${text.slice(0, 200)}". I am a demo, and this is my melody for it.`)
    this.interrupt()
    const responseId = this.newId("response")
    const id = this.newId("call")
    this.asked.set(id, tool.name)
    this.tell({ _tag: "ResponseStarted", responseId })
    const call = { id, name: tool.name, arguments: JSON.stringify(sampleArguments(tool, text)) }
    this.tell({ _tag: "ToolCalled", call })
    this.tell({ _tag: "ResponseDone", responseId })
  }

  private say(text: string, audio: Uint8Array = melody(text)): void {
    this.interrupt()
    const responseId = this.newId("response")
    const itemId = this.newId("answer")
    const millis = soundMillis(audio)
    this.tell({ _tag: "ResponseStarted", responseId })
    const words = text === "" ? [] : text.split(/(?<=\S)(?=\s)/u)
    const pieces = Math.max(1, Math.ceil(millis / pieceMillis))
    const part = Math.ceil(audio.byteLength / pieces / 2) * 2
    const speaking = Effect.gen({ self: this }, function* () {
      for (let index = 0; index < pieces; index++) {
        const said = words.slice(share(index, pieces, words.length), share(index + 1, pieces, words.length)).join("")
        if (said !== "") this.tell({ _tag: "TranscriptDelta", role: "assistant", itemId, text: said })
        const piece = Buffer.from(audio.subarray(index * part, (index + 1) * part)).toString("base64")
        this.around.listener.audio(itemId, Buffer.from(piece, "latin1"))
        yield* Effect.sleep(pieceMillis)
      }
      if (this.speech !== null) this.finish(this.speech)
    })
    const beganAt = this.around.now()
    this.speech = { responseId, itemId, text, millis, beganAt, fiber: this.around.run(speaking) }
  }

  private silence({ fiber }: Speech): void {
    this.speech = null
    fiber.interruptUnsafe()
  }

  private finish({ itemId, responseId, text }: Speech): void {
    this.speech = null
    this.tell({ _tag: "TranscriptFinal", role: "assistant", itemId, text })
    this.done(responseId)
  }

  private done(responseId: string): void {
    this.tell({ _tag: "Used", usage: { ...noUsage, costUsd: 0 } })
    this.tell({ _tag: "ResponseDone", responseId })
  }

  private readonly tell: VendorListener["event"] = (event) => this.around.listener.event(event)

  private newId(kind: string): string {
    this.count++
    return `${kind}_${this.count}`
  }
}

/** One note for each of the first words. Nobody listens to a melody of a whole search result. */
const melody = (text: string): Uint8Array => join((text.match(/\S+/gu) ?? []).slice(0, longestMelody).map(wordNote))

const longestMelody = 12

/** The number of the `count` words that belong to the first `index` of `pieces`. */
const share = (index: number, pieces: number, count: number): number => Math.round((index / pieces) * count)
