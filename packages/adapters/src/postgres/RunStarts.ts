/**
 * The methods of `RunStore` that put a run in progress (`begin`, `activate`, `continue`), store answers to its calls, withdraw a queued run,
 * or find a repeated request.
 * Each sends one statement; those that write call one function of the schema, which locks the thread first.
 */
import { type OwnerId, Principal, type ThreadId } from "@colloquy/core"
import {
  type AdmissionRequest,
  callerNow,
  type CallAnswers,
  type Begin,
  type BudgetRequest,
  type Continue,
  type RefusedByLimit,
  type RunStore,
  type Started
} from "@colloquy/core/adapters"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  allArguments,
  type Arguments,
  callWithLockTimeout,
  type Database,
  givenArguments,
  type SentArguments,
  statements
} from "./Database.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import type { KnownHistories, KnownHistory } from "./KnownHistories.ts"
import { logArguments } from "./LogBatches.ts"
import { turnMessageArguments } from "./MessageRecord.ts"
import {
  decodeGranted,
  decodeLease,
  decodeRepeated,
  decodeReserved,
  decodeStarted,
  type OutcomeRow,
  type StartedRow,
  unexpected,
  withHistory
} from "./RunOutcomes.ts"
import { fillKept } from "./PostgresBranches.ts"
import type { Presence } from "./Presence.ts"
import type { RunHints } from "./RunHints.ts"
import { storedCount } from "./schema/SchemaPart.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { toKey, toText } from "./StoredText.ts"

/** Outcomes without a run, of which no hint is sent. */
const storesNothing: ReadonlySet<OutcomeRow["outcome"]> = new Set([
  "Busy",
  "Changed",
  "InSession",
  "Outdated",
  "OverLimit"
])

/** The row's outcome is `OverLimit`. */
const readRefusal = ({ fingerprint }: OutcomeRow): RefusedByLimit => {
  const refused = decodeGranted(fingerprint ?? "{}")
  if ("_tag" in refused) return refused
  throw unexpected("RunStore.begin", "OverLimit without a limit")
}

type Starts = Pick<typeof RunStore.Service, "begin" | "findRepeated" | "activate" | "withdraw" | "answer" | "continue">

export const runStarts = (
  database: Database,
  { echo }: RunHints,
  histories: KnownHistories,
  { holder }: Presence
): Starts => {
  const { brief, lockingWrite, schema } = database
  const keptStatement = statements()

  const start = (operation: string, name: string, { names, values }: SentArguments, historyTokens: number) => {
    const statement = keptStatement(name, names, () =>
      withHistory(schema, callWithLockTimeout(database, name, names, 1), "$1", `$${names.length + 1}`)
    )
    return lockingWrite<StartedRow>(operation, statement, [...values, wholeTokens(historyTokens)])
  }

  const started = (
    rows: ReadonlyArray<StartedRow>,
    row: StartedRow,
    ownerId: OwnerId,
    historyTokens: number
  ): Started => {
    const answer = decodeStarted(rows, row, ownerId)
    const size = rows.reduce((sum, { messages }) => sum + messages.length, 0)
    histories.addRead(ownerId, answer.lease.runId, answer.history, historyTokens, row.revision, size)
    return answer
  }

  return {
    begin: Effect.fnUntraced(function* (begin) {
      const { now, principal } = yield* callerNow
      const { ownerId } = principal
      const { historyTokens, message, run, takesBack } = begin
      const known = takesBack === undefined ? histories.find(ownerId, run.threadId, historyTokens) : undefined
      if (takesBack !== undefined) yield* fillKept(database, ownerId, run.threadId, takesBack)
      const question = turnMessageArguments(message, "user")
      const args = [...beginArguments(begin, question, ownerId, new Date(now), known), { holder: holder() }]
      const rows = yield* start("RunStore.begin", "begin_run", givenArguments(args), historyTokens)
      const row = rows[0]
      if (row !== undefined && !storesNothing.has(row.outcome)) yield* echo(run.id, run.threadId, false)
      switch (row?.outcome) {
        case "Started":
          return started(rows, row, ownerId, historyTokens)
        case "StartedAsKnown": {
          if (known === undefined) return yield* Effect.die(unexpected("RunStore.begin", row.outcome))
          const history = histories.addBegun(ownerId, known, historyTokens, message, question.message_body.length)
          const reserved = decodeReserved(row.fingerprint)
          return { _tag: "Started", lease: decodeLease(row, run.threadId, ownerId), history, reserved }
        }
        case "Queued":
          return {
            _tag: row.outcome,
            lease: decodeLease(row, run.threadId, ownerId),
            reserved: decodeReserved(row.fingerprint)
          }
        case "OverLimit":
          return readRefusal(row)
        case "Busy":
          return { _tag: row.outcome, runId: row.outcome_run, expired: row.expired }
        case "Saved":
        case "InSession":
        case "ThreadMissing":
        case "Outdated":
        case "Changed":
          return { _tag: row.outcome }
        case "Repeated":
          return decodeRepeated(row)
        default:
          return yield* Effect.die(unexpected("RunStore.begin", row?.outcome))
      }
    }),

    findRepeated: (key) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          brief<
            Pick<OutcomeRow, "outcome_run" | "leg_start" | "fingerprint"> & { readonly thread_id: ThreadId | null }
          >(
            "RunStore.findRepeated",
            `select run_id as outcome_run, thread_id, leg_start, fingerprint from ${schema}.idempotency_keys
             where owner = $1 and key = $2 and created_at > clock_timestamp() - interval '24 hours'`,
            [toText(ownerId), toKey(key)]
          ),
          ([row]) =>
            Option.map(Option.fromNullishOr(row), (found) => ({ ...decodeRepeated(found), threadId: found.thread_id }))
        )
      ),

    activate: Effect.fnUntraced(function* (lease, duration, historyTokens, save) {
      const { ownerId } = yield* Principal
      const at = new Date(yield* Clock.currentTimeMillis)
      const args = {
        owner: toText(ownerId),
        run: knownId(lease.runId),
        token: lease.token,
        lease: Duration.toMillis(duration),
        saves: save !== undefined,
        follow_ups: followUpsArgument(save?.followUps ?? []),
        at
      }
      const rows = yield* start("RunStore.activate", "activate_run", allArguments(args), historyTokens)
      const row = rows[0]
      switch (row?.outcome) {
        case "Started":
          yield* echo(lease.runId, lease.threadId, false)
          return started(rows, row, ownerId, historyTokens)
        case "Saved":
          yield* echo(lease.runId, lease.threadId, false)
          return { _tag: row.outcome }
        case "Waiting":
          return { _tag: row.outcome, runId: row.outcome_run, expired: row.expired }
        case "Lost":
          return { _tag: row.outcome }
        default:
          return yield* Effect.die(unexpected("RunStore.activate", row?.outcome))
      }
    }),

    withdraw: (lease) =>
      Principal.use(({ ownerId }) => {
        const { names, values } = allArguments({
          owner: toText(ownerId),
          run: knownId(lease.runId),
          token: lease.token
        })
        return lockingWrite<{ readonly withdrawn: boolean }>(
          "RunStore.withdraw",
          `select ${callWithLockTimeout(database, "withdraw_run", names)} as withdrawn`,
          values
        ).pipe(
          Effect.map(([row]) => row?.withdrawn === true),
          Effect.tap((withdrawn) => (withdrawn ? echo(lease.runId, lease.threadId, false) : Effect.void))
        )
      }),

    answer: Effect.fnUntraced(function* (answers) {
      const { ownerId } = yield* Principal
      const { names, values } = allArguments(answersArguments(answers, ownerId))
      const [row] = yield* lockingWrite<OutcomeRow>(
        "RunStore.answer",
        `select outcome, run_id as outcome_run, leg_start, fingerprint from ${callWithLockTimeout(database, "answer_some", names)}`,
        values
      )
      switch (row?.outcome) {
        case "Stored":
        case "NotOpen":
          return { _tag: row.outcome }
        case "Repeated":
          return decodeRepeated(row)
        default:
          return yield* Effect.die(unexpected("RunStore.answer", row?.outcome))
      }
    }),

    continue: Effect.fnUntraced(function* (next) {
      const { ownerId } = yield* Principal
      const rows = yield* start(
        "RunStore.continue",
        "continue_run",
        allArguments({ ...continueArguments(next, ownerId), holder: holder() }),
        next.historyTokens
      )
      const row = rows[0]
      switch (row?.outcome) {
        case "Started": {
          const answer = started(rows, row, ownerId, next.historyTokens)
          yield* echo(next.runId, answer.lease.threadId, false)
          return answer
        }
        case "NotOpen":
          return { _tag: row.outcome }
        case "OverLimit":
          return readRefusal(row)
        case "Repeated":
          return decodeRepeated(row)
        default:
          return yield* Effect.die(unexpected("RunStore.continue", row?.outcome))
      }
    })
  }
}

const beginArguments = (
  {
    admission,
    decidedOn,
    events,
    followUps,
    historyTokens,
    idempotency,
    lease,
    maxQueued,
    mode,
    run,
    saves,
    takesBack
  }: Begin,
  question: Arguments,
  ownerId: OwnerId,
  at: Date,
  known: KnownHistory | undefined
): ReadonlyArray<Arguments> => [
  {
    owner: toText(ownerId),
    run: newRowId(run.id),
    thread: knownId(run.threadId),
    answer: newRowId(run.answerId),
    provider: toText(run.provider),
    model: toText(run.model),
    plan: JSON.stringify(run.plan),
    assistant_version: run.assistantVersion,
    schedule: run.scheduleId === null ? null : newRowId(run.scheduleId),
    parent: run.parentRunId === null ? null : knownId(run.parentRunId),
    created_at: run.createdAt
  },
  question,
  logArguments(events),
  {
    stream: run.stream || null,
    mode: mode === "enqueue" ? null : mode,
    saves: saves || null,
    max_queued: storedCount(maxQueued),
    lease: Duration.toMillis(lease)
  },
  keyArguments(idempotency),
  {
    at,
    follow_ups: followUpsArgument(followUps),
    decided_on: decidedOn,
    known_last: known?.lastId ?? null,
    known_revision: known?.revision ?? null
  },
  admissionArguments(admission, historyTokens),
  {
    newest: takesBack?.newest ?? null,
    keeps: takesBack?.keeps ?? null,
    kept_as: takesBack?.keptAs ?? null
  }
]

/** The JSON argument of the schema's functions `admit_run` and `reserve_more`. */
export const limitsArgument = (request: BudgetRequest | AdmissionRequest): string => {
  const { assumedPrices, day, least, ofAssistant, restOfDay, tokensPerDay, usdPerDay, wanted } = request
  const admission = "turnsAtOnce" in request ? request : null
  return JSON.stringify({
    turns_per_minute: admission?.turnsPerMinute ?? null,
    turns_at_once: admission?.turnsAtOnce ?? null,
    usd_per_token: admission?.usdPerToken ?? null,
    tokens_per_day: tokensPerDay,
    usd_per_day: usdPerDay,
    least_tokens: least.tokens,
    least_usd: least.usd,
    wanted_tokens: Math.ceil(wanted.tokens),
    wanted_usd: wanted.usd,
    assistant: ofAssistant && knownId(ofAssistant.id),
    tokens_of_assistant: ofAssistant?.tokensPerDay ?? null,
    usd_of_assistant: ofAssistant?.usdPerDay ?? null,
    input_price: assumedPrices.inputCostPerMillionTokens,
    output_price: assumedPrices.outputCostPerMillionTokens,
    embedding_price: assumedPrices.embeddingCostPerMillionTokens,
    day,
    rest_of_day: restOfDay
  })
}

const admissionArguments = (admission: AdmissionRequest | null, historyTokens: number) => ({
  admission: admission === null ? null : limitsArgument(admission),
  history: wholeTokens(historyTokens)
})

const answersArguments = (
  { answered, idempotency, messageId, plan, results, runId, tokens }: CallAnswers,
  ownerId: OwnerId
) => ({
  owner: toText(ownerId),
  run: knownId(runId),
  message: knownId(messageId),
  answered,
  results: JSON.stringify(results),
  tokens,
  plan: JSON.stringify(plan),
  ...keyArguments(idempotency)
})

const continueArguments = (next: Continue, ownerId: OwnerId) => ({
  ...answersArguments(next, ownerId),
  answer: newRowId(next.answerId),
  stream: next.stream,
  ...logArguments(next.events),
  lease: Duration.toMillis(next.lease),
  ...admissionArguments(next.admission, next.historyTokens)
})

const keyArguments = (idempotency: Begin["idempotency"]) => ({
  key: idempotency === null ? null : toKey(idempotency.key),
  fingerprint: idempotency === null ? null : toText(idempotency.fingerprint)
})

/** An infinite budget is sent as the largest integer, because `bigint` has no infinity. */
const wholeTokens = (historyTokens: number): number => Math.min(Math.floor(historyTokens), Number.MAX_SAFE_INTEGER)
