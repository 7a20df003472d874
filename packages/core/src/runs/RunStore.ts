/**
 * Port: runs, their logs, and the messages that they write. This is where a conversation is protected: who may write a thread, what is
 * committed together, and what happens when a process dies.
 *
 * Words used below:
 * - *Active*: QUEUED or IN_PROGRESS. A thread has at most one run IN_PROGRESS; the QUEUED ones wait in order of arrival.
 * - *Lease*: the right to write an active run. It has a fencing token, and it expires unless renewed, by the store's own clock. Every
 *   write names its lease; a write with an older token MUST change nothing and answer "lost".
 * - Each operation is one atomic step: it is seen whole or not at all, and operations on one thread are seen in one order.
 * - A run, thread or message of another owner MUST be treated like one that does not exist.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { Charge } from "../metering/Charge.ts"
import type { MessageId, OwnerId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { History, Message, NewMessage } from "../threads/Message.ts"
import type { ToolResult } from "../tools/ToolCall.ts"
import type { NewFollowUp } from "./FollowUp.ts"
import type { Run, RunFault, RunStatus } from "./Run.ts"

/** An entry of a run's log. For the store it is JSON with a number: it MUST come back equal, in order of `sequence`. */
export interface LogEvent {
  readonly _tag: string
  readonly sequence: number
}

/** The right to write one run. */
export interface Lease {
  readonly runId: RunId
  readonly threadId: ThreadId
  readonly ownerId: OwnerId
  readonly token: number
}

/** What comes next in the log of one run. Of one run there is at most one among those that are appended together. */
export interface LogBatch {
  readonly lease: Lease
  readonly events: ReadonlyArray<LogEvent>
}

/** What was not written. */
export interface Appended {
  readonly lost: ReadonlyArray<RunId>
  /** Another caller is changing these at the moment: try again. */
  readonly later: ReadonlyArray<RunId>
}

/** A caller's name for one request, so that a repeat finds the first one. `fingerprint` stands for the body. */
export interface IdempotencyKey {
  readonly key: string
  readonly fingerprint: string
}

/** What an idempotency key was used for: a run, and the first event of the leg that it started. */
export interface Repeated {
  readonly _tag: "Repeated"
  readonly runId: RunId
  readonly legStart: number
  readonly fingerprint: string
}

export interface NewRun {
  readonly id: RunId
  readonly threadId: ThreadId
  readonly answerId: MessageId
  readonly stream: boolean
  readonly provider: string
  readonly model: string
  readonly plan: Schema.Json
  readonly createdAt: Date
}

export interface Begin {
  readonly run: NewRun
  /** The user's message. It gets its place in the thread when the run becomes IN_PROGRESS. */
  readonly message: NewMessage
  /** The first entries of the log, from sequence 1. They are stored when the run becomes IN_PROGRESS. */
  readonly events: ReadonlyArray<LogEvent>
  /** What happens while another run of the thread is active. */
  readonly mode: "enqueue" | "reject"
  /** Only keep the message: instead of starting, the run is COMPLETED in the same step. It takes its turn like every other. */
  readonly saves: boolean
  /** How many runs may wait on one thread. */
  readonly maxQueued: number
  readonly lease: Duration.Duration
  /** How much history to give back with `Started`. */
  readonly historyTokens: number
  readonly idempotency: IdempotencyKey | null
  /**
   * What the turn was decided on: the `revision` that `AssistantStore.ofThread` gave at some time. Null: it was read just now. When the thread
   * has another one, MUST store nothing and answer Outdated.
   */
  readonly decidedOn: string | null
  /** Of a run that only saves: stored when it is COMPLETED here, as by `FollowUpStore.add`; of every other one MUST be empty. */
  readonly followUps: ReadonlyArray<NewFollowUp>
}

export type Started = {
  readonly _tag: "Started"
  readonly lease: Lease
  /** Holds every message of the run, the user's included. */
  readonly history: History
}

export type BeginOutcome =
  | Started
  | { readonly _tag: "Saved" }
  /** The run is stored and waits; call `activate` when something changed on the thread. */
  | { readonly _tag: "Queued"; readonly lease: Lease }
  /** Another run is active, or too many wait. Nothing was stored. `expired`: its holder is gone, settle it and try again. */
  | { readonly _tag: "Busy"; readonly runId: RunId; readonly expired: boolean }
  /** A voice session writes the thread. Nothing was stored. */
  | { readonly _tag: "InSession" }
  /** Nothing was stored. */
  | { readonly _tag: "ThreadMissing" }
  /** The thread, its assistant or whether they have documents is not as `decidedOn` says. Nothing was stored. */
  | { readonly _tag: "Outdated" }
  /** The key was used within the last 24 hours, or this run was begun before and its first lease is gone. Nothing was stored. */
  | Repeated

export type ActivateOutcome =
  | Started
  | { readonly _tag: "Saved" }
  /** Not its turn yet. `runId` is the run in the way; `expired` says that its holder is gone. */
  | { readonly _tag: "Waiting"; readonly runId: RunId; readonly expired: boolean }
  | { readonly _tag: "Lost" }

export interface Continue {
  readonly runId: RunId
  /** The message whose calls are answered. */
  readonly messageId: MessageId
  readonly results: ReadonlyArray<ToolResult>
  /** What the results add to the message's size. */
  readonly tokens: number
  readonly answerId: MessageId
  readonly stream: boolean
  readonly plan: Schema.Json
  /** The first entries of the new leg, from `lastSequence + 1`. */
  readonly events: ReadonlyArray<LogEvent>
  readonly lease: Duration.Duration
  readonly historyTokens: number
  readonly idempotency: IdempotencyKey | null
}

export type ContinueOutcome =
  | Started
  /** The run does not wait for outputs (any more). Nothing was changed. */
  | { readonly _tag: "NotOpen" }
  | Repeated

export interface Settlement {
  readonly status: Exclude<RunStatus, "QUEUED" | "IN_PROGRESS">
  /** The rest of the log, the terminal event last. */
  readonly events: ReadonlyArray<LogEvent>
  /** The answer of this leg. */
  readonly answer: NewMessage
  /** Of this leg; the store adds it to the run's. */
  readonly usage: Usage
  /** What this leg cost, one entry for each thing; the store adds them to the ledger. */
  readonly charges: ReadonlyArray<Charge>
  /** What must happen after this leg: stored as by `FollowUpStore.add`, in this order. */
  readonly followUps: ReadonlyArray<NewFollowUp>
  readonly model: string
  readonly fault: RunFault | null
  readonly explanation: Schema.Json
}

/** Whether a settlement was stored; "deleted" when only its charges were. */
export type Settled = boolean | "deleted"

/** A hint that a run changed: new log entries, another state, or a wish to cancel. */
export interface RunSignal {
  readonly runId: RunId
  readonly threadId: ThreadId
  readonly cancel: boolean
}

export class RunStore extends Context.Service<
  RunStore,
  {
    /**
     * Starts a run on a thread.
     *
     * - A run of the thread in REQUIRES_ACTION is superseded: it and its open message become CANCELLED, in the same step.
     * - While another run is active, `enqueue` answers Queued (Busy when `maxQueued` wait already), and `reject` answers Busy.
     * - MUST give concurrent callers of one idempotency key one run, and the others Repeated.
     * - A caller who does not know what became of a begin repeats it with the same run id. Such a repeat MUST store nothing again and MUST
     *   answer what the first one answered: Saved, Queued, or Started, with the same lease, prolonged. When that lease was lost meanwhile,
     *   or the run has ended, it answers Repeated with this run, and the fingerprint of the begin (without a key an empty one).
     */
    readonly begin: (begin: Begin) => Effect.Effect<BeginOutcome, StoreUnavailable, Principal>

    /** What an idempotency key of the principal stands for, while it is younger than 24 hours. */
    readonly findRepeated: (key: string) => Effect.Effect<Option.Option<Repeated>, StoreUnavailable, Principal>

    /**
     * Moves a QUEUED run to IN_PROGRESS when nothing is in its way: no run IN_PROGRESS, none queued before it. Supersedes like `begin`.
     * A repeat under the same lease, while the run is IN_PROGRESS, MUST answer Started again, prolong the lease and store nothing.
     *
     * With `save` the run only keeps its message: it moves to COMPLETED instead, the follow-ups are stored with it, and the answer is Saved;
     * Saved again to a repeat under the same lease.
     */
    readonly activate: (
      lease: Lease,
      duration: Duration.Duration,
      historyTokens: number,
      save?: Pick<Begin, "followUps">
    ) => Effect.Effect<ActivateOutcome, StoreUnavailable, Principal>

    /** Removes a QUEUED run without a trace, its idempotency key too; false when it is not QUEUED under this lease any more. */
    readonly withdraw: (lease: Lease) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /**
     * Stores tool results and starts the next leg. MUST let one of several concurrent callers win and answer NotOpen (or Repeated) to the
     * others. The answered message becomes COMPLETED.
     *
     * A repeat with the same `answerId` is the same caller's, who does not know what became of it: while the leg goes on under the lease
     * that the first one gave, it MUST answer Started with that lease, prolonged, and store nothing; when that lease was lost meanwhile, or
     * the leg has ended, Repeated with this leg, and the fingerprint of the continue (without a key an empty one).
     */
    readonly continue: (next: Continue) => Effect.Effect<ContinueOutcome, StoreUnavailable, Principal>

    /**
     * Appends to the logs of many runs, of whatever owners: they prove their right by the token. Each run is a step of its own; one that
     * is lost, or that another caller is changing, MUST NOT keep the others from being written. An event whose sequence is not above
     * the last stored one is there already and MUST be skipped: a caller repeats an append of which it does not know the outcome.
     */
    readonly append: (batches: ReadonlyArray<LogBatch>) => Effect.Effect<Appended, StoreUnavailable>

    /**
     * Ends the leg: log, answer message, state, usage, charges, follow-ups and lease in one step; false when the lease is lost. A run that is still QUEUED
     * gets its user message stored first. Repeated events are skipped as in `append`, and repeating a settlement that was stored, under the
     * same lease, MUST answer true and change nothing.
     *
     * When the run was deleted while it was active and under this lease, it answers "deleted": nothing is stored but the charges, which MUST
     * be added to the ledger once, however often this is repeated. What was used is paid for, whatever was deleted. Repeats may come within
     * a day of the deletion.
     */
    readonly settle: (lease: Lease, settlement: Settlement) => Effect.Effect<Settled, StoreUnavailable, Principal>

    /** Prolongs leases, of whatever owners: they prove their right by the token. */
    readonly renew: (
      leases: ReadonlyArray<Lease>,
      duration: Duration.Duration
    ) => Effect.Effect<
      { readonly lost: ReadonlyArray<RunId>; readonly cancelRequested: ReadonlyArray<RunId> },
      StoreUnavailable
    >

    /** Active runs whose lease has expired, of all owners: the work list of the sweep. */
    readonly expired: (
      limit: number
    ) => Effect.Effect<ReadonlyArray<{ readonly runId: RunId; readonly ownerId: OwnerId }>, StoreUnavailable>

    /**
     * Takes an active run over from its holder, who loses the lease. With `onlyExpired`, only when the lease has expired. Of concurrent
     * callers with `onlyExpired` one wins. None when the run is not active (or not expired).
     */
    readonly takeOver: (
      runId: RunId,
      duration: Duration.Duration,
      options: { readonly onlyExpired: boolean }
    ) => Effect.Effect<Option.Option<{ readonly lease: Lease; readonly run: Run }>, StoreUnavailable, Principal>

    /**
     * Notes the wish to cancel and gives the state found. A run in REQUIRES_ACTION becomes CANCELLED here, its open message too; an active
     * one is ended by its holder, who is told by `onChange` and by `renew`. Ended runs stay as they are.
     */
    readonly requestCancel: (
      runId: RunId,
      at: Date
    ) => Effect.Effect<Option.Option<RunStatus>, StoreUnavailable, Principal>

    readonly get: (runId: RunId) => Effect.Effect<Option.Option<Run>, StoreUnavailable, Principal>

    /** The thread's run in REQUIRES_ACTION. There is at most one. */
    readonly waitingOn: (threadId: ThreadId) => Effect.Effect<Option.Option<Run>, StoreUnavailable, Principal>

    /** The messages of one run, the user's first. */
    readonly messages: (runId: RunId) => Effect.Effect<ReadonlyArray<Message>, StoreUnavailable, Principal>

    /** Log entries with a sequence above `after`, in order; all of them up to about a thousand. */
    readonly read: (runId: RunId, after: number) => Effect.Effect<ReadonlyArray<LogEvent>, StoreUnavailable, Principal>

    /**
     * Calls `hear` for changes made anywhere, from now on until the scope closes. A store without notifications never does; hints may be
     * lost or repeated, so the kernel also polls. A function, because every turn of a process gives some, and mostly no fiber waits for them.
     */
    readonly onChange: (hear: (signal: RunSignal) => void) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@colloquy/core/runs/RunStore") {}
