/**
 * What is asked of a job at its provider: how far it is, and its bytes. Used by the turn that ordered it (`VideoJobs`) and by the process
 * that continues it (`VideoReattach`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import { ModelError } from "../models/ModelError.ts"
import type { VideoAccount, VideoJob, VideoModel } from "../models/VideoModel.ts"
import { inTime } from "../primitives/Deadlines.ts"
import type { ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ThreadNotFound } from "../threads/Thread.ts"
import type { GeneratedMedia } from "./GeneratedMedia.ts"
import type { MediaRefused } from "./InspectMedia.ts"
import type { MediaStorage } from "./MediaStorage.ts"
import type { Observation } from "./VideoJobStep.ts"
import { waitLimits, type VideoSettings } from "./VideoSettings.ts"

/** A job with the time of its order. */
export interface OrderedJob {
  readonly job: VideoJob
  readonly account: VideoAccount
  readonly orderedAt: number
}

/** Reads the status of a job once. */
export const observe = (
  model: VideoModel,
  { account, job }: OrderedJob
): Effect.Effect<{ readonly observation: Observation; readonly job: VideoJob | null }> =>
  Effect.match(model.status(job.id, account), {
    onFailure: (error) => ({
      observation: {
        _tag: "Unseen" as const,
        isRetryable: error.isRetryable,
        retryAfterMillis: error.retryAfterMillis
      },
      job: null
    }),
    onSuccess: Option.match({
      onNone: () => ({ observation: { _tag: "Unknown" as const }, job: null }),
      onSome: (seen) => ({ observation: { _tag: "Seen" as const, job: seen }, job: { ...seen, id: job.id } })
    })
  })

export type ClipError = ModelError | MediaRefused | ThreadNotFound | StoreUnavailable

/** Whether the same file would be refused again. */
export const isFinal = (error: ClipError): boolean =>
  error._tag === "MediaRefused" || (error._tag === "ModelError" && error.reason === "model_not_found")

/** A 404 of a file does not mean that the model is unknown. */
export const reasonOfLostClip = (error: ClipError): string =>
  error._tag === "ModelError" && error.reason === "model_not_found"
    ? "The provider has no file for this video, or not any more."
    : error.message

interface ClipPorts {
  readonly settings: VideoSettings
  readonly storage: typeof MediaStorage.Service
}

/** Stores the video as a document of the thread. Reading is safe to repeat; nothing of a failed attempt is left. */
export const fetchClip = (
  { settings, storage }: ClipPorts,
  model: VideoModel,
  { account, job }: OrderedJob,
  threadId: ThreadId
): Effect.Effect<GeneratedMedia, ClipError, Principal> => {
  const store = Effect.suspend(() =>
    storage.store({
      threadId,
      mediaType: "video",
      mimeType: "video/mp4",
      bytes: model.content(job.id, account),
      metadata: { job_id: job.id, model: account.model }
    })
  )
  const attempt = (number: number): Effect.Effect<GeneratedMedia, ClipError, Principal> =>
    Effect.catchTag(store, "ModelError", (error) =>
      error.isRetryable && number < settings.downloadAttempts
        ? Effect.andThen(Effect.sleep(error.retryAfterMillis ?? 1000 * 2 ** number), attempt(number + 1))
        : Effect.fail(error)
    )
  return attempt(1).pipe(
    inTime(settings.downloadTime, () =>
      Effect.fail(new ModelError({ reason: "timeout", provider: account.provider, model: account.model }))
    )
  )
}

/** The maximum duration of a call: the order, the wait, the bytes, and the writes in between. */
export const callTime = (settings: VideoSettings): Duration.Duration =>
  Duration.sum(
    Duration.millis(waitLimits(settings).limit),
    Duration.sum(Duration.fromInputUnsafe(settings.downloadTime), Duration.minutes(10))
  )
