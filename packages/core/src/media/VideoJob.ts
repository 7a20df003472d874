/**
 * Makes a video, from top to bottom: credit, one order, waiting, the charge, the bytes, the reader. It runs inside of a call of
 * `generate_video`. If the host wants that, `VideoReattach` continues what it leaves unfinished. The order continues when the turn is cancelled meanwhile, so that its job is recorded. Nothing stops a job at the provider:
 * none has a call for that.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { inTime } from "../primitives/Deadlines.ts"
import type { Principal } from "../access/Principal.ts"
import { chargeOfCost } from "../metering/Charge.ts"
import { ModelError } from "../models/ModelError.ts"
import {
  mayHaveBeenOrdered,
  type VideoAccount,
  type VideoJob,
  type VideoModel,
  type VideoOrder
} from "../models/VideoModel.ts"
import type { ThreadId } from "../primitives/Ids.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ThreadNotFound } from "../threads/Thread.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import { HostedToolFailed, type HostedCall } from "../tools/HostedTool.ts"
import { type GeneratedMedia, shareMedia } from "./GeneratedMedia.ts"
import type { MediaRefused } from "./InspectMedia.ts"
import type { MediaStorage } from "./MediaStorage.ts"
import { nextStep, type Observation, type VideoEnd } from "./VideoJobStep.ts"
import { removeOrder, writeJob } from "./VideoJournal.ts"
import { waitLimits, type VideoSettings } from "./VideoSettings.ts"
import { wordsOfClip, wordsOfEnd, wordsOfLostClip, wordsOfRefusedOrder } from "./VideoWords.ts"

/** The services besides the turn. */
export interface VideoRoom {
  readonly storage: typeof MediaStorage.Service
  readonly threads: typeof ThreadStore.Service
  readonly settings: VideoSettings
  /** The scope of the part. An order that was begun is finished in it, also when the turn ends. */
  readonly scope: Scope.Scope
  /** Stores a follow-up with which any process continues the job if the turn does not; does nothing if the host does not want that. */
  readonly handOver: (job: OrderedJob, call: HostedCall) => Effect.Effect<void, StoreUnavailable, Principal>
}

/** A job with the time of its order. */
export interface OrderedJob {
  readonly job: VideoJob
  readonly account: VideoAccount
  readonly orderedAt: number
}

/** `price` is the expected price, if it is known. `dropped` are arguments without an effect. */
export interface VideoTask {
  readonly model: VideoModel
  readonly order: VideoOrder
  readonly price: number | null
  readonly dropped: ReadonlyArray<string>
}

export const makeVideo = Effect.fnUntraced(function* (
  room: VideoRoom,
  { dropped, model, order, price }: VideoTask,
  call: HostedCall
): Effect.fn.Return<Schema.Json, HostedToolFailed, Principal> {
  yield* Effect.mapError(room.storage.ensureRoom("video"), ({ message }) => failed(`No video was ordered. ${message}`))
  yield* askForCredit(price, call)
  // The note is for a process that dies. Every other end is charged below.
  const end = yield* call.beginCharge({ provider: order.provider, model: order.model, purpose: videoPurpose })
  return yield* Effect.ensuring(orderAndFetch(room, { dropped, model, order }, call), end([]))
})

const orderAndFetch = Effect.fnUntraced(function* (
  room: VideoRoom,
  { dropped, model, order }: Omit<VideoTask, "price">,
  call: HostedCall
): Effect.fn.Return<Schema.Json, HostedToolFailed, Principal> {
  const ordered = yield* orderOnce(room, model, order, call)
  const { end, job } = yield* awaitEnd(room, model, ordered, call).pipe(
    Effect.onInterrupt(() => Effect.sync(() => chargeUnknown(room, ordered, call)))
  )
  if (isOpen(end)) chargeUnknown(room, ordered, call)
  else if (end === "fetch" || job.costUsd !== null) charge({ ...ordered, job }, call)
  yield* journal(room, call, { ...ordered, job })
  if (end !== "fetch") return wordsOfEnd(end, job)
  const clip = yield* fetchClip(room, model, ordered, call.threadId).pipe(
    Effect.tapError((error) => Effect.sync(() => (isFinal(error) ? keepLost(job.id, call) : undefined))),
    Effect.mapError((error) => failed(wordsOfLostClip(reasonOfLostClip(error))))
  )
  shareMedia(call, clip)
  return wordsOfClip(clip, dropped)
})

const failed = (message: string) => new HostedToolFailed({ message })

// ------ credit

const askForCredit = (price: number | null, call: HostedCall) =>
  Effect.mapError(call.ensureCredit({ purpose: videoPurpose, amountUsd: price }), (error) =>
    failed(
      error._tag === "InsufficientCredit"
        ? `${error.reason ?? "There is not enough credit for a video."} None was ordered. Tell the user.`
        : "The credit could not be checked, so no video was ordered. Try again later."
    )
  )

/** The purpose of charges for videos in the ledger. */
export const videoPurpose = "video"

// ------ order

/** Runs the order in the scope of the part: a cancelled turn does not wait for it, and its job is recorded all the same. */
const orderOnce = (
  room: VideoRoom,
  model: VideoModel,
  order: VideoOrder,
  call: HostedCall
): Effect.Effect<OrderedJob, HostedToolFailed, Principal> => {
  const ordering = Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const orderedAt = yield* Clock.currentTimeMillis
      yield* noteOrder(room, call, order.model, "ordering")
      const job = yield* Effect.tapError(restore(model.submit(order)), (error) =>
        mayHaveBeenOrdered(error) ? noteOrder(room, call, order.model, "unknown") : forgetOrder(room, call)
      )
      const ordered = { job, orderedAt, account: pickAccount(order) }
      // Handed over first: an entry with the id of its job never waits without a follow-up.
      yield* room
        .handOver(ordered, call)
        .pipe(
          Effect.catchTag("StoreUnavailable", () =>
            Effect.logWarning(`Video job ${job.id} could not be handed over: only this process waits for it`)
          )
        )
      yield* journal(room, call, ordered)
      return ordered
    })
  )
  return Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkIn(ordering, room.scope, { startImmediately: true }), (fiber) =>
      restore(Fiber.join(fiber))
    )
  ).pipe(
    Effect.onInterrupt(() => Effect.sync(() => spendUnknown(order, call))),
    Effect.mapError((error) => {
      if (mayHaveBeenOrdered(error)) spendUnknown(order, call)
      return failed(wordsOfRefusedOrder(error))
    })
  )
}

/** If the process dies before the provider has answered, the thread says that there may be a video. */
const noteOrder = (
  { threads }: VideoRoom,
  { runId, threadId, toolCallId }: HostedCall,
  model: string,
  status: "ordering" | "unknown"
): Effect.Effect<void, never, Principal> =>
  writeJob(threads, threadId, {
    job_id: null,
    run_id: runId,
    model,
    status,
    tool_call_id: toolCallId,
    cost_usd: null
  }).pipe(
    Effect.catchTag("StoreUnavailable", () =>
      Effect.logWarning("An order of a video could not be written into its thread: the store is unavailable")
    )
  )

const forgetOrder = (
  { threads }: VideoRoom,
  { runId, threadId, toolCallId }: HostedCall
): Effect.Effect<void, never, Principal> =>
  removeOrder(threads, threadId, runId, toolCallId).pipe(
    Effect.catchTag("StoreUnavailable", () =>
      Effect.logWarning("The entry of an order of a video could not be removed: the store is unavailable")
    )
  )

/** The cost of an order without a job never becomes known. */
const spendUnknown = ({ model, provider }: VideoAccount, call: HostedCall): void =>
  call.spend(chargeOfCost({ provider, model, purpose: videoPurpose }, null))

const pickAccount = ({ apiKey, model, provider }: VideoAccount): VideoAccount => ({ apiKey, model, provider })

/**
 * Records a job. The video is more important than its entry: if the store stays unavailable, the job's id is logged, because it would be
 * lost otherwise.
 */
const journal = (
  { threads }: VideoRoom,
  { runId, threadId, toolCallId }: HostedCall,
  { account, job }: OrderedJob
): Effect.Effect<void, never, Principal> => {
  const entry = { job_id: job.id, run_id: runId, model: account.model, status: job.status, cost_usd: job.costUsd }
  const write = repeatWhileUnavailable(writeJob(threads, threadId, entry, toolCallId), "5 seconds")
  return Effect.catchTag(write, "StoreUnavailable", () =>
    Effect.logError(
      `Video job ${job.id} (${job.status}) could not be written into its thread: the store is unavailable`
    )
  )
}

// ------ wait

interface Ended {
  readonly end: VideoEnd | "fetch"
  readonly job: VideoJob
}

const awaitEnd = Effect.fnUntraced(function* (
  room: VideoRoom,
  model: VideoModel,
  ordered: OrderedJob,
  call: HostedCall
): Effect.fn.Return<Ended, never, Principal> {
  const limits = waitLimits(room.settings)
  let { job } = ordered
  let observation: Observation = { _tag: "Seen", job }
  while (true) {
    const age = (yield* Clock.currentTimeMillis) - ordered.orderedAt
    const step = nextStep(observation, age, limits)
    if (step._tag === "Fetch") return { end: "fetch", job }
    if (step._tag === "End") return { end: step.end, job }
    yield* Effect.sleep(step.millis)
    const seen = yield* observe(model, ordered)
    observation = seen.observation
    if (seen.job === null) continue
    const isNews = seen.job.status !== job.status
    job = seen.job
    // The end of a job is recorded with its cost, below.
    if (isNews && (job.status === "pending" || job.status === "in_progress")) {
      yield* journal(room, call, { ...ordered, job })
    }
  }
})

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

// ------ cost

/** The job may continue at the provider, and its cost may stay unknown to this turn. */
const isOpen = (end: Ended["end"]): boolean => end === "timed_out" || end === "unknown" || end === "unseen"

/** The jobs that this part has charged in the turn, so that a process that continues one does not charge it again. */
const Billed = Schema.Struct({ billed: Schema.Array(Schema.String) })
const decodeBilled = Schema.decodeUnknownOption(Billed)

/** The jobs whose file will not be accepted however often it is fetched. */
const Lost = Schema.Struct({ lost: Schema.Array(Schema.String) })
const decodeLost = Schema.decodeUnknownOption(Lost)

export const lostIn = (kept: Schema.Json | null | undefined): ReadonlyArray<string> =>
  Option.match(decodeLost(kept), { onNone: () => [], onSome: ({ lost }) => lost })

const keepLost = (jobId: string, call: HostedCall): void => {
  const kept = call.kept()
  call.keep(Object.assign({}, isObject(kept) ? kept : {}, { lost: [...lostIn(kept), jobId] }))
}

export const billedIn = (kept: Schema.Json | null | undefined): ReadonlyArray<string> =>
  Option.match(decodeBilled(kept), { onNone: () => [], onSome: ({ billed }) => billed })

const isObject = Schema.is(Schema.JsonObject)

/** The note is written before the charge: if the log ends between the two, a charge is missing, but none is counted twice. */
const charge = ({ account, job }: OrderedJob, call: HostedCall): void => {
  const kept = call.kept()
  call.keep(Object.assign({}, isObject(kept) ? kept : {}, { billed: [...billedIn(kept), job.id] }))
  call.spend(chargeOfCost({ provider: account.provider, model: account.model, purpose: videoPurpose }, job.costUsd))
}

/** The cost is not known here. If jobs are continued after their turn, the process that does so learns it. */
const chargeUnknown = ({ settings }: VideoRoom, ordered: OrderedJob, call: HostedCall): void => {
  if (!settings.reattach) charge({ ...ordered, job: { ...ordered.job, costUsd: null } }, call)
}

// ------ bytes

export type ClipError = ModelError | MediaRefused | ThreadNotFound | StoreUnavailable

/** Whether the same file would be refused again. */
const isFinal = (error: ClipError): boolean =>
  error._tag === "MediaRefused" || (error._tag === "ModelError" && error.reason === "model_not_found")

/** A 404 of a file does not mean that the model is unknown. */
export const reasonOfLostClip = (error: ClipError): string =>
  error._tag === "ModelError" && error.reason === "model_not_found"
    ? "The provider has no file for this video, or not any more."
    : error.message

/** Stores the video as a document of the thread. Reading is safe to repeat; nothing of a failed attempt is left. */
export const fetchClip = (
  { settings, storage }: Pick<VideoRoom, "settings" | "storage">,
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
