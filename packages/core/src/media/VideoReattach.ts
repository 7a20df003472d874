/**
 * Continues jobs whose turn ended before them, because its process died or it was cancelled. Off unless `VideoSettings.reattach` is set. It
 * is a follow-up, stored with the job and claimed by any process; while the turn lives it does nothing. Each attempt is one status request
 * to the provider. The video becomes a document of the thread, and its cost is charged separately, because the turn is over.
 *
 * Nothing is done twice: the answer lists the jobs that the turn has charged, the charge has the follow-up's own id, and the video's
 * document contains the id of its job.
 *
 * A job of a voice session has no run that shows whether the session still waits for it. It is continued when no session can wait any more.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { DocumentStore } from "../documents/DocumentStore.ts"
import { chargeOutside } from "../metering/ChargeOutside.ts"
import { chargeOfCost } from "../metering/Charge.ts"
import { Metering } from "../metering/Metering.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { Providers } from "../models/Provider.ts"
import type { VideoJob } from "../models/VideoModel.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { type AssistantId, ChargeId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import { type FollowUp, type NewFollowUp, newFollowUp } from "../runs/FollowUp.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import type { Run } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { readSupplement } from "../threads/Supplement.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import type { HostedCall } from "../tools/HostedTool.ts"
import { MediaStorage } from "./MediaStorage.ts"
import { billedIn, lostIn, videoPurpose } from "./VideoBilling.ts"
import { callTime, fetchClip, observe, type OrderedJob, reasonOfLostClip } from "./VideoClip.ts"
import { nextStep } from "./VideoJobStep.ts"
import { type VideoJobEntry, videoJobsIn, writeJob } from "./VideoJournal.ts"
import { waitLimits, VideoSettings } from "./VideoSettings.ts"

const reattachKind = "media.video"

const Work = Schema.Struct({
  jobId: Schema.String,
  threadId: ThreadId,
  runId: RunId,
  answerId: MessageId,
  /** The call whose entry becomes that of the job, if its process died before. */
  toolCallId: Schema.optionalKey(Schema.String),
  provider: Schema.String,
  model: Schema.String,
  orderedAt: Schema.Finite
})
type Work = typeof Work.Type

/** The interval of the check whether the turn still lives and handles its jobs itself. */
const pauseWhileTurnLives = 15_000

export const reattachOrder = (
  { account, job, orderedAt }: OrderedJob,
  { answerId, runId, threadId, toolCallId }: HostedCall
): Effect.Effect<NewFollowUp> => {
  const payload: Work = {
    jobId: job.id,
    threadId,
    runId,
    answerId,
    toolCallId,
    provider: account.provider,
    model: account.model,
    orderedAt
  }
  const key = `${account.provider} ${job.id}`
  return newFollowUp({ kind: reattachKind, key, payload, delayMillis: pauseWhileTurnLives })
}

export const makeReattachWorker = Effect.gen(function* () {
  const { all: providers } = yield* Providers
  const documents = yield* DocumentStore
  const keys = yield* ProviderKeys
  const runs = yield* RunStore
  const settings = yield* VideoSettings
  const storage = yield* MediaStorage
  const threads = yield* ThreadStore
  const account = { ledger: yield* UsageLedger, metering: yield* Metering }

  const isStored = Effect.fnUntraced(function* ({ jobId, threadId }: Work) {
    const limit = 200
    for (let skip = 0; ; skip += limit) {
      const page = yield* documents.list({ threadId }, { skip, limit })
      if (page.some(({ metadata }) => metadata?.["job_id"] === jobId)) return true
      if (page.length < limit) return false
    }
  })

  /** What the turn kept with its answer. The messages of a voice session have ids of their own. */
  const readKeptJobs = Effect.fnUntraced(function* ({ answerId, runId, threadId }: Work, inSession: boolean) {
    const answers = inSession
      ? yield* threads.messages([threadId])
      : (yield* runs.messages(runId)).filter(({ id }) => id === answerId)
    return answers.map((answer) => readSupplement(answer, videoPurpose)?.value)
  })

  /** Null: neither a run nor a session waits for the job any more. Otherwise the time for which one may still wait. */
  const remainingWait = Effect.fnUntraced(function* (work: Work, run: Option.Option<Run>) {
    if (Option.isSome(run)) {
      const { status } = run.value
      return status === "IN_PROGRESS" || status === "QUEUED" ? pauseWhileTurnLives : null
    }
    const left = work.orderedAt + Duration.toMillis(callTime(settings)) - (yield* Clock.currentTimeMillis)
    return left > 0 ? left : null
  })

  const note = (
    { jobId, model, runId, threadId, toolCallId }: Work,
    { costUsd, status }: Pick<VideoJob, "costUsd" | "status">
  ) => writeJob(threads, threadId, { job_id: jobId, run_id: runId, model, status, cost_usd: costUsd }, toolCallId)

  /** Charged with the id of the follow-up, so that a repetition adds nothing. */
  const bill = (
    { model, provider, runId }: Work,
    followUp: FollowUp,
    assistantId: AssistantId,
    costUsd: number | null
  ) =>
    chargeOutside(
      account,
      { runId, assistantId },
      [chargeOfCost({ provider, model, purpose: videoPurpose }, costUsd)],
      ChargeId.make(followUp.id)
    )

  const continueJob = Effect.fnUntraced(function* (
    work: Work,
    followUp: FollowUp,
    assistantId: AssistantId,
    { billed, stored }: { readonly billed: boolean; readonly stored: boolean }
  ) {
    const model = providers.find(({ id }) => id === work.provider)?.video
    if (model === undefined) return yield* giveUp("The provider of this video is not registered any more.")
    const ordered: OrderedJob = {
      job: { id: work.jobId, status: "pending", costUsd: null, problem: null, retryAfterMillis: null },
      account: { provider: work.provider, model: work.model, apiKey: yield* keys.find(work.provider) },
      orderedAt: work.orderedAt
    }
    const { job, observation } = yield* observe(model, ordered)
    const step = nextStep(observation, (yield* Clock.currentTimeMillis) - work.orderedAt, waitLimits(settings))
    if (step._tag === "Wait") return yield* later("The video is not ready.", step.millis)
    if (job !== null) yield* note(work, job)
    const isOver = step._tag === "Fetch" || step.end === "failed" || step.end === "cancelled" || step.end === "expired"
    if (!billed && (!isOver || step._tag === "Fetch" || job?.costUsd != null)) {
      yield* bill(work, followUp, assistantId, job?.costUsd ?? null)
    }
    if (step._tag === "End" || stored) return
    yield* fetchClip({ settings, storage }, model, ordered, work.threadId).pipe(
      Effect.asVoid,
      Effect.catchTags({
        ThreadNotFound: () => Effect.void,
        MediaRefused: ({ message }) => giveUp(message),
        ModelError: (error) =>
          Effect.fail(new FollowUpFailed({ message: reasonOfLostClip(error), isRetryable: error.isRetryable }))
      })
    )
  })

  const worker = typedWorker({
    // No record waits: the follow-up is stored before the entry of its job, which has no id until then.
    kind: reattachKind,
    payload: Work,
    run: Effect.fnUntraced(function* (
      work: Work,
      followUp: FollowUp
    ): Effect.fn.Return<void, FollowUpFailed | StoreUnavailable, Principal> {
      const run = yield* runs.get(work.runId)
      const thread = yield* threads.get(work.threadId)
      if (Option.isNone(thread)) return
      const pause = yield* remainingWait(work, run)
      if (pause !== null) return yield* later("Its turn is still running.", pause)
      const entry = videoJobsIn(thread.value.metadata).find(({ job_id }) => job_id === work.jobId)
      const kept = yield* readKeptJobs(work, Option.isNone(run))
      const billed = kept.some((value) => billedIn(value).includes(work.jobId))
      if (billed && kept.some((value) => lostIn(value).includes(work.jobId))) return
      const stored = entry?.status === "completed" ? yield* isStored(work) : false
      if (billed && (stored || hasNoFile(entry?.status))) return
      yield* continueJob(work, followUp, thread.value.assistantId, { billed, stored })
    })
  })
  return worker
})

const hasNoFile = (status: VideoJobEntry["status"] | undefined): boolean =>
  status === "failed" || status === "cancelled" || status === "expired"

/** Not counted as an attempt, because the follow-up only waits. */
const later = (message: string, pauseMillis: number) =>
  Effect.fail(new FollowUpFailed({ message, isRetryable: true, isOutage: true, pauseMillis }))

const giveUp = (message: string) => Effect.fail(new FollowUpFailed({ message, isRetryable: false }))
