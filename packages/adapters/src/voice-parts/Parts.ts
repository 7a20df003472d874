/** The three parts of a voice, in two forms: as a host names them, and with everything that a session needs. */
import type { ModelInfo, Provider } from "@colloquy/core"
import type { ChatDriver, ModelError, SpeechToText, TextToSpeech } from "@colloquy/core/adapters"
import * as Stream from "effect/Stream"

/** The format of the sound that a session takes and gives. */
export const sound = { encoding: "pcm_s16le", sampleRate: 24_000, channels: 1 } as const

/** How long a part that hears or speaks may be silent. */
const silence = "30 seconds"

/** Fails with this error when nothing has come for too long. */
export const inTime = <A>(news: Stream.Stream<A, ModelError>, late: () => ModelError): Stream.Stream<A, ModelError> =>
  Stream.timeoutOrElse(news, { duration: silence, orElse: () => Stream.fail(late()) })

interface Part {
  /** A provider that is registered with `Providers`, or is used only for the voice. */
  readonly provider: Provider
  /** Default: the provider's default model. */
  readonly model?: string
}

/** The three models of one voice: one that hears, one that thinks, one that speaks. */
export interface VoicePartsModel {
  readonly hear: Part & { readonly language?: string; readonly usdPerMinute?: number }
  readonly think: Part & { readonly info?: Partial<ModelInfo> }
  readonly speak: Part & { readonly voice?: string; readonly usdPerMillionCharacters?: number }
}

/** A model with everything that its session needs. */
export interface ReadyParts {
  readonly hear: VoicePartsModel["hear"] & {
    readonly id: string
    readonly model: string
    readonly driver: SpeechToText
  }
  readonly think: { readonly id: string; readonly model: string; readonly info: ModelInfo; readonly driver: ChatDriver }
  readonly speak: VoicePartsModel["speak"] & {
    readonly id: string
    readonly model: string
    readonly driver: TextToSpeech
    readonly format: "pcm" | "wav"
  }
}
