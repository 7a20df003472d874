/** `RunStore` on PostgreSQL: writing under a lease, cancelling and reading. Starting a run is in `RunStarts`, leases are in `RunLeases`. */
import { type OwnerId, Principal, type RunId, type ThreadId } from "@colloquy/core"
import {
  type Appended,
  callerNow,
  isAtRest,
  type Lease,
  type LogBatch,
  type RunStatus,
  RunStore,
  type Settlement
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  allArguments,
  type Arguments,
  call,
  callWithLockTimeout,
  type Database,
  givenArguments,
  type Parameter,
  statements
} from "./Database.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import { branches } from "./PostgresBranches.ts"
import { makeBatches, type BatchRow, readEvents, logArguments } from "./LogBatches.ts"
import type { KnownHistories } from "./KnownHistories.ts"
import { decodeList, type MessageRow, turnMessageArguments } from "./MessageRecord.ts"
import type { Presence } from "./Presence.ts"
import type { RunHints } from "./RunHints.ts"
import { runLeases } from "./RunLeases.ts"
import { decodeRun, runColumns, type RunRow } from "./RunRecord.ts"
import { runStarts } from "./RunStarts.ts"
import { functionName } from "./schema/FunctionNames.ts"
import { storedCount } from "./schema/SchemaPart.ts"
import { messageText } from "./schema/Threads.ts"
import { isStoredId, knownId } from "./StoredId.ts"
import { toJson, toText } from "./StoredText.ts"
import { chargeArguments, usageArguments } from "./UsageColumns.ts"

export const runStore = (
  database: Database,
  hints: RunHints,
  histories: KnownHistories,
  presence: Presence
): typeof RunStore.Service =>
  RunStore.of({
    ...runStarts(database, hints, histories, presence),
    ...runLeases(database, presence),
    ...writes(database, hints, histories),
    ...reads(database),
    ...branches(database, histories),
    onChange: hints.onChange
  })

const writes = (
  database: Database,
  { echo }: RunHints,
  histories: KnownHistories
): Pick<typeof RunStore.Service, "append" | "settle" | "requestCancel"> => {
  const { brief, distributed, lockingWrite, schema } = database
  const keptStatement = statements()
  const appendMany = `select o_run as run, o_later as later from ${schema}.${functionName("append_many")}($1::uuid[], $2, $3::bigint[], $4, $5, $6, $7)`

  return {
    append: (batches) => {
      const known = batches.filter(({ lease }) => isStoredId(lease.runId))
      // Each owner has a node of its own.
      const groups = distributed ? Map.groupBy(known, ({ lease }) => lease.ownerId).values() : [known]
      return Effect.forEach(
        groups,
        (group) => brief<UnwrittenRow>("RunStore.append", appendMany, manyArguments(group)),
        { concurrency: "unbounded" }
      ).pipe(
        Effect.map((unwritten) => appendedBatches(batches, unwritten.flat())),
        Effect.tap(({ later, lost }) =>
          Effect.forEach(
            known.filter(({ lease: { runId } }) => !later.includes(runId) && !lost.includes(runId)),
            ({ lease }) => echo(lease.runId, lease.threadId, false),
            { discard: true }
          )
        )
      )
    },

    settle: Effect.fnUntraced(function* (lease, settlement) {
      const { now, principal } = yield* callerNow
      const { ownerId } = principal
      const answer = turnMessageArguments(settlement.answer, "assistant")
      const { names, values } = givenArguments(settleArguments(lease, settlement, answer, ownerId, new Date(now)))
      const statement = keptStatement(
        "settle_run",
        names,
        () => `select ${callWithLockTimeout(database, "settle_run", names)} as outcome`
      )
      const [row] = yield* lockingWrite<{ readonly outcome: "settled" | "lost" | "deleted" }>(
        "RunStore.settle",
        statement,
        values
      )
      if (row?.outcome === "settled") {
        if (settlement.approved !== null) histories.forget(ownerId, lease.threadId)
        else histories.addAnswer(ownerId, lease.runId, settlement.answer, answer.message_body.length)
        yield* echo(lease.runId, lease.threadId, false)
      }
      return row?.outcome === "deleted" ? "deleted" : row?.outcome === "settled"
    }),

    requestCancel: Effect.fnUntraced(function* (runId, at) {
      const { ownerId } = yield* Principal
      const { names, values } = allArguments({ owner: toText(ownerId), run: knownId(runId), at })
      const [found] = yield* lockingWrite<CancelRow>(
        "RunStore.requestCancel",
        `select o_status as status, o_thread as thread_id from ${callWithLockTimeout(database, "request_cancel", names)}`,
        values
      )
      if (found === undefined || found.status === null) return Option.none()
      yield* echo(runId, found.thread_id, !isAtRest(found.status))
      return Option.some(found.status)
    })
  }
}

interface UnwrittenRow {
  readonly run: RunId
  /** Null, on Citus: the run was written. */
  readonly later: boolean | null
}

/** The arguments of `append_many`, in the order of its parameters. */
const manyArguments = (batches: ReadonlyArray<LogBatch>): ReadonlyArray<Parameter> => {
  const parts = batches.map(({ events }) => makeBatches(events))
  return [
    batches.map(({ lease }) => lease.runId),
    batches.map(({ lease }) => toText(lease.ownerId)),
    batches.map(({ lease }) => String(lease.token)),
    parts.flatMap(({ events }, index) => events.map(() => index + 1)),
    parts.flatMap(({ firsts }) => firsts),
    parts.flatMap(({ lasts }) => lasts),
    parts.flatMap(({ events }) => events)
  ]
}

/** A run whose id is not a UUID cannot be stored, so its lease counts as lost. */
const appendedBatches = (batches: ReadonlyArray<LogBatch>, unwritten: ReadonlyArray<UnwrittenRow>): Appended => ({
  lost: [
    ...batches.map(({ lease }) => lease.runId).filter((runId) => !isStoredId(runId)),
    ...unwritten.filter(({ later }) => later === false).map(({ run }) => run)
  ],
  later: unwritten.filter(({ later }) => later === true).map(({ run }) => run)
})

/** Nulls: there is no such run. */
interface CancelRow {
  readonly status: RunStatus | null
  readonly thread_id: ThreadId
}

const settleArguments = (
  lease: Lease,
  settlement: Settlement,
  answer: Arguments,
  ownerId: OwnerId,
  at: Date
): ReadonlyArray<Arguments> => [
  { owner: toText(ownerId), run: knownId(lease.runId), token: lease.token },
  logArguments(settlement.events),
  { thread: knownId(lease.threadId), status: settlement.status, at },
  answer,
  usageArguments(settlement.usage),
  {
    steps: settlement.modelCalls,
    first_token_at: settlement.firstTokenAt,
    model: toText(settlement.model),
    fault: toJson(settlement.fault),
    explanation: toJson(settlement.explanation)
  },
  chargeArguments(settlement),
  {
    follow_ups: followUpsArgument(settlement.followUps),
    approved: settlement.approved === null ? null : JSON.stringify(settlement.approved.results),
    approved_tokens: settlement.approved?.tokens ?? null
  }
]

type Reads = Pick<typeof RunStore.Service, "get" | "list" | "waiting" | "waitingOn" | "messages" | "read">

const reads = (database: Database): Reads => {
  const { brief, query, schema } = database

  const findRun = (operation: string, condition: string, id: string | null) =>
    Principal.use(({ ownerId }) =>
      Effect.map(
        brief<RunRow>(
          operation,
          `select ${runColumns} from ${schema}.runs r where ${condition} and r.owner = $2
             and exists (select from ${schema}.threads t where t.id = r.thread_id and t.owner = r.owner)`,
          [id, toText(ownerId)]
        ),
        ([row]) => Option.map(Option.fromNullishOr(row), decodeRun)
      )
    )

  return {
    get: (runId) => findRun("RunStore.get", "r.id = $1", knownId(runId)),

    list: (threadId, { after = null, limit, status = null }) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<RunRow & { readonly ordinal: number }>("RunStore.list", listStatement(schema), [
            knownId(threadId),
            toText(ownerId),
            status,
            after,
            limit + 1
          ]),
          (rows) => toPage(rows, limit)
        )
      ),

    waiting: ({ after = null, limit }) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<RunRow & { readonly ordinal: number }>(
            "RunStore.waiting",
            `select r.ordinal::double precision as ordinal, ${runColumns} from ${schema}.runs r
             where r.owner = $1 and r.waits and ($2::bigint is null or r.ordinal < $2::bigint) order by r.ordinal desc limit $3`,
            [toText(ownerId), after, limit + 1]
          ),
          (rows) => toPage(rows, limit)
        )
      ),

    waitingOn: (threadId) => findRun("RunStore.waitingOn", "r.thread_id = $1 and r.waits", knownId(threadId)),

    messages: (runId) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<MessageRow>("RunStore.messages", messagesStatement(schema), [knownId(runId), toText(ownerId)]),
          decodeList
        )
      ),

    read: (runId, after) =>
      Principal.use(({ ownerId }) => {
        const args = { owner: toText(ownerId), run: knownId(runId), after: storedCount(after) }
        return Effect.map(
          query<BatchRow>(
            "RunStore.read",
            `select first_sequence, last_sequence, events from ${call(database, "read_log", args)} order by last_sequence`,
            Object.values(args)
          ),
          (rows) => readEvents(rows, after)
        )
      })
  }
}

/** One row more than the page has tells that there is another page. */
const toPage = (rows: ReadonlyArray<RunRow & { readonly ordinal: number }>, limit: number) => {
  const page = rows.slice(0, limit)
  return { runs: page.map(decodeRun), next: rows.length > limit ? (page.at(-1)?.ordinal ?? null) : null }
}

/**
 * Runs are found by the messages that they answer: the index of a thread's messages gives them in order, and a page reads no more of them
 * than it needs. The message of a queued run has its place in the queue, negated, as its sequence; queued runs stand behind every message
 * that the thread may ever have.
 */
const listStatement = (schema: string): string => {
  const found = (ordinal: string, condition: string) => `select (${ordinal})::double precision as ordinal, ${runColumns}
    from ${schema}.messages m cross join lateral (
      select * from ${schema}.runs r where r.id = m.run_id and r.owner = $2 and r.user_message_id = m.id offset 0
    ) r
    where m.thread_id = $1 and m.owner = $2 and exists (select from ${schema}.threads t where t.id = $1 and t.owner = $2)
      and m.role = 'user' and ${condition} and ($3::text is null or r.status = $3)`
  return `select * from (
    (${found(`${2 ** 40} - m.sequence`, `m.sequence < 0 and ($4::bigint is null or ${2 ** 40} - m.sequence < $4::bigint)`)})
    union all
    (${found("m.sequence", "m.sequence > 0 and ($4::bigint is null or m.sequence < $4::bigint)")} order by m.sequence desc limit $5)
  ) page order by ordinal desc limit $5`
}

/** Looked up one by one: a join may be planned, while a table is small, to read all messages. */
const messagesStatement = (schema: string): string =>
  `select m.message from ${schema}.runs r cross join lateral (
     select m.sequence, ${messageText("m")} as message from ${schema}.messages m
     where m.thread_id = r.thread_id and m.owner = r.owner
       and m.sequence between r.first_message and coalesce(r.last_message, r.first_message) and m.run_id = r.id offset 0
   ) m where r.id = $1 and r.owner = $2 order by m.sequence`
