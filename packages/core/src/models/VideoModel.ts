/**
 * Port: a provider that makes videos. A clip is a job: it is ordered, looked at until it has ended, and then its bytes are read. Waiting,
 * limits, charges and storing are added once for all providers by the wing `media` (`VideoJob`).
 *
 * `videoModelSuite` of the contracts tests what is promised here.
 */
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { ModelError } from "./ModelError.ts"
import type { ModelInfo } from "./ModelInfo.ts"

/** The states of the specification. Only `completed` yields a clip; the last four are final. */
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

/** What a clip shall be, by the names of the specification (`video_config`): users and models both write them. */
export const VideoOptions = Schema.Struct({
  /** Seconds. */
  duration: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  resolution: Schema.optionalKey(Schema.NonEmptyString),
  aspect_ratio: Schema.optionalKey(Schema.NonEmptyString),
  /** Instead of resolution and aspect ratio. */
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

export interface Picture {
  readonly bytes: Uint8Array
  readonly mimeType: string
}

/** Pictures travel inside of an order. Sound and video never do: they are HTTPS addresses that the provider fetches. */
export type VideoReference =
  | { readonly kind: "image"; readonly picture: Picture }
  | { readonly kind: "audio" | "video"; readonly url: string }

/** For whom and with which key a provider is asked. */
export interface VideoAccount {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  /** The customer's own key for this provider; beats the driver's. */
  readonly apiKey: Redacted.Redacted<string> | null
}

export interface VideoOrder extends VideoAccount {
  readonly prompt: string
  readonly options: VideoOptions
  /** Never together with `references`. */
  readonly firstFrame: Picture | null
  readonly lastFrame: Picture | null
  readonly references: ReadonlyArray<VideoReference>
}

export interface VideoJob {
  readonly id: string
  readonly status: VideoJobStatus
  /** US dollars, as the provider reports them; null: it does not. Never an estimate. */
  readonly costUsd: number | null
  /** What the provider says about a job that failed. Its own words: they go to the model, and into no error and no log. */
  readonly problem: string | null
  /** How long the provider wants us to wait before the next look; null: it does not say. */
  readonly retryAfterMillis: number | null
}

export interface VideoModel {
  /**
   * Orders a clip. MUST send the order once at most, whatever happens to it, because every order is paid for. A failure that leaves open
   * whether the order arrived MUST have one of the reasons of `mayHaveBeenOrdered`.
   */
  readonly submit: (order: VideoOrder) => Effect.Effect<VideoJob, ModelError>
  /** MUST answer none for a job that the provider does not know, and only then: it may be too early. MUST take an unknown state for one that goes on. */
  readonly status: (jobId: string, account: VideoAccount) => Effect.Effect<Option.Option<VideoJob>, ModelError>
  /**
   * The bytes of a completed job, as they come. MUST fail, and not end early, when they break off. MUST NOT follow the provider to another
   * address with the key, nor to any address that it names.
   */
  readonly content: (jobId: string, account: VideoAccount) => Stream.Stream<Uint8Array, ModelError>
  /** The models for videos as they are now; the catalogue asks for it often. */
  readonly listModels?: Effect.Effect<ReadonlyArray<ModelInfo>, ModelError>
}

/** Reasons after which nobody can say whether the order arrived. All others say that it was refused. */
const ambiguous: ReadonlySet<ModelError["reason"]> = new Set([
  "overloaded",
  "timeout",
  "connection",
  "cut_off",
  "malformed",
  "unknown"
])

/** Whether a failed `submit` may have begun a job nevertheless. */
export const mayHaveBeenOrdered = ({ reason }: ModelError): boolean => ambiguous.has(reason)
