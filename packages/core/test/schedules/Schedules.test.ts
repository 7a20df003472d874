/** Schedules in virtual time: each time begins one turn over any number of processes; missed times follow the rule; a refusal is told. */
import { InMemory } from "@colloquy/adapters/in-memory"
import {
  Assistants,
  Inbox,
  Kernel,
  noQuota,
  OverLimit,
  Principal,
  Providers,
  type Quota,
  Quotas,
  Threads
} from "@colloquy/core"
import { type NewSchedule, ScheduleRefused, Schedules } from "@colloquy/core/schedules"
import { ScheduleStore } from "@colloquy/core/wings"
import { say, ScriptedModel } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

type Services = Kernel.Kernel | Schedules

/** One process over the stores of `state`; it ends with the scope. */
const processOver = (
  state: InMemory.State,
  quota: Quota = noQuota,
  stores: Layer.Layer<InMemory.Stores> = InMemory.layerFrom(state)
): Layer.Layer<Services> =>
  Layer.unwrap(
    Effect.map(ScriptedModel, ({ provider }) =>
      Schedules.layer().pipe(
        Layer.provideMerge(Kernel.layer),
        Layer.provide(Layer.succeed(Quotas, () => quota)),
        Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: provider.id, model: "m" } })),
        Layer.provide(stores)
      )
    )
  ).pipe(Layer.provide(ScriptedModel.layer([], { otherwise: say("Done.") })), Layer.fresh)

const open = Effect.fnUntraced(function* (state: InMemory.State, quota?: Quota) {
  const scope = yield* Scope.make()
  const services = yield* Layer.buildWithScope(processOver(state, quota), scope)
  return { services, end: Scope.close(scope, Exit.void) }
})

const inProcess = <A, E>(services: Context.Context<Services>, effect: Effect.Effect<A, E, Services | Principal>) =>
  effect.pipe(Principal.provide("ada"), Effect.provide(services))

const pass = (duration: Duration.Input) =>
  Effect.forEach(
    Array.from({ length: Math.ceil(Duration.toMillis(duration) / 2000) }),
    () => Effect.andThen(TestClock.adjust("2 seconds"), Effect.yieldNow),
    { discard: true }
  )

const hourly: NewSchedule = { cron: "0 * * * *", timezone: "UTC", content: "Look" }

const create = Effect.fnUntraced(function* (schedule: Partial<NewSchedule> = {}) {
  const assistant = yield* (yield* Assistants).create({ name: "A" })
  return (yield* (yield* Schedules).create(assistant.id, { ...hourly, ...schedule })).schedule
})

const runs = Effect.gen(function* () {
  return (yield* (yield* Inbox).list({ limit: 100 })).runs
})

it.live("each time begins one turn in three processes, and a turn that is asked for now begins too", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.parse("2026-03-01T00:59:00Z"))
    const state = InMemory.makeState()
    const processes = [yield* open(state), yield* open(state), yield* open(state)]
    const [first] = processes
    const { assistantId, id } = yield* inProcess(first!.services, create())
    yield* pass("2 minutes")
    yield* pass("1 hour")
    const found = yield* inProcess(first!.services, runs)
    assert.deepStrictEqual(
      found.map(({ scheduleId, status }) => [scheduleId, status]),
      [
        [id, "COMPLETED"],
        [id, "COMPLETED"]
      ]
    )
    const { schedule, times } = yield* inProcess(
      first!.services,
      Schedules.use((all) => all.get(assistantId, id))
    )
    assert.deepStrictEqual(schedule.last, { time: new Date("2026-03-01T02:00:00Z"), runId: found[0]!.id, error: null })
    assert.deepStrictEqual(
      times.map((time) => time.getUTCHours()),
      [3, 4, 5, 6, 7]
    )
    yield* inProcess(
      first!.services,
      Schedules.use((all) => all.update(assistantId, id, { paused: true }))
    )
    yield* pass("2 hours")
    assert.strictEqual((yield* inProcess(first!.services, runs)).length, 2)
    yield* inProcess(
      first!.services,
      Schedules.use((all) => all.run(assistantId, id))
    )
    assert.strictEqual((yield* inProcess(first!.services, runs)).length, 3)
    for (const { end } of processes) yield* end
  }).pipe(Effect.provide(TestClock.layer()))
)

it.live("times without a process begin one turn, or none, as the schedule says", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.parse("2026-03-01T00:30:00Z"))
    const state = InMemory.makeState()
    const before = yield* open(state)
    const once = yield* inProcess(before.services, create())
    const skip = yield* inProcess(before.services, create({ onMissed: "skip" }))
    yield* before.end
    yield* TestClock.adjust("5 hours")
    const after = yield* open(state)
    yield* pass("1 minute")
    const found = yield* inProcess(after.services, runs)
    assert.deepStrictEqual(
      found.map(({ scheduleId }) => scheduleId),
      [once.id]
    )
    const { schedule, times } = yield* inProcess(
      after.services,
      Schedules.use((all) => all.get(skip.assistantId, skip.id))
    )
    assert.deepStrictEqual([schedule.last?.runId, schedule.last?.time], [null, new Date("2026-03-01T01:00:00Z")])
    assert.include(schedule.last?.error, "missed times are skipped")
    assert.deepStrictEqual(times[0], new Date("2026-03-01T06:00:00Z"))
    yield* after.end
  }).pipe(Effect.provide(TestClock.layer()))
)

it.live("a schedule whose thread was deleted can be paused, and gets no thread that is not there", () =>
  Effect.gen(function* () {
    const { end, services } = yield* open(InMemory.makeState())
    const paused = Effect.gen(function* () {
      const assistants = yield* Assistants
      const assistant = yield* assistants.create({ name: "A" })
      const thread = yield* assistants.createThread(assistant.id, null)
      const schedules = yield* Schedules
      const { id } = (yield* schedules.create(assistant.id, { ...hourly, threadId: thread.id })).schedule
      yield* (yield* Threads).remove(thread.id)
      const again = yield* Effect.flip(schedules.update(assistant.id, id, { threadId: thread.id }))
      assert.strictEqual(again._tag, "ThreadNotFound")
      const { schedule } = yield* schedules.update(assistant.id, id, { paused: true })
      assert.strictEqual(schedule.threadId, thread.id)
      return schedule.paused
    })
    assert.isTrue(yield* inProcess(services, paused))
    yield* end
  }).pipe(Effect.provide(TestClock.layer()))
)

it.live("of two changes at once, which have read the same schedule, both stay", () =>
  Effect.gen(function* () {
    const state = InMemory.makeState()
    const bothHaveRead = yield* Latch.make()
    let reads = 0
    const waiting = Layer.effect(
      ScheduleStore,
      Effect.map(ScheduleStore, (store) =>
        ScheduleStore.of({
          ...store,
          get: (id) =>
            Effect.tap(store.get(id), () => {
              reads++
              return reads === 2 ? bothHaveRead.open : bothHaveRead.await
            })
        })
      )
    )
    const stores = InMemory.layerFrom(state)
    const services = yield* Layer.build(processOver(state, noQuota, Layer.provideMerge(waiting, stores)))
    const changed = Effect.gen(function* () {
      const schedules = yield* Schedules
      const { assistantId, id } = yield* create()
      const update = (change: Partial<NewSchedule>) => schedules.update(assistantId, id, change)
      yield* Effect.all([update({ content: "Look again" }), update({ paused: true })], { concurrency: 2 })
      return (yield* schedules.get(assistantId, id)).schedule
    })
    assert.deepInclude(yield* inProcess(services, changed), { content: "Look again", paused: true, next: null })
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))
)

it.live("a turn over the quota is not begun, and the schedule says why", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.parse("2026-03-01T00:59:00Z"))
    const state = InMemory.makeState()
    const { end, services } = yield* open(state, { ...noQuota, tokensPerDay: 1 })
    const { assistantId, id } = yield* inProcess(services, create())
    yield* pass("2 minutes")
    assert.deepStrictEqual(yield* inProcess(services, runs), [])
    const { schedule } = yield* inProcess(
      services,
      Schedules.use((all) => all.get(assistantId, id))
    )
    assert.isNull(schedule.last?.runId)
    assert.isNotEmpty(schedule.last?.error)
    const refused = yield* Effect.flip(
      inProcess(
        services,
        Schedules.use((all) => all.run(assistantId, id))
      )
    )
    assert.instanceOf(refused, OverLimit)
    yield* end
  }).pipe(Effect.provide(TestClock.layer()))
)

it.live("every problem of a schedule is told, and daylight saving moves a time that does not exist", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.parse("2026-03-28T12:00:00Z"))
    const { end, services } = yield* open(InMemory.makeState())
    const refusedFields = (schedule: Partial<NewSchedule>) =>
      Effect.map(Effect.flip(inProcess(services, create(schedule))), (error) =>
        error instanceof ScheduleRefused ? error.problems.map(({ field }) => field) : [error._tag]
      )
    assert.deepStrictEqual(yield* refusedFields({ cron: "x", timezone: "Nowhere/X", content: " " }), [
      "cron",
      "timezone",
      "content"
    ])
    for (const cron of ["* * * * * *", "0 0 30 2 *", "60 * * * *", "", "* ".repeat(1000)])
      assert.deepStrictEqual(yield* refusedFields({ cron }), ["cron"], cron)
    const made = yield* inProcess(services, create({ cron: "30 2 * * *", timezone: "Europe/Berlin" }))
    assert.deepStrictEqual(made.next, new Date("2026-03-29T01:30:00Z"))
    yield* end
  }).pipe(Effect.provide(TestClock.layer()))
)
