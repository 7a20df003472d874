/** The process dies at every write while an experiment goes on: another one continues, and each attempt has one result. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Assistants, Kernel, Principal, Providers, Turns } from "@colloquy/core"
import { Evals } from "@colloquy/core/evals"
import { EvalStore, OutcomeStore } from "@colloquy/core/wings"
import { Crash, say, ScriptedModel } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { quiet } from "../support/Story.ts"
import { loopTurn } from "../support/PassTime.ts"
import { loopTurn as nextTurn } from "../../../../test/until.ts"

/** The writes of the wing's store are writes of the process too. */
const mortalEvals = (doom: Crash.Doom, state: InMemory.State) =>
  Layer.effect(
    EvalStore,
    EvalStore.useSync((store) => ({
      ...store,
      recordResult: (...args) => doom.write(store.recordResult(...args)),
      endExperiment: (...args) => doom.write(store.endExperiment(...args)),
      putOnlineScore: (...args) => doom.write(store.putOnlineScore(...args))
    }))
  ).pipe(Layer.provide(InMemory.layerFrom(state)))

const outcomes = (state: InMemory.State) =>
  Layer.effect(OutcomeStore, OutcomeStore).pipe(Layer.provide(InMemory.layerFrom(state)))

const openProcess = (doom: Crash.Doom, state: InMemory.State, settings: Parameters<typeof Evals.layer>[0] = {}) =>
  Layer.unwrap(
    Effect.map(ScriptedModel, ({ provider }) =>
      Evals.layer(settings).pipe(
        Layer.provideMerge(Kernel.layer),
        Layer.provide(
          Providers.layer({ providers: [doom.provider(provider)], defaults: { provider: provider.id, model: "m" } })
        ),
        Layer.provide([doom.stores(InMemory.layerFrom(state)), mortalEvals(doom, state), outcomes(state)])
      )
    )
  ).pipe(Layer.provide(ScriptedModel.layer([], { otherwise: say("Done.") })), Layer.fresh)

const passTime = (duration: Duration.Input) =>
  Effect.forEach(
    Array.from({ length: Math.ceil(Duration.toMillis(duration) / 10_000) }),
    () => Effect.andThen(TestClock.adjust("10 seconds"), Effect.yieldNow),
    { discard: true }
  )

const isAtWork = ({ experiments, threads }: InMemory.State): boolean =>
  threads.size > 0 || [...experiments.values()].some(({ state }) => state.status === "running")

/** Hashes of ids are computed outside of virtual time, so the end is waited for, and not a time. */
const untilTheEnd = (state: InMemory.State) =>
  Effect.gen(function* () {
    for (let step = 0; step < 1000 && isAtWork(state); step++) {
      yield* passTime("10 seconds")
      yield* loopTurn
    }
  })

const untilStored = (state: InMemory.State) =>
  Effect.gen(function* () {
    while (state.experiments.size === 0) yield* loopTurn
  })

const livesAndDies = Effect.fnUntraced(function* (point: Crash.CrashPoint) {
  const state = InMemory.makeState()
  const scope = yield* Scope.make()
  const doom = yield* Crash.make(point)
  const services = yield* Layer.buildWithScope(openProcess(doom, state), scope)
  const prepare = Effect.gen(function* () {
    const { id } = yield* (yield* Assistants).create({ name: "A" })
    yield* (yield* Evals).importCases([1, 2].map((number) => ({ question: `${number}?`, assistantId: id })))
  })
  yield* Effect.provide(prepare, openProcess(yield* Crash.make(), state))
  const variants = [{ name: "a" }, { name: "b" }]
  yield* Effect.exit(
    Effect.timeout(
      Effect.provide(
        Evals.use((evals) => evals.createExperiment({ variants, concurrency: 2 })),
        services
      ),
      "1 minute"
    )
  ).pipe(Effect.forkChild)
  yield* Effect.race(Effect.andThen(untilStored(state), untilTheEnd(state)), doom.died)
  const writes = doom.writes()
  doom.kill()
  yield* doom.bury
  yield* Effect.forkChild(Scope.close(scope, Exit.void))

  const found = Effect.gen(function* () {
    yield* passTime("10 minutes")
    yield* untilTheEnd(state)
    const { listExperiments, listResults } = yield* Evals
    const { experiments } = yield* listExperiments({ limit: 10 })
    const [experiment] = experiments
    if (experiment === undefined) return { writes, status: "none", results: [], threads: state.threads.size }
    const { results } = yield* listResults({ experimentId: experiment.experiment.id, limit: 100 })
    return { writes, status: experiment.status, results, threads: state.threads.size }
  })
  return yield* found.pipe(Effect.provide(openProcess(yield* Crash.make(), state)))
})

const told = (point: Crash.CrashPoint) =>
  livesAndDies(point).pipe(Principal.provide("ada"), Effect.provide([TestClock.layer(), quiet]))

it.live("a process that dies at any write of an experiment loses no attempt and leaves no thread", () =>
  Effect.gen(function* () {
    const { writes } = yield* told({})
    assert.isAbove(writes, 10)
    for (let at = 1; at <= writes; at++) {
      for (const hears of [false, true]) {
        const { results, status, threads } = yield* told({ at, hears })
        const place = `write ${at} of ${writes}, hears: ${hears}`
        assert.strictEqual(status, "completed", place)
        assert.deepStrictEqual(
          results.map(({ content, number }) => [number, content]),
          [0, 1, 2, 3].map((number) => [number, "Done."]),
          place
        )
        assert.strictEqual(threads, 0, place)
      }
    }
  })
)

const online = { online: { share: 1, expectations: [{ kind: "contains" as const, text: "Done" }] } }

const hashesEnd = Effect.promise(async () => {
  for (let step = 0; step < 5; step++) {
    await globalThis.crypto.subtle.digest("SHA-256", new Uint8Array())
    await nextTurn()
  }
})

/** A turn ends, and its process dies at this write; another process is there afterwards. */
const scoredOnce = Effect.fnUntraced(function* (point: Crash.CrashPoint) {
  const state = InMemory.makeState()
  const scope = yield* Scope.make()
  const doom = yield* Crash.make(point)
  const services = yield* Layer.buildWithScope(openProcess(doom, state, online), scope)
  const asked = Turns.use((turns) => turns.send({ content: "Do it." }))
  yield* Effect.exit(Effect.timeout(Effect.provide(asked, services), "1 minute")).pipe(Effect.forkChild)
  yield* passTime("1 minute")
  yield* hashesEnd
  yield* passTime("1 minute")
  const writes = doom.writes()
  doom.kill()
  yield* doom.bury
  yield* Effect.forkChild(Scope.close(scope, Exit.void))
  const found = Effect.gen(function* () {
    for (let step = 0; step < 10; step++) {
      yield* passTime("2 minutes")
      yield* hashesEnd
    }
    const { scores } = yield* (yield* Evals).listOnlineScores({ limit: 10 })
    const runs = [...state.runs.values()].map(({ run }) => run.status)
    return { writes, runs, scores: scores.map(({ score }) => score.passed) }
  })
  return yield* found.pipe(Effect.provide(openProcess(yield* Crash.make(), state, online)))
})

it.live("a process that dies at any write of a sampled turn leaves one score of it", () =>
  Effect.gen(function* () {
    const story = (point: Crash.CrashPoint) =>
      scoredOnce(point).pipe(Principal.provide("ada"), Effect.provide([TestClock.layer(), quiet]))
    const { scores: whole, writes } = yield* story({})
    assert.deepStrictEqual(whole, [true])
    assert.isAbove(writes, 3)
    for (let at = 1; at <= writes; at++) {
      for (const hears of [false, true]) {
        const { runs, scores } = yield* story({ at, hears })
        const place = `write ${at} of ${writes}, hears: ${hears}`
        // A turn that its process left unfinished has failed, and is scored as that.
        assert.deepStrictEqual(
          scores,
          runs.map((status) => status === "COMPLETED"),
          place
        )
      }
    }
  })
)
