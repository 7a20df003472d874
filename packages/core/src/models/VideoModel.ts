/**
 * Port: a provider that makes videos. A video is a job: it is ordered, its status is read until it has ended, and then its bytes are read.
 * The wing `media` (`VideoJob`) adds for all providers: waiting, limits, charges and storing.
 *
 * `videoModelSuite` of the contracts tests this contract.
 */
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import { isRefusedRequest, type ModelError } from "./ModelError.ts"
import type { ModelInfo } from "./ModelInfo.ts"

/** The states of a job. Only `completed` gives a video; the last four are final. */
export const VideoJobStatus = Schema.Literals(["pending", "in_progress", "completed", "failed", "cancelled", "expired"])
export type VideoJobStatus = typeof VideoJobStatus.Type

export const VideoRouting = Schema.Struct({
  only: Schema.optionalKey(Schema.Array(Schema.String)),
  order: Schema.optionalKey(Schema.Array(Schema.String)),
  ignore: Schema.optionalKey(Schema.Array(Schema.String)),
  sort: Schema.optionalKey(Schema.Literals(["price", "throughput", "latency"])),
  allow_fallbacks: Schema.optionalKey(Schema.Boolean)
})
export type VideoRouting = typeof VideoRouting.Type

/** The options of a video, by the names of the wire (`video_config`): users and models both write them. */
export const VideoOptions = Schema.Struct({
  /** Seconds. */
  duration: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  resolution: Schema.optionalKey(Schema.NonEmptyString),
  aspect_ratio: Schema.optionalKey(Schema.NonEmptyString),
  /** Replaces resolution and aspect ratio. */
  size: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/u, { expected: "WIDTHxHEIGHT" }))
  ),
  generate_audio: Schema.optionalKey(Schema.Boolean),
  seed: Schema.optionalKey(Schema.Int),
  provider: Schema.optionalKey(VideoRouting),
  upscale_factor: Schema.optionalKey(Schema.Finite),
  creativity: Schema.optionalKey(Schema.Union([Schema.Finite, Schema.NonEmptyString]))
})
export type VideoOptions = typeof VideoOptions.Type

/** A picture that a clip begins or ends with. */
export interface Picture {
  readonly bytes: Uint8Array
  readonly mimeType: string
}

/** Pictures are part of the order. Sound and video are always HTTPS addresses that the provider fetches. */
export type VideoReference =
  | { readonly kind: "image"; readonly picture: Picture }
  | { readonly kind: "audio" | "video"; readonly url: string }

/** The provider, model and key of a request. */
export interface VideoAccount {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  /** The customer's own key for this provider. It overrides the driver's key. */
  readonly apiKey: Redacted.Redacted<string> | null
}

/** What a provider of clips is asked for: a prompt, options, and pictures to begin, to end or to follow. */
export interface VideoOrder extends VideoAccount {
  readonly prompt: string
  readonly options: VideoOptions
  /** Never together with `references`. */
  readonly firstFrame: Picture | null
  readonly lastFrame: Picture | null
  readonly references: ReadonlyArray<VideoReference>
}

/** How far a clip is at its provider. */
export interface VideoJob {
  readonly id: string
  readonly status: VideoJobStatus
  /** US dollars, as the provider reports them; null if it does not, and never an estimate. */
  readonly costUsd: number | null
  /** The provider's own text about a failed job. It goes to the model, and into no error and no log. */
  readonly problem: string | null
  /** The pause that the provider asks for before the next status request; null if it names none. */
  readonly retryAfterMillis: number | null
}

export interface VideoModel {
  /**
   * Orders a video. MUST send the order once at most, whatever happens to it, because every order is paid for. If it is unknown whether the
   * order arrived, the failure MUST have one of the reasons of `mayHaveBeenOrdered`.
   */
  readonly submit: (order: VideoOrder) => Effect.Effect<VideoJob, ModelError>
  /**
   * The state of a job. MUST return none for a job that the provider does not know, and only then: it may not know it yet. MUST treat an
   * unknown status as one of a job that goes on.
   */
  readonly status: (jobId: string, account: VideoAccount) => Effect.Effect<Option.Option<VideoJob>, ModelError>
  /**
   * The bytes of a completed job, as they arrive. If they break off, the stream MUST fail instead of ending early. MUST NOT follow the
   * provider to another address with the key, nor fetch an address that it names.
   */
  readonly content: (jobId: string, account: VideoAccount) => Stream.Stream<Uint8Array, ModelError>
  /** The current models for videos. The catalogue calls it often. */
  readonly listModels?: Effect.Effect<ReadonlyArray<ModelInfo>, ModelError>
}

/** Reasons that leave open whether the order arrived, where the status does not say that it was refused. All other reasons mean that it was. */
const ambiguous: ReadonlySet<ModelError["reason"]> = new Set([
  "overloaded",
  "timeout",
  "connection",
  "cut_off",
  "malformed",
  "unknown"
])

/** Whether a failed `submit` may have begun a job nevertheless. */
export const mayHaveBeenOrdered = (error: ModelError): boolean =>
  !isRefusedRequest(error) && ambiguous.has(error.reason)
