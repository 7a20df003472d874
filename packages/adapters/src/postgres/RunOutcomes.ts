/** What the functions that start runs answer: one row with the outcome, or, for a run that has started, one row for each message of its history. */
import type { History, Lease, OwnerId, Repeated, RunId, Started, ThreadId } from "@colloquy/core"
import { decodeMessage, messageColumns, type MessageRow } from "./MessageRecord.ts"
import { fromText } from "./StoredText.ts"

export interface OutcomeRow {
  readonly outcome:
    | "Started"
    | "Saved"
    | "Queued"
    | "Busy"
    | "ThreadMissing"
    | "Repeated"
    | "Waiting"
    | "Lost"
    | "NotOpen"
  readonly outcome_run: RunId
  readonly token: bigint
  readonly expired: boolean
  readonly leg_start: number
  readonly fingerprint: string
}

export interface StartedRow extends OutcomeRow, MessageRow {
  readonly tokens_before: bigint
}

/** The function is called once; the history is read behind it in the same round trip, and sees what it wrote. */
export const withHistory = (schema: string, functionCall: string, owner: string, budget: string): string =>
  `select o.outcome, o.run_id as outcome_run, o.token, o.expired, o.leg_start, o.fingerprint, m.tokens_before, ${messageColumns}
   from ${functionCall} o
   left join lateral ${schema}.history(${owner}, case when o.outcome = 'Started' then o.run_id end, ${budget}) m on true
   order by m.sequence`

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
  fingerprint: fromText(row.fingerprint)
})

export const decodeStarted = (rows: ReadonlyArray<StartedRow>, first: StartedRow, ownerId: OwnerId): Started => ({
  _tag: "Started",
  lease: decodeLease(first, first.thread_id, ownerId),
  history: decodeHistory(rows, first)
})

/** The first message's place says how much was left out. */
const decodeHistory = (rows: ReadonlyArray<StartedRow>, first: StartedRow): History => ({
  messages: rows.map(decodeMessage),
  older: { messages: first.sequence - 1, tokens: Number(first.tokens_before) }
})

/** An answer that the schema's functions cannot give. */
export const unexpected = (operation: string, outcome: string | undefined): Error =>
  new Error(`${operation}: the database answered ${outcome ?? "nothing"}. Its functions are not those of this version.`)
