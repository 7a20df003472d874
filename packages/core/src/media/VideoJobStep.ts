/**
 * Pure: the state machine of a video job. What was observed of a job, and when, decides the next step: wait, fetch the video, or end. The
 * only state is the time of the order, so that any process can continue a job with it.
 *
 * | observed | next |
 * |---|---|
 * | pending, in progress | wait; end when the time limit is reached |
 * | completed | fetch |
 * | failed, cancelled, expired | end |
 * | the provider does not know the job | wait while the job is new; then end |
 * | no answer, too many requests, a server error of the provider | wait like for a job in progress |
 * | the provider refuses the request | end |
 */
import type { VideoJob } from "../models/VideoModel.ts"
import type { WaitLimits } from "./VideoSettings.ts"

/** What a status request returned. */
export type Observation =
  | { readonly _tag: "Seen"; readonly job: Pick<VideoJob, "status" | "retryAfterMillis"> }
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Unseen"; readonly isRetryable: boolean; readonly retryAfterMillis?: number | undefined }

export type VideoEnd = "failed" | "cancelled" | "expired" | "timed_out" | "unknown" | "unseen"

export type Step =
  | { readonly _tag: "Wait"; readonly millis: number }
  | { readonly _tag: "Fetch" }
  | { readonly _tag: "End"; readonly end: VideoEnd }

/** `age` is the number of milliseconds since the order. */
export const nextStep = (observation: Observation, age: number, limits: WaitLimits): Step => {
  switch (observation._tag) {
    case "Seen": {
      const { retryAfterMillis, status } = observation.job
      if (status === "completed") return { _tag: "Fetch" }
      if (status === "pending" || status === "in_progress") return wait(age, limits, retryAfterMillis)
      return { _tag: "End", end: status }
    }
    case "Unknown":
      return age < limits.unknownFor ? wait(age, limits, null) : { _tag: "End", end: "unknown" }
    case "Unseen":
      return observation.isRetryable
        ? wait(age, limits, observation.retryAfterMillis ?? null)
        : { _tag: "End", end: "unseen" }
  }
}

/**
 * Each pause is the first pause plus a quarter of the age. A pause that the provider asks for comes first; if it exceeds the limit, there
 * is no further request, so the job ends at once. The last request is at the limit.
 */
const wait = (age: number, { firstPause, limit, longestPause }: WaitLimits, asked: number | null): Step => {
  const left = limit - age
  const pause =
    asked === null ? Math.min(longestPause, firstPause + Math.max(0, age) / 4) : Math.max(asked, shortestPause)
  if (left <= 0 || (asked !== null && pause > left)) return { _tag: "End", end: "timed_out" }
  return { _tag: "Wait", millis: Math.min(pause, left) }
}

/** A minimum pause for a provider that asks for none. */
const shortestPause = 500
