/**
 * Decodes the results of the functions that start runs: the outcome and, for a run that has started, its history. A long history comes in
 * several rows, each with the same outcome.
 */
import type { OwnerId, RunId, ThreadId } from "@colloquy/core"
import type { Amount, Lease, LimitName, RefusedByLimit, Repeated, Started } from "@colloquy/core/adapters"
import { decodeMessages, type MessagesRow } from "./MessageRecord.ts"
import { functionName } from "./schema/FunctionNames.ts"
import { fromJson, fromText } from "./StoredText.ts"

export interface OutcomeRow {
  readonly outcome:
    | "Started"
    | "StartedAsKnown"
    | "Saved"
    | "Queued"
    | "Busy"
    | "InSession"
    | "ThreadMissing"
    | "Outdated"
    | "Changed"
    | "OverLimit"
    | "Repeated"
    | "Waiting"
    | "Lost"
    | "Stored"
    | "NotOpen"
  readonly outcome_run: RunId
  readonly token: bigint
  readonly expired: boolean
  readonly leg_start: number
  /**
   * For `Repeated`, the fingerprint of the first request. For other outcomes, JSON: the amount that was granted of the owner's limits, or
   * the reason for a refusal; null for an owner without limits.
   */
  readonly fingerprint: string | null
}

/** The columns after the outcome are null when no run has started. */
export interface StartedRow extends OutcomeRow, MessagesRow {
  readonly tokens_before: bigint
  /** The revision of the thread. */
  readonly revision: number
}

/**
 * One statement that calls the function once and then reads the history, which includes what the function has written. The rows keep the order
 * in which the history function gives them: a sort costs a turn as much as a look-up, also of one row. "offset 0" keeps the two parts apart, so
 * that the history function is not called at all when there is no history to read.
 */
export const withHistory = (schema: string, functionCall: string, owner: string, budget: string): string =>
  `select (o.r).outcome, (o.r).run_id as outcome_run, (o.r).token, (o.r).expired, (o.r).leg_start, (o.r).fingerprint,
     h.revision, h.tokens_before, h.messages
   from (select ${functionCall} as r offset 0) o
   left join lateral (
     select * from ${schema}.${functionName("history_texts")}(${owner}, (o.r).run_id, ${budget}) where (o.r).outcome = 'Started' offset 0
   ) h on true`

export const decodeLease = (
  { outcome_run: runId, token }: OutcomeRow,
  threadId: ThreadId,
  ownerId: OwnerId
): Lease => ({
  runId,
  threadId,
  ownerId,
  token: Number(token)
})

export const decodeRepeated = (row: Pick<OutcomeRow, "outcome_run" | "leg_start" | "fingerprint">): Repeated => ({
  _tag: "Repeated",
  runId: row.outcome_run,
  legStart: row.leg_start,
  fingerprint: fromText(row.fingerprint ?? "")
})

type Granted =
  | { readonly tokens: number; readonly usd: number }
  | { readonly limit: LimitName; readonly left: number; readonly wait: number | null }

/** The result of `admit_run` or `reserve_more`. */
export const decodeGranted = (granted: string): Amount | RefusedByLimit => {
  const answer = fromJson<Granted>(granted)
  if (!("limit" in answer)) return answer
  const { left, limit, wait } = answer
  return { _tag: "OverLimit", refusal: { limit, left, waitMillis: wait } }
}

export const decodeReserved = (granted: string | null): Amount | null => {
  const answer = granted === null ? null : decodeGranted(granted)
  return answer === null || "_tag" in answer ? null : answer
}

/** The sequence of the first message tells how many older messages were left out. */
export const decodeStarted = (rows: ReadonlyArray<StartedRow>, row: StartedRow, ownerId: OwnerId): Started => {
  const messages = decodeMessages(rows)
  const [first] = messages
  if (first === undefined) throw new Error("A run has started without a message.")
  return {
    _tag: "Started",
    lease: decodeLease(row, first.threadId, ownerId),
    reserved: decodeReserved(row.fingerprint),
    history: { messages, older: { messages: first.sequence - 1, tokens: Number(row.tokens_before) } }
  }
}

/** For an outcome that this version's functions never return. */
export const unexpected = (operation: string, outcome: string | undefined): Error =>
  new Error(
    `${operation}: the database returned ${outcome ?? "nothing"}, which the functions of this version never do. Run \`Postgres.migrate\` with this version.`
  )
