/** Parts of a voice for tests: they know their lines, and tell what they were asked. */
import type { Provider } from "@colloquy/core"
import {
  type ChatEvent,
  type ChatRequest,
  ModelError,
  noUsage,
  type TextToSpeech,
  type TranscriptionRequest
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

export interface TestParts {
  readonly hears?: (recording: Uint8Array) => string | ModelError
  /** The events of an answer. */
  readonly thinks: (request: ChatRequest) => Stream.Stream<ChatEvent, ModelError>
  readonly speaks?: (text: string) => Uint8Array | ModelError
  readonly speech?: Partial<Pick<TextToSpeech, "formats" | "maxCharacters">>
}

export const finished = { _tag: "Finished", reason: "stop", model: null, providerData: null } as const

/** An answer in these pieces. */
export const writes = (...pieces: ReadonlyArray<string>): Stream.Stream<ChatEvent> =>
  Stream.fromIterable<ChatEvent>([
    ...pieces.map((text) => ({ _tag: "TextDelta" as const, text })),
    { _tag: "Usage", usage: { ...noUsage, inputTokens: 100, outputTokens: 10, costUsd: 0.01 } },
    finished
  ])

export const failure = (reason: ModelError["reason"]): ModelError =>
  new ModelError({ reason, provider: "parts", model: "m" })

/** A tenth of a second for each word. */
const silenceFor = (text: string): Uint8Array => new Uint8Array(4800 * text.split(/\s+/u).length)

/** The samples of a WAV file of `SpokenTurns`. */
const recordedSamples = (recording: Uint8Array): Uint8Array => recording.subarray(44)

const orFail = <A>(value: A | ModelError): Effect.Effect<A, ModelError> =>
  value instanceof ModelError ? Effect.fail(value) : Effect.succeed(value)

export const voiceParts = ({ hears = () => "", speaks = silenceFor, speech, thinks }: TestParts) => {
  const provider: Provider = {
    id: "house",
    defaultModel: "m",
    chat: thinks,
    speechToText: {
      defaultModel: "ears",
      maxBytes: 25_000_000,
      transcribe: ({ recording }: TranscriptionRequest) =>
        Effect.map(
          Effect.suspend(() => orFail(hears(recordedSamples(recording.bytes)))),
          (text) => ({
            text,
            seconds: null,
            language: null,
            usage: null
          })
        )
    },
    textToSpeech: {
      defaultModel: "mouth",
      formats: ["pcm"],
      sampleRate: 24_000,
      maxCharacters: 4000,
      ...speech,
      speak: ({ text }) => Stream.fromEffect(Effect.suspend(() => orFail(speaks(text))))
    }
  }
  return {
    hear: { provider, usdPerMinute: 0.006 },
    think: { provider },
    speak: { provider, usdPerMillionCharacters: 15 }
  }
}
