/**
 * The jobs of a thread, as entries in its metadata (`video_jobs`): which were ordered, their state, their cost. An entry is written as soon
 * as something is known, so that a job is found even if its turn has ended. Specification part 4, "Video tool rules" 7.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { VideoJobStatus } from "../models/VideoModel.ts"
import { RunId, type ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Metadata } from "../threads/Thread.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"

const field = "video_jobs"

export const VideoJobEntry = Schema.Struct({
  job_id: Schema.String,
  run_id: RunId,
  model: Schema.String,
  status: VideoJobStatus,
  /** Null: not known. */
  cost_usd: Schema.NullOr(Schema.Finite)
})
export type VideoJobEntry = typeof VideoJobEntry.Type

const decode = Schema.decodeUnknownOption(VideoJobEntry)

export const videoJobsIn = (metadata: Metadata | null): ReadonlyArray<VideoJobEntry> => {
  const entries: unknown = metadata?.[field]
  return Array.isArray(entries)
    ? entries.flatMap((entry) =>
        Option.getOrElse(
          Option.map(decode(entry), (job) => [job]),
          () => []
        )
      )
    : []
}

const withJob = (metadata: Metadata, entry: VideoJobEntry): Metadata => {
  const jobs = videoJobsIn(metadata)
  const isKnown = jobs.some(({ job_id }) => job_id === entry.job_id)
  return { [field]: isKnown ? jobs.map((job) => (job.job_id === entry.job_id ? entry : job)) : [...jobs, entry] }
}

/** Sets the entry of one job and keeps all others, also those that other calls and processes write at the same time. */
export const writeJob = (
  threads: typeof ThreadStore.Service,
  threadId: ThreadId,
  entry: VideoJobEntry
): Effect.Effect<void, StoreUnavailable, Principal> =>
  Effect.asVoid(threads.mergeMetadata(threadId, (metadata) => withJob(metadata, entry)))
