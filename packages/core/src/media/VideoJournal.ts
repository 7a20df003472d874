/**
 * The jobs of a thread, as entries in its metadata (`video_jobs`): which were ordered, their state, their cost. An entry is written as soon
 * as something is known, so that a job is found even if its turn has ended.
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
  /** Null: the provider has not answered the order. */
  job_id: Schema.NullOr(Schema.String),
  run_id: RunId,
  model: Schema.String,
  /** `ordering`: the order is on its way, or its process died meanwhile; `unknown`: it is not known whether the order arrived. */
  status: Schema.Union([VideoJobStatus, Schema.Literals(["ordering", "unknown"])]),
  /** The tool call of an order without a job. */
  tool_call_id: Schema.optionalKey(Schema.String),
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

const isSame = (job: VideoJobEntry, { job_id, run_id, tool_call_id }: VideoJobEntry): boolean =>
  job_id === null ? isOrderFor(job, run_id, tool_call_id) : job.job_id === job_id

const isOrderFor = ({ job_id, run_id, tool_call_id }: VideoJobEntry, runId: RunId, toolCallId?: string): boolean =>
  job_id === null && run_id === runId && tool_call_id === toolCallId

const withJob = (metadata: Metadata, entry: VideoJobEntry, toolCallId?: string): Metadata => {
  const jobs = videoJobsIn(metadata).filter(
    (job) => toolCallId === undefined || !isOrderFor(job, entry.run_id, toolCallId)
  )
  const isKnown = jobs.some((job) => isSame(job, entry))
  return { [field]: isKnown ? jobs.map((job) => (isSame(job, entry) ? entry : job)) : [...jobs, entry] }
}

/** Removes the entry of an order that the provider has refused. */
export const removeOrder = (
  threads: typeof ThreadStore.Service,
  threadId: ThreadId,
  runId: RunId,
  toolCallId: string
): Effect.Effect<void, StoreUnavailable, Principal> =>
  Effect.asVoid(
    threads.mergeMetadata(threadId, (metadata) => ({
      [field]: videoJobsIn(metadata).filter((job) => !isOrderFor(job, runId, toolCallId))
    }))
  )

/** Sets the entry of one job and keeps all others, also those that other calls and processes write at the same time. */
export const writeJob = (
  threads: typeof ThreadStore.Service,
  threadId: ThreadId,
  entry: VideoJobEntry,
  /** The tool call whose order has become this job. */
  toolCallId?: string
): Effect.Effect<void, StoreUnavailable, Principal> =>
  Effect.asVoid(threads.mergeMetadata(threadId, (metadata) => withJob(metadata, entry, toolCallId)))
