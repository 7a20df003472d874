/**
 * The use cases of turns as a service. `Turns` (the module) implements them. A package that only names the service, such as the HTTP API,
 * does not import that code.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import type { AssistantNotFound, AssistantVersionUnknown } from "../assistants/Assistant.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { OverLimit } from "../metering/Quota.ts"
import type { NameTooLong } from "../models/NameTooLong.ts"
import type { ModelNotNamed, ProviderNotFound } from "../models/Provider.ts"
import type { RunId, ThreadId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ContextTooLong } from "../prompts/ContextTooLong.ts"
import type { Explanation } from "../prompts/Explanation.ts"
import type { Run, RunNotFound } from "../runs/Run.ts"
import type { ThreadInSession, ThreadNotFound } from "../threads/Thread.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import type { RunPage } from "../runs/Run.ts"
import type { InsteadError } from "./Instead.ts"
import type { StartedTurn } from "./StartedTurn.ts"
import type { DecideError } from "./Decisions.ts"
import type { WaitingCall } from "./WaitingCalls.ts"
import type { SubmitError } from "./ToolOutputs.ts"
import type {
  EmptyMessage,
  FirstAnswerGone,
  ShuttingDown,
  ThreadBusy,
  ToolNameTaken,
  TurnRefused
} from "./TurnErrors.ts"
import type { IdempotencyConflict } from "../runs/AnsweredBefore.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import type { IgnoredOption } from "./IgnoredOption.ts"
import type { RepeatError } from "./Repeats.ts"
import type { TurnReply } from "./TurnReply.ts"
import type { DecisionsRequest, ReadMode, ToolOutputsRequest, TurnRequest } from "./TurnRequest.ts"

/** Everything with which the beginning of a turn can fail. */
export type StartError =
  | AssistantNotFound
  | AssistantVersionUnknown
  | ThreadNotFound
  | ThreadBusy
  | ThreadInSession
  | InsteadError
  | EmptyMessage
  | NameTooLong
  | ToolNameTaken
  | ContextTooLong
  | ProviderNotFound
  | ModelNotNamed
  | InsufficientCredit
  | OverLimit
  | FirstAnswerGone
  | IdempotencyConflict
  | TurnRefused
  | ShuttingDown
  | StoreUnavailable

/** Information on a run besides its record. */
export interface RunReport {
  readonly run: Run
  /** Null: the run is older than versions. */
  readonly assistantVersion: number | null
  /** The usage of the run without that of the runs which its tools began; `run.usage` is all of it. */
  readonly ownUsage: Usage
  readonly ignored: ReadonlyArray<IgnoredOption>
  /** Null until the leg is settled. */
  readonly explanation: Explanation | null
}

export interface RunList {
  readonly runs: ReadonlyArray<RunReport>
  /** `RunPage.after` of the next page; null: there is none. */
  readonly next: number | null
}

/** Messages and their answers: begin, follow, continue, cancel. */
export class Turns extends Context.Service<
  Turns,
  {
    /** Begins a turn. When this succeeds, the user's message and the run are stored; when it fails, nothing is. */
    readonly start: (request: TurnRequest) => Effect.Effect<StartedTurn, StartError, Principal>
    /** The turn that this key began, if there is one. For a caller that creates something for a turn before the turn begins. */
    readonly repeated: (
      key: IdempotencyKey,
      readMode?: ReadMode
    ) => Effect.Effect<Option.Option<StartedTurn>, RepeatError, Principal>
    /** Begins a turn and waits for its reply. */
    readonly send: (request: TurnRequest) => Effect.Effect<TurnReply, StartError, Principal>
    /** Answers the client's calls of a run that waits. The run goes on when no call is open; otherwise the turn says which are. */
    readonly submitToolOutputs: (request: ToolOutputsRequest) => Effect.Effect<StartedTurn, SubmitError, Principal>
    /**
     * Decides about calls that wait for an approval. The first decision stands: the same once more gets the turn as it is now, another one is
     * refused with `AlreadyDecided`, also when the run has ended.
     */
    readonly decide: (request: DecisionsRequest) => Effect.Effect<StartedTurn, DecideError, Principal>
    /** The principal's calls that wait for an approval, on all threads, those of the newest runs first. */
    readonly approvals: (page: Page) => Effect.Effect<ReadonlyArray<WaitingCall>, StoreUnavailable, Principal>
    /** Ends a run; the text so far is kept. Idempotent: an ended run stays as it is. */
    readonly cancel: (threadId: ThreadId, runId: RunId) => Effect.Effect<Run, RunNotFound | StoreUnavailable, Principal>
    /** The events of a run after a sequence number, up to the next terminal event. Works in every process. */
    readonly follow: (
      threadId: ThreadId,
      runId: RunId,
      after: number
    ) => Effect.Effect<Stream.Stream<TurnEvent, StoreUnavailable>, RunNotFound | StoreUnavailable, Principal>
    readonly report: (
      threadId: ThreadId,
      runId: RunId
    ) => Effect.Effect<RunReport, RunNotFound | StoreUnavailable, Principal>
    /** The runs of a thread, newest first; those that wait for their turn come before all others. */
    readonly list: (
      threadId: ThreadId,
      page: RunPage
    ) => Effect.Effect<RunList, ThreadNotFound | StoreUnavailable, Principal>
    /** Refuses new turns from now on and waits for the running ones, at most for `drainTimeout`. */
    readonly drain: Effect.Effect<void>
  }
>()("@colloquy/core/turns/Turns") {}
