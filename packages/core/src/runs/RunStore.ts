/**
 * Port: runs, their logs, and the messages that they write. It protects a conversation: it decides which process may write a thread, which
 * writes are committed together, and what happens when a process dies.
 *
 * Terms:
 * - *Active*: QUEUED or IN_PROGRESS. A thread has at most one run IN_PROGRESS; the QUEUED ones wait in order of arrival.
 * - *Lease*: the right to write an active run. It has a fencing token, and it expires unless it is renewed, by the store's own clock, or
 *   sooner where the store knows that the process which holds it is dead. Every
 *   write names its lease; a write with an older token MUST change nothing and return "lost".
 * - Each operation is atomic: readers see all of it or nothing, and all operations on one thread have one order.
 * - A run, thread or message of another owner MUST be treated as if it did not exist.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { AdmissionRequest, Amount, BudgetRequest } from "../metering/Budget.ts"
import type { Charge } from "../metering/Charge.ts"
import type { RefusedByLimit } from "../metering/Quota.ts"
import type { MessageId, OwnerId, RunId, ScheduleId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { History, Message, NewMessage, RunFault } from "../threads/Message.ts"
import type { ToolResult } from "../tools/ToolCall.ts"
import type { Branches, TakeBack } from "./Branches.ts"
import type { NewFollowUp } from "./FollowUp.ts"
import type { FoundRepeat, IdempotencyKey, Repeated } from "./Idempotency.ts"
import type { Appended, Lease, LogBatch, LogEvent, RunSignal } from "./LogRecords.ts"
import type { ListedRuns, Run, RunPage, RunStatus } from "./Run.ts"

/** What a store writes when a message begins its run: the ids, the model, the plan, and who may write it. */
export interface NewRun {
  readonly id: RunId
  readonly threadId: ThreadId
  readonly answerId: MessageId
  readonly stream: boolean
  readonly provider: string
  readonly model: string
  readonly plan: Schema.Json
  readonly assistantVersion: number | null
  /** The schedule that sent the message; null: none did. */
  readonly scheduleId: ScheduleId | null
  /** The run whose helper this one is; null: it is no helper's. */
  readonly parentRunId: RunId | null
  readonly createdAt: Date
}

/** A message and its run, to be stored in one step. */
export interface Begin {
  readonly run: NewRun
  /** The user's message. It gets its sequence in the thread when the run becomes IN_PROGRESS. */
  readonly message: NewMessage
  /**
   * The first entries of the log, from sequence 1. The last one tells that the run begins. While the run waits, `read` MUST give the entries
   * before the last one; the last one MUST be read from the beginning of the run on, and never of a run that ended before.
   */
  readonly events: ReadonlyArray<LogEvent>
  /** What happens while another run of the thread is active. */
  readonly mode: "enqueue" | "reject"
  /**
   * True: the message is only stored. The run does not start; it becomes COMPLETED in the same step. It waits for its turn like every other
   * run.
   */
  readonly saves: boolean
  /** How many runs may wait on one thread. */
  readonly maxQueued: number
  readonly lease: Duration.Duration
  /** How many tokens of history to return with `Started`. */
  readonly historyTokens: number
  readonly idempotency: IdempotencyKey | null
  /**
   * The `revision` from `AssistantStore.ofThread` with which the turn was decided, read at some earlier time. Null: it was read just now.
   * When the thread has another revision, the store MUST store nothing and return Outdated.
   */
  readonly decidedOn: string | null
  /**
   * Follow-ups of a run that only saves: stored when the run becomes COMPLETED, as by `FollowUpStore.add`. The caller leaves the list empty
   * for every other run.
   */
  readonly followUps: ReadonlyArray<NewFollowUp>
  /** What the owner's quota permits and what the turn needs of it; null: nothing is limited. The caller gives null for a run that only saves. */
  readonly admission: AdmissionRequest | null
  /** The thread MUST be rewound in the same step, as by `rewindThread`. The run begins at once or not at all: `mode` is "reject". */
  readonly takesBack?: TakeBack
}

/** The run is active: its lease, and the history that it reads. */
export type Started = {
  readonly _tag: "Started"
  readonly lease: Lease
  /** Contains every message of the run, the user's included. */
  readonly history: History
  /** What the run has reserved. Null without `admission`, and when a queued run is activated: its reservation came with `Queued`. */
  readonly reserved: Amount | null
}

/** Whether the run begins now, waits, or is refused. */
export type BeginOutcome =
  | Started
  | { readonly _tag: "Saved" }
  /** The run is stored and waits. Call `activate` when something changed on the thread. */
  | { readonly _tag: "Queued"; readonly lease: Lease; readonly reserved: Amount | null }
  /**
   * Another run is active, or too many wait. Nothing was stored. `expired`: the lease of the active run has expired; settle that run and
   * try again.
   */
  | { readonly _tag: "Busy"; readonly runId: RunId; readonly expired: boolean }
  /** A voice session writes the thread. Nothing was stored. */
  | { readonly _tag: "InSession" }
  /** Nothing was stored. */
  | { readonly _tag: "ThreadMissing" }
  /** The thread, its assistant or the presence of documents differs from `decidedOn`. Nothing was stored. */
  | { readonly _tag: "Outdated" }
  /** With `takesBack`: the newest message of the thread is another one. Nothing was stored. */
  | { readonly _tag: "Changed" }
  /** A limit of `admission` refuses the run. Nothing was stored, and nothing was counted. */
  | RefusedByLimit
  /** The key was used within the last 24 hours, or this run was begun before and its first lease is lost. Nothing was stored. */
  | Repeated

/** What became of a run that was its thread's next. */
export type ActivateOutcome =
  | Started
  | { readonly _tag: "Saved" }
  /** It is not yet the run's turn. `runId` is the run that blocks it; `expired` means that the lease of that run has expired. */
  | { readonly _tag: "Waiting"; readonly runId: RunId; readonly expired: boolean }
  | { readonly _tag: "Lost" }

/** Answers to calls of a run that waits. */
export interface CallAnswers {
  readonly runId: RunId
  /** The message whose calls are answered. */
  readonly messageId: MessageId
  /** How many results the message had when the caller looked at it. */
  readonly answered: number
  /** All results of the message: those that the caller found, and the new ones. */
  readonly results: ReadonlyArray<ToolResult>
  /** What the new results add to the message's size. */
  readonly tokens: number
  readonly plan: Schema.Json
  readonly idempotency: IdempotencyKey | null
}

/** Whether results of tools were stored. */
export type CallAnswersOutcome =
  | { readonly _tag: "Stored" }
  /** The run does not wait with this message, or the message has another number of results. Nothing was changed. */
  | { readonly _tag: "NotOpen" }
  | Repeated

/** Results of tools, with which a waiting run goes on. */
export interface Continue extends CallAnswers {
  readonly answerId: MessageId
  readonly stream: boolean
  /** The first entries of the new leg, from `lastSequence + 1`. */
  readonly events: ReadonlyArray<LogEvent>
  readonly lease: Duration.Duration
  readonly historyTokens: number
  /** As in `Begin`. A run that waits for answers has nothing reserved. */
  readonly admission: AdmissionRequest | null
}

/** Whether the run goes on, or why not. */
export type ContinueOutcome =
  | Started
  /** A limit refuses the leg. Nothing was changed; the run waits on. */
  | RefusedByLimit
  | Exclude<CallAnswersOutcome, { readonly _tag: "Stored" }>

/** What became of calls that were approved before a leg: all results of their message, and by how much it grows. */
export type ApprovedResults = Pick<CallAnswers, "results" | "tokens">

/** Everything that is written when a leg ends. */
export interface Settlement {
  readonly status: Exclude<RunStatus, "QUEUED" | "IN_PROGRESS">
  /** The rest of the log, with the terminal event last. */
  readonly events: ReadonlyArray<LogEvent>
  /** The answer of this leg. */
  readonly answer: NewMessage
  /** The usage of this leg; the store adds it to the usage of the run. */
  readonly usage: Usage
  /** Of this leg; the store adds them to those of the run. */
  readonly modelCalls: number
  /** The run keeps that of the first leg that has one. */
  readonly firstTokenAt: Date | null
  /** The costs of this leg, one entry for each; the store adds them to the ledger. */
  readonly charges: ReadonlyArray<Charge>
  /** Replaces the results of the run's message before this answer. Null: the leg began without approved calls. */
  readonly approved: ApprovedResults | null
  /** Work that must happen after this leg: stored as by `FollowUpStore.add`, in this order. */
  readonly followUps: ReadonlyArray<NewFollowUp>
  readonly model: string
  readonly fault: RunFault | null
  readonly explanation: Schema.Json
}

/** Whether a settlement was stored; "deleted" when only its charges were. */
export type Settled = boolean | "deleted"

export class RunStore extends Context.Service<
  RunStore,
  Branches & {
    /**
     * Starts a run on a thread.
     *
     * - A run of the thread in REQUIRES_ACTION is superseded: it and its open message become CANCELLED, in the same step.
     * - While another run is active, `enqueue` returns Queued (Busy when `maxQueued` runs wait already), and `reject` returns Busy.
     * - Of concurrent callers with one idempotency key, one MUST begin its run, and the others MUST get Repeated.
     * - A caller that does not know the result of a begin repeats it with the same run id. Such a repeat MUST store nothing again and MUST
     *   return what the first one returned: Saved, Queued, or Started with the same lease, prolonged. When that lease was lost meanwhile,
     *   or the run has ended, the repeat returns Repeated with this run and the fingerprint of the begin (an empty one without a key).
     */
    readonly begin: (begin: Begin) => Effect.Effect<BeginOutcome, StoreUnavailable, Principal>

    /**
     * MUST find the request that used an idempotency key of the principal within the last 24 hours, with its thread, also when the run has
     * been deleted since.
     */
    readonly findRepeated: (key: string) => Effect.Effect<Option.Option<FoundRepeat>, StoreUnavailable, Principal>

    /**
     * Moves a QUEUED run to IN_PROGRESS when nothing blocks it: no run is IN_PROGRESS and no run was queued before it. Supersedes like
     * `begin`. A repeat under the same lease, while the run is IN_PROGRESS, MUST return Started again, prolong the lease and store nothing.
     *
     * With `save` the run only stores its message: it becomes COMPLETED instead, the follow-ups are stored with it, and the result is
     * Saved. A repeat under the same lease returns Saved again.
     */
    readonly activate: (
      lease: Lease,
      duration: Duration.Duration,
      historyTokens: number,
      save?: Pick<Begin, "followUps">
    ) => Effect.Effect<ActivateOutcome, StoreUnavailable, Principal>

    /** Removes all records of a QUEUED run, its idempotency key included. False when the run is no longer QUEUED under this lease. */
    readonly withdraw: (lease: Lease) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /**
     * Stores answers to some calls of a run in REQUIRES_ACTION, which waits on. Of concurrent callers, here and in `continue`, one MUST
     * succeed, and the others MUST get NotOpen or Repeated. A repeat with equal results MUST return Stored again and change nothing.
     */
    readonly answer: (answers: CallAnswers) => Effect.Effect<CallAnswersOutcome, StoreUnavailable, Principal>

    /**
     * Stores the answers to the last open calls and starts the next leg. Of concurrent callers one MUST succeed, and the others MUST get
     * NotOpen or Repeated. The message whose calls are answered becomes COMPLETED.
     *
     * A repeat with the same `answerId` comes from the same caller, which does not know the result of its first call. While the leg goes on
     * under the lease that the first call returned, the repeat MUST return Started with that lease, prolonged, and store nothing. When that
     * lease was lost meanwhile, or the leg has ended, it MUST return Repeated with this leg and the fingerprint of the first call (an empty
     * one without a key).
     */
    readonly continue: (next: Continue) => Effect.Effect<ContinueOutcome, StoreUnavailable, Principal>

    /**
     * Appends to the logs of many runs, of any owners: the token of the lease proves the right. Each run is a separate step: a run that is
     * lost, or that another caller is changing, MUST NOT prevent the writes of the others. An event whose sequence is not above the last
     * stored one is stored already and MUST be skipped, because a caller repeats an append whose result it does not know.
     */
    readonly append: (batches: ReadonlyArray<LogBatch>) => Effect.Effect<Appended, StoreUnavailable>

    /**
     * Ends the leg: log, answer message, results of approved calls, state, usage, charges, follow-ups and lease in one step; false when the lease is lost. A run that
     * is still QUEUED gets its user message stored first. Repeated events are skipped as in `append`. A repeat of a stored settlement,
     * under the same lease, MUST return true and change nothing.
     *
     * When the run was deleted while it was active and under this lease, the result is "deleted": nothing is stored but the charges, which
     * MUST be added to the ledger once, even if the call is repeated. Usage is paid for even when its run is deleted. Repeats may come
     * within a day of the deletion.
     */
    readonly settle: (lease: Lease, settlement: Settlement) => Effect.Effect<Settled, StoreUnavailable, Principal>

    /**
     * Reserves more of the day's budget for a run that was begun with `admission`: MUST grant and refuse as `begin` does, and release it
     * with the rest. None when the lease is lost.
     */
    readonly reserve: (
      lease: Lease,
      request: BudgetRequest
    ) => Effect.Effect<Option.Option<Amount | RefusedByLimit>, StoreUnavailable, Principal>

    /** Prolongs leases, of any owners: the token of the lease proves the right. */
    readonly renew: (
      leases: ReadonlyArray<Lease>,
      duration: Duration.Duration
    ) => Effect.Effect<
      { readonly lost: ReadonlyArray<RunId>; readonly cancelRequested: ReadonlyArray<RunId> },
      StoreUnavailable
    >

    /** Active runs of all owners whose lease has expired: the work list of the recovery. */
    readonly expired: (
      limit: number
    ) => Effect.Effect<ReadonlyArray<{ readonly runId: RunId; readonly ownerId: OwnerId }>, StoreUnavailable>

    /**
     * Takes an active run over from its holder, which loses the lease. With `onlyExpired`, only if the lease has expired. Of concurrent
     * callers with `onlyExpired` one succeeds. None when the run is not active (or not expired).
     */
    readonly takeOver: (
      runId: RunId,
      duration: Duration.Duration,
      options: { readonly onlyExpired: boolean }
    ) => Effect.Effect<Option.Option<{ readonly lease: Lease; readonly run: Run }>, StoreUnavailable, Principal>

    /**
     * Stores the request to cancel and returns the state that was found. A run in REQUIRES_ACTION becomes CANCELLED here, and its open
     * message too. An active run is ended by its holder, which learns of the request through `onChange` and `renew`. Ended runs stay as
     * they are.
     */
    readonly requestCancel: (
      runId: RunId,
      at: Date
    ) => Effect.Effect<Option.Option<RunStatus>, StoreUnavailable, Principal>

    readonly get: (runId: RunId) => Effect.Effect<Option.Option<Run>, StoreUnavailable, Principal>

    /**
     * The runs of a thread, newest first: the QUEUED ones against their order of arrival, then the others against the order of their
     * messages. Runs that only saved a message are among them. A caller goes on with the `next` of the page before; null: there are no
     * more. While nothing changes, pages MUST NOT repeat a run or leave one out.
     */
    readonly list: (threadId: ThreadId, page: RunPage) => Effect.Effect<ListedRuns, StoreUnavailable, Principal>

    /** The principal's runs in REQUIRES_ACTION, on all threads, the newest first. While nothing changes, pages MUST NOT repeat one or leave one out. */
    readonly waiting: (page: Omit<RunPage, "status">) => Effect.Effect<ListedRuns, StoreUnavailable, Principal>

    /** The thread's run in REQUIRES_ACTION. There is at most one. */
    readonly waitingOn: (threadId: ThreadId) => Effect.Effect<Option.Option<Run>, StoreUnavailable, Principal>

    /** The messages of one run, the user's first. */
    readonly messages: (runId: RunId) => Effect.Effect<ReadonlyArray<Message>, StoreUnavailable, Principal>

    /** Log entries with a sequence above `after`, in order: all of them, up to about a thousand. */
    readonly read: (runId: RunId, after: number) => Effect.Effect<ReadonlyArray<LogEvent>, StoreUnavailable, Principal>

    /**
     * Calls the callback for changes made in any process, from now on until the scope closes. A store without notifications never calls it.
     * Signals may be lost or repeated, so the kernel also polls. A callback instead of a stream, because every turn causes some signals and
     * usually no fiber waits for them.
     */
    readonly onChange: (callback: (signal: RunSignal) => void) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@colloquy/core/runs/RunStore") {}
