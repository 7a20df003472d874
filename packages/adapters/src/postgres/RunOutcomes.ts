/** What the functions that start runs answer: the outcome and, for a run that has started, its history; in more than one row when that is long. */
import type { OwnerId, RunId, ThreadId } from "@colloquy/core"
import type { Lease, Repeated, Started } from "@colloquy/core/adapters"
import { decodeMessages, type MessagesRow } from "./MessageRecord.ts"
import { functionName } from "./schema/FunctionNames.ts"
import { fromText } from "./StoredText.ts"

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

/** Without a history when nothing has started. */
export interface StartedRow extends OutcomeRow, MessagesRow {
  readonly tokens_before: bigint
  /** Of the thread. */
  readonly revision: number
}

/** The function is called once; the history is read behind it in the same round trip, and sees what it wrote. */
export const withHistory = (schema: string, functionCall: string, owner: string, budget: string): string =>
  `select o.outcome, o.run_id as outcome_run, o.token, o.expired, o.leg_start, o.fingerprint, h.revision, h.tokens_before, h.messages
   from ${functionCall} o
   left join lateral ${schema}.${functionName("history_texts")}(${owner}, case when o.outcome = 'Started' then o.run_id end, ${budget}) h on true
   order by h.part`

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

/** The first message's place says how much was left out. */
export const decodeStarted = (rows: ReadonlyArray<StartedRow>, row: StartedRow, ownerId: OwnerId): Started => {
  const messages = decodeMessages(rows)
  const [first] = messages
  if (first === undefined) throw new Error("A run has started without a message.")
  return {
    _tag: "Started",
    lease: decodeLease(row, first.threadId, ownerId),
    history: { messages, older: { messages: first.sequence - 1, tokens: Number(row.tokens_before) } }
  }
}

/** An answer that the schema's functions cannot give. */
export const unexpected = (operation: string, outcome: string | undefined): Error =>
  new Error(`${operation}: the database answered ${outcome ?? "nothing"}. Its functions are not those of this version.`)
