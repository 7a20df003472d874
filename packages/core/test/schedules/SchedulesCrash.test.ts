/** The process dies at every write of a schedule's time: the time begins one turn, and the next one comes as always. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Assistants, Inbox, Kernel, Principal, Providers } from "@colloquy/core"
import { Schedules } from "@colloquy/core/schedules"
import { ScheduleStore } from "@colloquy/core/wings"
import { Crash, say, ScriptedModel } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { quiet } from "../support/Story.ts"

/** The writes of the wing's store are writes of the process too. */
const mortalSchedules = (doom: Crash.Doom, state: InMemory.State) =>
  Layer.effect(
    ScheduleStore,
    ScheduleStore.useSync((store) => ({
      ...store,
      advance: (...args) => doom.write(store.advance(...args)),
      note: (...args) => doom.write(store.note(...args))
    }))
  ).pipe(Layer.provide(InMemory.layerFrom(state)))

const openProcess = (doom: Crash.Doom, state: InMemory.State) =>
  Layer.unwrap(
    Effect.map(ScriptedModel, ({ provider }) =>
      Schedules.layer().pipe(
        Layer.provideMerge(Kernel.layer),
        Layer.provide(
          Providers.layer({ providers: [doom.provider(provider)], defaults: { provider: provider.id, model: "m" } })
        ),
        Layer.provide([doom.stores(InMemory.layerFrom(state)), mortalSchedules(doom, state)])
      )
    )
  ).pipe(Layer.provide(ScriptedModel.layer([], { otherwise: say("Done.") })), Layer.fresh)

const pass = (duration: Duration.Input) =>
  Effect.forEach(
    Array.from({ length: Math.ceil(Duration.toMillis(duration) / 10_000) }),
    () => Effect.andThen(TestClock.adjust("10 seconds"), Effect.yieldNow),
    { discard: true }
  )

/** A schedule has two times: at the first one the process may die, at the second one another process is there. */
const livesAndDies = Effect.fnUntraced(function* (point: Crash.CrashPoint) {
  yield* TestClock.setTime(Date.parse("2026-03-01T00:59:00Z"))
  const state = InMemory.makeState()
  const create = Effect.gen(function* () {
    const { id } = yield* (yield* Assistants).create({ name: "A" })
    const schedule = { cron: "*/15 * * * *", timezone: "UTC", content: "Look" }
    return (yield* (yield* Schedules).create(id, schedule)).schedule
  })
  const { assistantId, id } = yield* create.pipe(Effect.provide(openProcess(yield* Crash.make(), state)))

  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  yield* Layer.buildWithScope(openProcess(doom, state), scope)
  yield* pass("2 minutes")
  const writes = doom.writes()
  doom.kill()
  yield* doom.bury
  yield* Effect.forkChild(Scope.close(scope, Exit.void))

  const found = Effect.gen(function* () {
    yield* pass("8 minutes")
    const first = (yield* (yield* Inbox).list({ limit: 100 })).runs
    yield* TestClock.setTime(Date.parse("2026-03-01T01:14:50Z"))
    yield* pass("1 minute")
    const { runs } = yield* (yield* Inbox).list({ limit: 100 })
    return { first, runs, last: (yield* (yield* Schedules).get(assistantId, id)).schedule.last, id, writes }
  })
  return yield* found.pipe(Effect.provide(openProcess(yield* Crash.make(), state)))
})

const told = (point: Crash.CrashPoint) =>
  livesAndDies(point).pipe(Principal.provide("ada"), Effect.provide([TestClock.layer(), quiet]))

it.live("a process that dies at any write of a schedule's time loses no turn and begins none twice", () =>
  Effect.gen(function* () {
    const { writes } = yield* told({})
    assert.isAbove(writes, 4)
    for (let at = 1; at <= writes; at++) {
      for (const hears of [false, true]) {
        const { first, id, last, runs } = yield* told({ at, hears })
        const place = `write ${at} of ${writes}, hears: ${hears}`
        assert.deepStrictEqual(
          first.map(({ scheduleId }) => scheduleId),
          [id],
          place
        )
        assert.include(["COMPLETED", "FAILED"], first[0]?.status, place)
        assert.deepStrictEqual([runs.length, runs[1]?.id, runs[0]?.status], [2, first[0]?.id, "COMPLETED"], place)
        assert.deepStrictEqual(
          last,
          { time: new Date("2026-03-01T01:15:00Z"), runId: runs[0]?.id ?? null, error: null },
          place
        )
      }
    }
  })
)
