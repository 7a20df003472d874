/**
 * A process dies at any of its writes in a turn with three parts, over a real database: the turn ends once, and nothing of the parts is done or
 * charged twice. All deaths are tried at the same time, each by an owner of its own.
 */
import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import { Crash } from "@colloquy/testing"
import {
  defaultTurnSettings,
  FollowUpSettings,
  isTerminal,
  Kernel,
  OwnerId,
  Principal,
  Providers,
  type RunId,
  Threads,
  TurnSettings
} from "@colloquy/core"
import { newId, RunStore, type Stores } from "@colloquy/core/adapters"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { onEmbedded, onPostgres } from "../../../../test/databases.ts"
import { quiet, storedLog } from "../support/Story.ts"
import { until } from "../support/Until.ts"
import { answer, converse, openThread, spentIn, submit } from "../support/PartsConversation.ts"
import { newDeeds, searchCost, type ToyDeeds, toyOrders, toyParts } from "../support/ToyParts.ts"

type Order = (typeof toyOrders)[number]

/** Long enough for a busy machine, short enough to wait for. */
const settings = (poll: string) =>
  Layer.mergeAll(
    Layer.succeed(TurnSettings, Object.assign({}, defaultTurnSettings, { lease: "5 seconds", sweep: "500 millis" })),
    Layer.effect(
      FollowUpSettings,
      Effect.map(FollowUpSettings, (usual) => Object.assign({}, usual, { poll, claim: "5 seconds" }))
    )
  )

/**
 * A look that finds follow-ups counts as a write. A process that dies looks only when a turn has stored some, so that the number of its
 * writes does not depend on how long they take. The next process looks often, for what the first one has left.
 */
const never = "1 hour"
const often = "200 millis"

const kernelLayer = (doom: Crash.Doom, stores: Layer.Layer<Stores>, deeds: ToyDeeds, order: Order, poll: string) => {
  const provider = doom.provider({ id: "p", chat: (request) => Stream.fromIterable(answer(request)) })
  return toyParts(deeds, order).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide(settings(poll)),
    Layer.provideMerge(doom.stores(stores)),
    Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: "p", model: "m" } })),
    Layer.fresh,
    Layer.merge(quiet)
  )
}

const runAtRest = (runId: RunId) =>
  until(
    Effect.map(
      RunStore.use((store) => store.get(runId)),
      (run) =>
        Option.isSome(run) && ["COMPLETED", "FAILED", "REQUIRES_ACTION"].includes(run.value.status) ? run.value : null
    )
  )

/** Any process does the follow-ups of every owner: what was learned is written down in one place. */
const learned: Array<string> = []

const begun = Effect.fnUntraced(function* (stores: Layer.Layer<Stores>, point: Crash.CrashPoint, order: Order) {
  const deeds = { ...newDeeds(), learned }
  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  const services = yield* Layer.buildWithScope(kernelLayer(doom, stores, deeds, order, never), scope)
  const opened = Effect.provideContext(openThread, services)
  // The process may die before it has a thread.
  const threadId = yield* Effect.raceFirst(opened, Effect.as(doom.died, null))
  return { deeds, doom, scope, services, threadId }
})

/** How many writes come before the turn, and how many there are after it: without any death. */
const countWrites = Effect.fnUntraced(function* (stores: Layer.Layer<Stores>) {
  const { doom, scope, services, threadId } = yield* begun(stores, {}, [0, 1, 2])
  assert.isNotNull(threadId)
  const before = doom.writes()
  const already = learned.length
  yield* Effect.provideContext(converse(threadId), services)
  yield* until(Effect.sync(() => (learned.length > already ? true : null)))
  assert.strictEqual(yield* Effect.provideContext(spentIn, services), 2 * searchCost)
  const after = doom.writes()
  yield* Scope.close(scope, Exit.void)
  return { before, after }
})

const dieAt = Effect.fnUntraced(function* (
  stores: Layer.Layer<Stores>,
  point: { readonly at: number; readonly hears: boolean }
) {
  const order = toyOrders[point.at % toyOrders.length] ?? [0, 1, 2]
  const where = `write ${point.at}, ${point.hears ? "after" : "before"} its answer`
  const { deeds, doom, scope, services, threadId } = yield* begun(stores, point, order)
  if (threadId === null) {
    yield* doom.bury
    return yield* Scope.close(scope, Exit.void)
  }
  const client = yield* Effect.forkDetach(Effect.provideContext(converse(threadId), services))
  // Where pieces of the log went together this time, there are fewer writes, and nothing dies.
  yield* Effect.raceFirst(doom.died, Effect.asVoid(Fiber.await(client)))

  const nextScope = yield* Scope.make()
  const second = yield* Layer.buildWithScope(kernelLayer(yield* Crash.make(), stores, deeds, order, often), nextScope)
  yield* Effect.gen(function* () {
    const { messages } = yield* Threads.use((threads) => threads.get(threadId))
    const runId = messages[0]?.runId
    // The write at which it died was one for another owner (a follow-up): its turn had not begun.
    if (runId === undefined || runId === null) return assert.deepStrictEqual(deeds.recalled, [], where)
    let run = yield* runAtRest(runId)
    if (run.status === "REQUIRES_ACTION") {
      yield* submit(threadId)
      run = yield* runAtRest(runId)
    }
    const log = yield* storedLog({ runId })
    assert.strictEqual(log.filter(isTerminal).length, run.leg + 1, where)
    assert.strictEqual(new Set(deeds.recalled).size, deeds.recalled.length, `recalled twice: ${where}`)
    const spent = deeds.spent.reduce((sum, cost) => sum + cost, 0)
    const charged = yield* spentIn
    assert.isAtMost(charged, spent, `charged too much: ${where}`)
    if (run.status !== "COMPLETED") return assert.notInclude(deeds.learned, runId, where)
    assert.strictEqual(charged, spent, `charged too little: ${where}`)
    yield* until(Effect.sync(() => (deeds.learned.includes(runId) ? true : null)))
  }).pipe(Effect.provideContext(second))

  yield* doom.bury
  yield* Scope.close(scope, Exit.void)
  yield* Scope.close(nextScope, Exit.void)
  client.interruptUnsafe()
})

const everyDeath = (stores: Layer.Layer<Stores>) =>
  Effect.gen(function* () {
    const shared = Layer.succeedContext(yield* Layer.build(stores))
    const owned = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(newId(OwnerId), (ownerId) => Principal.provide(ownerId)(effect))
    const { after, before } = yield* owned(countWrites(shared))
    assert.isAbove(after - before, 5)
    assert.isBelow(after - before, 60)
    const points = Array.from({ length: after - before }, (_, index) => before + 1 + index).flatMap((at) => [
      { at, hears: true },
      { at, hears: false }
    ])
    yield* Effect.forEach(points, (point) => owned(dieAt(shared, point)), { concurrency: 8, discard: true })
  }).pipe(Effect.scoped, Effect.provide(quiet))

const title = "a process that dies at any of its writes in a turn with parts"

onEmbedded("PGlite", () => {
  it.live(title, () => everyDeath(Layer.orDie(Pglite.layer())), 900_000)
})

onPostgres((url) => {
  it.live(
    title,
    () => everyDeath(Layer.orDie(Postgres.layer({ url: Redacted.make(url), schema: "parts_crash" }))),
    900_000
  )
})
