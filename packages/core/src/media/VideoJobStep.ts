/**
 * Pure: the state machine of a video job. What was seen of a job, and when, decides what is done next: wait, fetch the clip, or end. The
 * whole state is the time of the order, so that any process can go on with a job of which it knows no more than that.
 * Specification part 3, "Video generation job"; part 4, "Video tool rules" 7.
 *
 * | seen | next |
 * |---|---|
 * | pending, in progress | wait; the end when the time is over |
 * | completed | fetch |
 * | failed, cancelled, expired | end |
 * | the provider does not know the job | wait while the job is young; then end |
 * | no answer, too many requests, a fault of the provider | wait like a job in progress |
 * | the provider refuses to tell | end |
 */
import type { VideoJob } from "../models/VideoModel.ts"
import type { Patience } from "./VideoSettings.ts"

/** What a look at a job brought. */
export type Sight =
  | { readonly _tag: "Seen"; readonly job: Pick<VideoJob, "status" | "retryAfterMillis"> }
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Unseen"; readonly isRetryable: boolean; readonly retryAfterMillis?: number | undefined }

export type VideoEnd = "failed" | "cancelled" | "expired" | "timed_out" | "unknown" | "unseen"

export type Step =
  | { readonly _tag: "Wait"; readonly millis: number }
  | { readonly _tag: "Fetch" }
  | { readonly _tag: "End"; readonly end: VideoEnd }

/** `age`: milliseconds since the order. */
export const nextStep = (sight: Sight, age: number, patience: Patience): Step => {
  switch (sight._tag) {
    case "Seen": {
      const { retryAfterMillis, status } = sight.job
      if (status === "completed") return { _tag: "Fetch" }
      if (status === "pending" || status === "in_progress") return wait(age, patience, retryAfterMillis)
      return { _tag: "End", end: status }
    }
    case "Unknown":
      return age < patience.unknownFor ? wait(age, patience, null) : { _tag: "End", end: "unknown" }
    case "Unseen":
      return sight.isRetryable ? wait(age, patience, sight.retryAfterMillis ?? null) : { _tag: "End", end: "unseen" }
  }
}

/**
 * Each pause is a quarter of the age longer than the first one. The provider's own word comes first; when it reaches behind the limit, there
 * will be no further look, so there is nothing to wait for. The last look is at the limit.
 */
const wait = (age: number, { firstPause, limit, longestPause }: Patience, asked: number | null): Step => {
  const left = limit - age
  const pause = asked === null ? Math.min(longestPause, firstPause + age / 4) : Math.max(asked, shortestPause)
  if (left <= 0 || (asked !== null && pause > left)) return { _tag: "End", end: "timed_out" }
  return { _tag: "Wait", millis: Math.min(pause, left) }
}

/** A provider that says "now" is not asked without a pause. */
const shortestPause = 500
