/** What the ports cost: round trips of a turn, and the plan of every statement on 100,000 messages. */
import { OwnerId, Principal } from "@colloquy/core"
import { AssistantStore, newId, RunStore, ThreadStore } from "@colloquy/core/adapters"
import { anHour, expectTag, openThread, sampleBegin, sampleEvent, sampleSettlement } from "@colloquy/testing/contracts"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { everyQuestion } from "./EveryQuestion.ts"
import { fillDatabase } from "./FilledDatabase.ts"
import { type Observed, observedClient, observing } from "./ObservedClient.ts"
import { hostClient, onScratchSchema } from "./Scratch.ts"

class SchemaName extends Context.Service<SchemaName, string>()("test/SchemaName") {}

onPostgres((url) => {
  const observed: Observed = { roundTrips: 0, plans: [] }
  const stores = (explain: "no" | "plans" | "reads") =>
    onScratchSchema(url, (schema) =>
      Layer.mergeAll(
        Postgres.layerFromClient({ schema, notifications: false }),
        Layer.succeed(SchemaName, schema)
      ).pipe(Layer.provideMerge(observedClient(url, observed, explain)))
    )

  layer(stores("no"), { excludeTestServices: true })("round trips", (it) => {
    it.effect("a turn takes three: what it needs to know, its beginning, its end", () =>
      Effect.gen(function* () {
        const assistants = yield* AssistantStore
        const runs = yield* RunStore
        const thread = yield* openThread
        const turn = Effect.gen(function* () {
          yield* assistants.ofThread(thread.id)
          const begin = yield* sampleBegin(thread.id, { idempotency: { key: yield* newId(OwnerId), fingerprint: "" } })
          const { lease } = expectTag(yield* runs.begin(begin), "Started")
          const leg = { runId: begin.run.id, threadId: thread.id, answerId: begin.run.answerId, leg: 0 }
          const appended = observed.roundTrips
          yield* runs.append([{ lease, events: [sampleEvent(2)] }])
          assert.strictEqual(observed.roundTrips - appended, 1)
          yield* runs.settle(lease, yield* sampleSettlement(leg))
        })
        const { roundTrips } = yield* observing(observed, turn)
        assert.strictEqual(roundTrips, 4, "three, and one append")
      }).pipe(Principal.provide("somebody"))
    )

    it.effect("statements are prepared once and used again", () =>
      Effect.gen(function* () {
        const threads = yield* ThreadStore
        const client = yield* PgClient
        yield* Effect.forEach([1, 2, 3], () => threads.list({ skip: 0, limit: 100 }))
        const [prepared] = yield* client<{ readonly uses: bigint }>`
          select max(generic_plans + custom_plans) as uses from pg_prepared_statements where statement like '%.threads t where%'`
        assert.strictEqual(prepared?.uses, 3n)
      }).pipe(Principal.provide("somebody"))
    )

    it.effect("a list of threads takes one", () =>
      Effect.gen(function* () {
        const threads = yield* ThreadStore
        const { roundTrips } = yield* observing(observed, threads.list({ skip: 0, limit: 100 }))
        assert.strictEqual(roundTrips, 1)
      }).pipe(Principal.provide("somebody"))
    )
  })

  /** Pages that the server looked at, in the statements themselves and in what they call. */
  const pages = (plans: ReadonlyArray<string>) =>
    plans.reduce((sum, plan) => sum + Number(/Buffers: shared hit=(\d+)/u.exec(plan)?.[1] ?? 0), 0)

  const leavesOutMany = (plan: string) => /Rows Removed by (Join )?Filter: \d{2,}/u.test(plan)

  layer(stores("plans"), { excludeTestServices: true })("a plain turn", (it) => {
    it.effect("sends what is not usual alone, and asks for nothing that its thread rules out", () =>
      Effect.gen(function* () {
        const runs = yield* RunStore
        const thread = yield* openThread
        const turn = Effect.gen(function* () {
          const begin = yield* sampleBegin(thread.id)
          const { lease } = expectTag(yield* runs.begin(begin), "Started")
          const leg = { runId: begin.run.id, threadId: thread.id, answerId: begin.run.answerId, leg: 0 }
          yield* runs.settle(lease, yield* sampleSettlement(leg))
        })
        const { plans } = yield* observing(observed, turn)
        const parameters = (name: string) =>
          plans
            .filter((plan) => new RegExp(`${name}_\\w+\\(p_owner =>`, "u").test(plan))
            .map((plan) => Math.max(...[...plan.matchAll(/p_\w+ => \$(\d+)/gu)].map(([, place]) => Number(place))))
        assert.deepStrictEqual([parameters("begin_run"), parameters("settle_run")], [[19], [24]])
        assert.notInclude(plans.join(), "realtime_sessions")
      }).pipe(Principal.provide("somebody"))
    )
  })

  layer(stores("reads"), { excludeTestServices: true })("on a database that was analyzed while it was small", (it) => {
    it.effect("a turn reads its own rows alone", () =>
      Effect.gen(function* () {
        const runs = yield* RunStore
        const schema = yield* SchemaName
        const thread = yield* openThread
        const turn = Effect.gen(function* () {
          const begin = yield* sampleBegin(thread.id, { historyTokens: 20 })
          const { lease } = expectTag(yield* runs.begin(begin), "Started")
          const leg = { runId: begin.run.id, threadId: thread.id, answerId: begin.run.answerId, leg: 0 }
          yield* runs.append([{ lease, events: [sampleEvent(2)] }])
          yield* runs.renew([lease], anHour)
          yield* runs.settle(lease, yield* sampleSettlement(leg))
        })
        yield* Effect.repeat(turn, { times: 9 })
        yield* Effect.provide(
          PgClient.use(
            (client) => client.unsafe(`analyze ${schema}.runs, ${schema}.threads, ${schema}.messages`).unprepared
          ),
          hostClient(url)
        )
        yield* Effect.repeat(turn, { times: 149 })
        const { plans } = yield* observing(observed, turn)
        assert.isAbove(pages(plans), 0)
        assert.deepStrictEqual(plans.filter(leavesOutMany), [])
      }).pipe(Principal.provide("owner"))
    )
  })

  layer(stores("reads"), { excludeTestServices: true })("on a database that was never analyzed", (it) => {
    it.effect("the three hundredth turn of an owner and a connection reads as much as the tenth", () =>
      Effect.gen(function* () {
        const assistants = yield* AssistantStore
        const runs = yield* RunStore
        const schema = yield* SchemaName
        // On a slow machine the server would analyze them meanwhile.
        yield* Effect.provide(
          PgClient.use((client) =>
            Effect.forEach(["assistants", "threads", "messages", "runs"], (table) =>
              client.unsafe(`alter table ${schema}.${table} set (autovacuum_enabled = false)`)
            )
          ),
          hostClient(url)
        )
        yield* Effect.repeat(openThread, { times: 99 })
        const thread = yield* openThread
        const turn = Effect.gen(function* () {
          yield* assistants.ofThread(thread.id)
          const begin = yield* sampleBegin(thread.id, { historyTokens: 20 })
          const { lease } = expectTag(yield* runs.begin(begin), "Started")
          const leg = { runId: begin.run.id, threadId: thread.id, answerId: begin.run.answerId, leg: 0 }
          yield* runs.append([{ lease, events: [sampleEvent(2)] }])
          yield* runs.settle(lease, yield* sampleSettlement(leg))
        })
        const few = Effect.map(observing(observed, Effect.repeat(turn, { times: 9 })), ({ plans }) => plans)
        const early = yield* Effect.andThen(few, few)
        yield* Effect.repeat(turn, { times: 299 })
        const late = yield* few
        assert.isAbove(pages(early), 0)
        assert.isBelow(pages(late), pages(early) * 1.4)
        assert.deepStrictEqual(late.filter(leavesOutMany), [])
        const sweep = yield* observing(observed, Effect.repeat(runs.expired(100), { times: 6 }))
        // The process may tell that it lives meanwhile.
        assert.isAtLeast(sweep.plans.length, 7)
        assert.notMatch(sweep.plans.join(), /(Seq|Bitmap Heap) Scan on runs/u, "the sweep looks at active runs alone")
      }).pipe(Principal.provide("owner"))
    )
  })

  layer(stores("plans"), { excludeTestServices: true, timeout: "2 minutes" })("plans on 100,000 messages", (it) => {
    it.effect("a list of threads reads no messages", () =>
      Effect.gen(function* () {
        const threads = yield* ThreadStore
        const { plans } = yield* observing(observed, threads.list({ skip: 0, limit: 100 }))
        assert.strictEqual(plans.length, 1)
        assert.notInclude(plans.join(), "messages")
      }).pipe(Principal.provide("owner-50"))
    )

    it.effect("no statement of a port reads a table from end to end", () =>
      Effect.gen(function* () {
        const schema = yield* SchemaName
        const filled = yield* Effect.provide(fillDatabase(schema), hostClient(url))
        const unindexed = PgClient.use((client) =>
          client.unsafe(`select 1 from ${schema}.messages where body = 'nothing'`)
        )
        // A table that is not filled is read whole whatever its indexes are; its foreign keys have a test of their own.
        const empty = yield* Effect.provide(
          PgClient.use((client) =>
            client.unsafe<{ readonly name: string }>(
              `select relname::text as name from pg_class where relnamespace = '${schema}'::regnamespace and relkind = 'r' and reltuples <= 0`
            )
          ),
          hostClient(url)
        )
        const scanOfFilled = (plan: string) =>
          [...plan.matchAll(/Seq Scan on (\w+)/gu)].some(([, table]) => !empty.some(({ name }) => name === table))
        const seen: Record<string, number> = {}
        const scans: Array<string> = []
        // More than five times each, because a server makes general plans of statements that come again.
        for (let round = 0; round < 7; round++) {
          for (const [name, ask] of Object.entries(everyQuestion(filled))) {
            const { plans } = yield* observing(observed, ask)
            seen[name] = (seen[name] ?? 0) + plans.length
            scans.push(...plans.filter(scanOfFilled).map((plan) => `${name}: ${plan}`))
          }
        }
        assert.deepStrictEqual(scans, [])
        const control = yield* observing(observed, unindexed)
        assert.match(control.plans.join(), /Seq Scan on messages/u, "the test can see what it looks for")
        assert.deepStrictEqual(
          Object.keys(seen).filter((name) => seen[name] === 0),
          []
        )
      })
    )
  })
})
