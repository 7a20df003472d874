/**
 * Port: what an owner sees of all runs, without their threads: lists of summaries, and the changes of their states since an earlier look.
 * Changes are recorded only while a client follows them, so that the turns of other owners store nothing more.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Run, RunStatus } from "./Run.ts"

/** The most characters of an answer that a summary shows. */
export const longestPreview = 200

/** A run without what only the kernel reads of it, and with the beginning of its newest answer. */
export interface RunSummary extends Pick<
  Run,
  | "assistantId"
  | "assistantVersion"
  | "createdAt"
  | "endedAt"
  | "fault"
  | "firstTokenAt"
  | "id"
  | "model"
  | "modelCalls"
  | "parentRunId"
  | "provider"
  | "scheduleId"
  | "startedAt"
  | "status"
  | "threadId"
  | "usage"
> {
  /** The first characters of the newest answer that is stored; null: there is none, or it has no text. */
  readonly contentPreview: string | null
}

/** Where a run stands among all runs of its owner. */
export interface RunPosition {
  readonly createdAt: Date
  readonly id: RunId
}

/** Which runs to list. */
export interface InboxFilter {
  readonly status?: RunStatus
  readonly assistantId?: AssistantId
  readonly threadId?: ThreadId
  /** Runs that were created at this time or later. */
  readonly since?: Date
}

/** Which runs to list, how many, and after which. */
export interface InboxPage extends InboxFilter {
  readonly limit: number
  /** The last run of the page before. */
  readonly after?: RunPosition
}

/** `mark` rises with each recorded change of the owner. */
export interface RunChange {
  readonly mark: number
  readonly run: RunSummary
}

export class InboxStore extends Context.Service<
  InboxStore,
  {
    /** MUST return the principal's runs that fit the filter, newest first by creation and then by id, at most `limit`, from `after` on. */
    readonly list: (page: InboxPage) => Effect.Effect<ReadonlyArray<RunSummary>, StoreUnavailable, Principal>

    /** MUST return the principal's run as `list` does; null: the principal has none. */
    readonly summary: (runId: RunId) => Effect.Effect<RunSummary | null, StoreUnavailable, Principal>

    /**
     * From now on and for this time, every new run of the principal and every change of a run's state MUST be recorded in the transaction
     * that makes it. MUST return the newest mark of the records that are there when it is called, also of one that it deletes; 0 if there is
     * none. A repeat prolongs the time and never shortens it. Records that are older than `kept` MUST be deleted.
     */
    readonly follow: (
      time: Duration.Duration,
      kept: Duration.Duration
    ) => Effect.Effect<number, StoreUnavailable, Principal>

    /**
     * MUST return the records of the principal with a mark above `after` that are not older than `kept`, in the order of their marks, with
     * the runs as they are now. It reads at most `limit` records; of several of one run it returns only the newest. Records of runs that are
     * gone are left out. No record MUST appear later with a mark below one that was returned.
     */
    readonly changes: (
      after: number,
      kept: Duration.Duration,
      limit: number
    ) => Effect.Effect<ReadonlyArray<RunChange>, StoreUnavailable, Principal>
  }
>()("@colloquy/core/runs/InboxStore") {}
