/**
 * A kernel with voice for tests: an ear that writes down what its script says, and a mouth that gives as many bytes as a text has
 * characters. Both write down what they were asked, and wait where a test wants them to.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { ScriptedModel, type ScriptStep } from "@colloquy/testing"
import {
  Kernel,
  Metering,
  type MeteringPort,
  Principal,
  type Provider,
  Providers,
  type TurnEvent,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import {
  describeModel,
  type ModelError,
  type SpeechRequest,
  type SpeechToText,
  type TextToSpeech,
  type TranscriptEvent,
  type TranscriptionRequest,
  wavHeader
} from "@colloquy/core/adapters"
import { Recordings, Voice, type VoiceSettings } from "@colloquy/core/voice"
import { it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export type Services = Kernel.Kernel | InMemory.Stores | Recordings | ScriptedModel

export interface VoiceRoomOptions {
  readonly ear?: (request: TranscriptionRequest) => Stream.Stream<TranscriptEvent, ModelError>
  /** The ear tells all at once. */
  readonly hearsAtOnce?: boolean
  readonly mouth?: (request: SpeechRequest) => Stream.Stream<Uint8Array, ModelError>
  readonly formats?: TextToSpeech["formats"]
  readonly settings?: Partial<VoiceSettings>
  readonly metering?: MeteringPort
  readonly stores?: Layer.Layer<InMemory.Stores>
  readonly more?: ReadonlyArray<Provider>
  /** Receives what was asked. */
  readonly heard?: Array<TranscriptionRequest>
  /** Done when the ear is asked: from then on a test may move the time. */
  readonly earIsAsked?: Deferred.Deferred<void>
  readonly spoken?: Array<SpeechRequest>
}

/** Samples at 8 kHz: a character lasts a thousandth of a second. */
const bytesPerCharacter = 16

export const speechBytes = (text: string): Uint8Array =>
  new Uint8Array(text.length * bytesPerCharacter).fill(text.length % 256)

export const transcribed = (text: string): TranscriptEvent => ({
  _tag: "Transcribed",
  transcript: { text, seconds: 2, language: "en", usage: null }
})

export const delta = (text: string): TranscriptEvent => ({ _tag: "TranscriptDelta", text })

export const voiceProvider = (options: VoiceRoomOptions): Provider => {
  const ear = (request: TranscriptionRequest) => {
    options.heard?.push(request)
    if (options.earIsAsked !== undefined) Deferred.doneUnsafe(options.earIsAsked, Effect.void)
    return options.ear?.(request) ?? Stream.make(delta("Hello "), delta("there."), transcribed("Hello there."))
  }
  const speechToText: SpeechToText = {
    defaultModel: "ear-1",
    maxBytes: 1_000_000,
    transcribe: (request) =>
      Stream.runCollect(ear(request)).pipe(
        Effect.map((events) => {
          const [last] = events.flatMap((event) => (event._tag === "Transcribed" ? [event.transcript] : []))
          return last ?? { text: "", seconds: null, language: null, usage: null }
        })
      ),
    ...(options.hearsAtOnce === true ? {} : { stream: ear })
  }
  const textToSpeech: TextToSpeech = {
    defaultModel: "mouth-1",
    formats: options.formats ?? ["pcm"],
    sampleRate: 8000,
    maxCharacters: 4096,
    speak: (request) => {
      options.spoken?.push(request)
      return options.mouth?.(request) ?? Stream.make(speechBytes(request.text))
    }
  }
  return {
    id: "toy",
    speechToText,
    textToSpeech,
    describe: (model) => ({
      details: model === "ear-1" ? { usd_per_minute: 0.6 } : { usd_per_million_characters: 1000 }
    }),
    listModels: Effect.succeed([
      describeModel({ name: "ear-1", provider: "toy", modelType: "stt" }),
      describeModel({ name: "mouth-1", provider: "toy", modelType: "tts" })
    ])
  }
}

export const voiceRoom = (steps: ReadonlyArray<ScriptStep>, options: VoiceRoomOptions = {}): Layer.Layer<Services> => {
  const providers = Layer.effect(
    Providers,
    Effect.map(Providers, ({ all, ...rest }) => ({
      ...rest,
      all: [...all, voiceProvider(options), ...(options.more ?? [])]
    }))
  )
  return Layer.orDie(Voice.layer(options.settings)).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      options.metering === undefined ? Layer.empty : Layer.succeed(Metering, options.metering),
      Logger.layer([])
    ]),
    Layer.provide(providers),
    Layer.provideMerge(ScriptedModel.layer(steps)),
    Layer.provideMerge(options.stores ?? InMemory.layer),
    Layer.fresh
  )
}

export const voiceStory = <A, E>(
  title: string,
  steps: ReadonlyArray<ScriptStep>,
  body: () => Effect.Effect<A, E, Services | Principal | Scope.Scope>,
  options: VoiceRoomOptions = {}
): void =>
  it.effect(title, () =>
    Effect.suspend(body).pipe(Principal.provide("ada"), Effect.provide([voiceRoom(steps, options), Logger.layer([])]))
  )

/** A second of silence at 8 kHz. */
export const second = (() => {
  const file = new Uint8Array(44 + 16_000)
  file.set(wavHeader({ sampleRate: 8000, channels: 1 }, 16_000))
  return file
})()

export const record = (bytes: Uint8Array = second, filename = "hello.wav") =>
  Recordings.use((recordings) => recordings.put({ filename, bytes: Stream.make(bytes) }))

export const start = (request: TurnRequest) => Turns.use((turns) => turns.start({ stream: true, ...request }))

/** What the reader of a stream sees of voice and text, one word each. */
export const outline = (events: ReadonlyArray<TurnEvent>): ReadonlyArray<string> =>
  events.flatMap((event) => {
    switch (event._tag) {
      case "PartTold":
        return [event.type]
      case "TextDelta":
        return ["text"]
      case "UserMessage":
      case "RunEnded":
      case "RunFailed":
      case "RunCancelled":
      case "ToolSubmitRequired":
      case "MessageSaved":
        return [event._tag]
      default:
        return []
    }
  })

/** The live sound of a stream. */
export const soundIn = (events: ReadonlyArray<TurnEvent>): Uint8Array =>
  new Uint8Array(
    Buffer.concat(
      events.flatMap((event) =>
        event._tag === "PartTold" && event.type === "tts_audio_chunk"
          ? [Buffer.from(String(Object(event.data).data), "base64")]
          : []
      )
    )
  )
