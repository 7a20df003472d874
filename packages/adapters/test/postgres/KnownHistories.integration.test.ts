/** A process that knows a thread's history does not read it again, and is never wrong about it, whatever other processes do meanwhile. */
import { Principal, type ThreadId } from "@colloquy/core"
import { RunStore } from "@colloquy/core/adapters"
import {
  continueTurn,
  openThread,
  pauseTurn,
  sampleBegin,
  settleTurn,
  startTurn,
  storedMessages
} from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onPostgres } from "../../../../test/databases.ts"
import type { Stores } from "../../src/Stores.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { functionName } from "../../src/postgres/schema/FunctionNames.ts"
import { hostClient, scratchSchema } from "./Scratch.ts"

onPostgres((url) => {
  /** The stores of another process on the schema. */
  const processOn = (schema: string, keptHistories?: number) =>
    Layer.build(
      Postgres.layer({ url: Redacted.make(url), schema, ...(keptHistories === undefined ? {} : { keptHistories }) })
    )

  const withProcess =
    (context: Context.Context<Stores>) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Stores>> =>
      Effect.provide(effect, context)

  /** A turn whose history is compared with what is stored. */
  const turnOn = Effect.fnUntraced(function* (id: ThreadId) {
    const turn = yield* startTurn(id)
    assert.deepStrictEqual(turn.history.messages, (yield* storedMessages(id)).slice(0, -1))
    return turn
  })

  const plainTurn = (id: ThreadId) => Effect.flatMap(turnOn(id), (turn) => settleTurn(turn))

  /** PostgreSQL's code for an exception that a function raises. */
  const raised = "P0001"

  /** From now on the reading of a history fails. */
  const breakHistories = (schema: string) =>
    PgClient.use((client) =>
      client.unsafe(`create or replace function "${schema}"."${functionName("history_texts")}"(p_owner text, p_run uuid, p_budget bigint)
        returns table (part bigint, revision integer, tokens_before bigint, messages text) strict language plpgsql as
        $$ begin raise exception 'The history was read.'; end $$`)
    ).pipe(Effect.provide(hostClient(url)))

  describe("what a process knows of histories", () => {
    it.live("is not read again", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const inProcess = withProcess(yield* processOn(schema))
        const withoutMemory = withProcess(yield* processOn(schema, 0))
        const { id } = yield* inProcess(openThread)
        yield* inProcess(plainTurn(id))
        yield* breakHistories(schema)
        for (let turn = 0; turn < 5; turn++) yield* inProcess(plainTurn(id))
        const other = yield* Effect.exit(
          withoutMemory(RunStore.use(({ begin }) => Effect.flatMap(sampleBegin(id), begin)))
        )
        assert.include(JSON.stringify(other), raised)
      }).pipe(Effect.scoped, Principal.provide("somebody"))
    )

    it.live("is right after what another process has added, changed or cancelled", () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const first = withProcess(yield* processOn(schema))
        const second = withProcess(yield* processOn(schema))
        const { id } = yield* first(openThread)
        yield* first(plainTurn(id))
        yield* second(plainTurn(id))
        yield* first(plainTurn(id))
        const paused = yield* first(Effect.flatMap(turnOn(id), (turn) => pauseTurn(turn)))
        // The other process answers the calls, and so changes a message that the first one knows.
        yield* second(Effect.flatMap(continueTurn(paused), (turn) => settleTurn(turn)))
        yield* first(plainTurn(id))
        yield* second(Effect.flatMap(turnOn(id), (turn) => pauseTurn(turn)))
        yield* first(Effect.flatMap(turnOn(id), (turn) => pauseTurn(turn)))
        // It supersedes a run of the other process, and so changes a message that both know.
        yield* second(plainTurn(id))
        yield* first(plainTurn(id))
      }).pipe(Effect.scoped, Principal.provide("somebody"))
    )
  })
})
