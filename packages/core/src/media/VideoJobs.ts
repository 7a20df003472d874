/**
 * Makes a video, from top to bottom: credit, one order, waiting, the charge, the bytes, the reader. It runs inside a call of
 * `generate_video`. If the host wants that, `VideoReattach` continues what it leaves unfinished. The order continues when the turn is
 * cancelled meanwhile, so that its job is recorded. Nothing stops a job at the provider: none has a call for that.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { chargeOfCost } from "../metering/Charge.ts"
import {
  mayHaveBeenOrdered,
  type VideoAccount,
  type VideoJob,
  type VideoModel,
  type VideoOrder
} from "../models/VideoModel.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { HostedToolFailed, type HostedCall } from "../tools/HostedTool.ts"
import type { Restore } from "../turns/Places.ts"
import { shareMedia } from "./GeneratedMedia.ts"
import { MediaStorage } from "./MediaStorage.ts"
import { charge, keepLost, videoPurpose } from "./VideoBilling.ts"
import { fetchClip, isFinal, observe, type OrderedJob, reasonOfLostClip } from "./VideoClip.ts"
import { nextStep, type Observation, type VideoEnd } from "./VideoJobStep.ts"
import { removeOrder, writeJob } from "./VideoJournal.ts"
import { reattachOrder } from "./VideoReattach.ts"
import { VideoSettings, waitLimits } from "./VideoSettings.ts"
import { wordsOfClip, wordsOfEnd, wordsOfLostClip, wordsOfRefusedOrder } from "./VideoWords.ts"

/** `price` is the expected price, if it is known. `dropped` are arguments without an effect. */
interface VideoTask {
  readonly model: VideoModel
  readonly order: VideoOrder
  readonly price: number | null
  readonly dropped: ReadonlyArray<string>
}

interface Ended {
  readonly end: VideoEnd | "fetch"
  readonly job: VideoJob
}

export class VideoJobs extends Context.Service<
  VideoJobs,
  {
    /** The answer of the tool. */
    readonly make: (task: VideoTask, call: HostedCall) => Effect.Effect<Schema.Json, HostedToolFailed, Principal>
  }
>()("@colloquy/core/media/VideoJobs") {
  static readonly layer: Layer.Layer<VideoJobs, never, FollowUps | MediaStorage | ThreadStore> = Layer.effect(
    VideoJobs,
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const settings = yield* VideoSettings
      const storage = yield* MediaStorage
      const threads = yield* ThreadStore
      // An order that was begun is finished in this scope, also when the turn ends.
      const scope = yield* Effect.scope

      const make = Effect.fnUntraced(function* ({ dropped, model, order, price }: VideoTask, call: HostedCall) {
        yield* Effect.mapError(storage.ensureRoom("video"), ({ message }) => failed(`No video was ordered. ${message}`))
        yield* askForCredit(price, call)
        // The note is for a process that dies. Every other end is charged below.
        const end = yield* call.beginCharge({ provider: order.provider, model: order.model, purpose: videoPurpose })
        return yield* Effect.ensuring(orderAndFetch({ dropped, model, order }, call), end([]))
      })

      const orderAndFetch = Effect.fnUntraced(function* (
        { dropped, model, order }: Omit<VideoTask, "price">,
        call: HostedCall
      ) {
        const ordered = yield* orderOnce(model, order, call)
        const { end, job } = yield* awaitEnd(model, ordered, call).pipe(
          Effect.onInterrupt(() => Effect.sync(() => chargeUnknown(ordered, call)))
        )
        if (isOpen(end)) chargeUnknown(ordered, call)
        else if (end === "fetch" || job.costUsd !== null) charge({ ...ordered, job }, call)
        yield* journal(call, { ...ordered, job })
        if (end !== "fetch") return wordsOfEnd(end, job)
        const clip = yield* fetchClip({ settings, storage }, model, ordered, call.threadId).pipe(
          Effect.tapError((error) => Effect.sync(() => (isFinal(error) ? keepLost(job.id, call) : undefined))),
          Effect.mapError((error) => failed(wordsOfLostClip(reasonOfLostClip(error))))
        )
        shareMedia(call, clip)
        return wordsOfClip(clip, dropped)
      })

      // ------ order

      const submit = Effect.fnUntraced(function* (
        model: VideoModel,
        order: VideoOrder,
        call: HostedCall,
        restore: Restore
      ) {
        const orderedAt = yield* Clock.currentTimeMillis
        yield* noteOrder(call, order.model, "ordering")
        const job = yield* Effect.tapError(restore(model.submit(order)), (error) =>
          mayHaveBeenOrdered(error) ? noteOrder(call, order.model, "unknown") : forgetOrder(call)
        )
        const ordered = { job, orderedAt, account: pickAccount(order) }
        // Handed over first: an entry with the id of its job never waits without a follow-up.
        yield* handOver(ordered, call)
        yield* journal(call, ordered)
        return ordered
      })

      /** Runs the order in the scope of the part: a cancelled turn does not wait for it, and its job is recorded all the same. */
      const orderOnce = (
        model: VideoModel,
        order: VideoOrder,
        call: HostedCall
      ): Effect.Effect<OrderedJob, HostedToolFailed, Principal> => {
        const ordering = Effect.uninterruptibleMask((restore) => submit(model, order, call, restore))
        return Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(Effect.forkIn(ordering, scope, { startImmediately: true }), (fiber) =>
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

      /** Stores a follow-up with which any process continues the job if the turn does not; nothing if the host does not want that. */
      const handOver = (ordered: OrderedJob, call: HostedCall): Effect.Effect<void, never, Principal> =>
        settings.reattach
          ? Effect.flatMap(reattachOrder(ordered, call), (order) => followUps.add([order])).pipe(
              Effect.catchTag("StoreUnavailable", () =>
                Effect.logWarning(
                  `Video job ${ordered.job.id} could not be handed over: only this process waits for it`
                )
              )
            )
          : Effect.void

      /** If the process dies before the provider has answered, the thread says that there may be a video. */
      const noteOrder = (
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

      const forgetOrder = ({ runId, threadId, toolCallId }: HostedCall): Effect.Effect<void, never, Principal> =>
        removeOrder(threads, threadId, runId, toolCallId).pipe(
          Effect.catchTag("StoreUnavailable", () =>
            Effect.logWarning("The entry of an order of a video could not be removed: the store is unavailable")
          )
        )

      /**
       * Records a job. The video is more important than its entry: if the store stays unavailable, the job's id is logged, because it would
       * be lost otherwise.
       */
      const journal = (
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

      const awaitEnd = Effect.fnUntraced(function* (
        model: VideoModel,
        ordered: OrderedJob,
        call: HostedCall
      ): Effect.fn.Return<Ended, never, Principal> {
        const limits = waitLimits(settings)
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
          // The end of a job is recorded with its cost, above.
          if (isNews && (job.status === "pending" || job.status === "in_progress"))
            yield* journal(call, { ...ordered, job })
        }
      })

      /** The cost is not known here. If jobs are continued after their turn, the process that does so learns it. */
      const chargeUnknown = (ordered: OrderedJob, call: HostedCall): void => {
        if (!settings.reattach) charge({ ...ordered, job: { ...ordered.job, costUsd: null } }, call)
      }

      return { make }
    })
  )
}

const failed = (message: string) => new HostedToolFailed({ message })

const askForCredit = (price: number | null, call: HostedCall) =>
  Effect.mapError(call.ensureCredit({ purpose: videoPurpose, amountUsd: price }), (error) =>
    failed(
      error._tag === "InsufficientCredit"
        ? `${error.reason ?? "There is not enough credit for a video."} None was ordered. Tell the user.`
        : "The credit could not be checked, so no video was ordered. Try again later."
    )
  )

/** The cost of an order without a job never becomes known. */
const spendUnknown = ({ model, provider }: VideoAccount, call: HostedCall): void =>
  call.spend(chargeOfCost({ provider, model, purpose: videoPurpose }, null))

const pickAccount = ({ apiKey, model, provider }: VideoAccount): VideoAccount => ({ apiKey, model, provider })

/** The job may continue at the provider, and its cost may stay unknown to this turn. */
const isOpen = (end: Ended["end"]): boolean => end === "timed_out" || end === "unknown" || end === "unseen"
