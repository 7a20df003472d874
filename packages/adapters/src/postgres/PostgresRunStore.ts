/** `RunStore` on Postgres: writing under a lease, taking over, cancelling, reading. Starting runs is in `RunStarts`. */
import {
  type Lease,
  type LogEvent,
  type OwnerId,
  Principal,
  type RunId,
  type RunSignal,
  type RunStatus,
  RunStore,
  type Settlement
} from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import { call, type Database, type Parameter } from "./Database.ts"
import { type BatchRow, eventsOf, logArguments } from "./LogBatches.ts"
import { decodeMessage, messageArguments, messageColumns, type MessageRow } from "./MessageRecord.ts"
import { runLeases } from "./RunLeases.ts"
import { decodeRun, runColumns, type RunRow } from "./RunRecord.ts"
import { runStarts } from "./RunStarts.ts"
import { knownId } from "./StoredId.ts"
import { toJson, toText } from "./StoredText.ts"
import { usageArguments } from "./UsageColumns.ts"

export const runStore = (database: Database, signals: Stream.Stream<RunSignal>): typeof RunStore.Service =>
  RunStore.of({ ...runStarts(database), ...runLeases(database), ...writes(database), ...reads(database), signals })

const writes = (database: Database): Pick<typeof RunStore.Service, "append" | "settle" | "requestCancel"> => {
  const ask = <A>(operation: string, name: string, args: { readonly [name: string]: Parameter }) =>
    Effect.map(
      database.query<{ readonly answer: A }>(
        operation,
        `select ${call(database, name, args)} as answer`,
        Object.values(args)
      ),
      ([row]) => row?.answer
    )

  return {
    append: (lease, events) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          ask<boolean>("RunStore.append", "append_events", appendArguments(lease, events, ownerId)),
          (kept) => kept === true
        )
      ),

    settle: (lease, settlement) =>
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        const at = new Date(yield* Clock.currentTimeMillis)
        const args = settleArguments(lease, settlement, ownerId, at)
        return (yield* ask<boolean>("RunStore.settle", "settle_run", args)) === true
      }),

    requestCancel: (runId, at) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          ask<RunStatus | null>("RunStore.requestCancel", "request_cancel", {
            owner: toText(ownerId),
            run: knownId(runId),
            at
          }),
          Option.fromNullishOr
        )
      )
  }
}

const appendArguments = (lease: Lease, events: ReadonlyArray<LogEvent>, ownerId: OwnerId) => ({
  owner: toText(ownerId),
  run: knownId(lease.runId),
  token: lease.token,
  ...logArguments(events)
})

const settleArguments = (lease: Lease, settlement: Settlement, ownerId: OwnerId, at: Date) => ({
  ...appendArguments(lease, settlement.events, ownerId),
  status: settlement.status,
  at,
  ...messageArguments(settlement.answer),
  ...usageArguments(settlement.usage),
  model: toText(settlement.model),
  fault: toJson(settlement.fault),
  explanation: toJson(settlement.explanation)
})

type Reads = Pick<typeof RunStore.Service, "get" | "waitingOn" | "messages" | "read">

const reads = ({ query, schema }: Database): Reads => {
  const findRun = (operation: string, condition: string, id: string | null) =>
    Principal.use(({ ownerId }) =>
      Effect.map(
        query<RunRow>(operation, `select ${runColumns} from ${schema}.runs r where ${condition} and r.owner = $2`, [
          id,
          toText(ownerId)
        ]),
        ([row]) => Option.map(Option.fromNullishOr(row), decodeRun)
      )
    )

  return {
    get: (runId) => findRun("RunStore.get", "r.id = $1", knownId(runId)),

    waitingOn: (threadId) =>
      findRun("RunStore.waitingOn", "r.thread_id = $1 and r.status = 'REQUIRES_ACTION'", knownId(threadId)),

    messages: (runId) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<MessageRow>(
            "RunStore.messages",
            `select ${messageColumns} from ${schema}.messages m
             where m.run_id = $1 and m.owner = $2 and m.sequence is not null order by m.sequence`,
            [knownId(runId), toText(ownerId)]
          ),
          (rows) => rows.map(decodeMessage)
        )
      ),

    read: (runId: RunId, after: number) =>
      Principal.use(({ ownerId }) =>
        Effect.map(
          query<BatchRow>("RunStore.read", pageOfLog(schema), [knownId(runId), toText(ownerId), after]),
          (rows) => eventsOf(rows, after)
        )
      )
  }
}

/** Rows until they hold about a thousand events. A log that waits with its queued run lies behind the run's `last_sequence`. */
const pageOfLog = (schema: string): string => `
  select first_sequence, last_sequence, events from (
    select *, sum(last_sequence - first_sequence + 1) over (order by last_sequence) as upto from (
      select l.first_sequence, l.last_sequence, l.events from ${schema}.runs r
      join ${schema}.run_log l on l.run_id = r.id and l.last_sequence > $3 and l.first_sequence <= r.last_sequence
      where r.id = $1 and r.owner = $2 order by l.last_sequence limit 1000
    ) batches
  ) summed
  where upto - (last_sequence - first_sequence + 1) < 1000 order by last_sequence`
