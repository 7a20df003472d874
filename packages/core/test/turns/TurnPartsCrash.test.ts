/** A process dies at any of its writes in a turn with three parts: the turn ends once, and nothing of the parts is done or charged twice. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Crash } from "@colloquy/testing"
import { isTerminal, Kernel, Principal, Providers, type TurnEvent } from "@colloquy/core"
import { RunStore } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { quiet } from "../support/Story.ts"
import { answer, converse, openThread, spentIn, submit } from "../support/PartsConversation.ts"
import { newDeeds, searchCost, type ToyDeeds, toyOrders, toyParts } from "../support/ToyParts.ts"

const kernelLayer = (doom: Crash.Doom, state: InMemory.State, deeds: ToyDeeds, order: (typeof toyOrders)[number]) => {
  const provider = doom.provider({
    id: "p",
    chat: (request) =>
      Stream.tap(Stream.rechunk(Stream.fromIterable(answer(request)), 1), () => Effect.sleep("60 millis"))
  })
  return toyParts(deeds, order).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.fresh,
    Layer.provideMerge(doom.stores(InMemory.layerFrom(state))),
    Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: "p", model: "m" } })),
    Layer.merge(quiet)
  )
}

const withTime = Effect.fnUntraced(function* <A, E, R>(client: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkDetach(client, { startImmediately: true })
  yield* TestClock.adjust("2 seconds")
  return fiber
})

const scene = Effect.fnUntraced(function* (point: Crash.CrashPoint, order: (typeof toyOrders)[number]) {
  const state = InMemory.makeState()
  const deeds = newDeeds()
  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  const first = yield* Layer.buildWithScope(kernelLayer(doom, state, deeds, order), scope)
  return { state, deeds, doom, scope, first }
})

describe("a process that is killed in a turn with parts", () => {
  const [inOrder = [0, 1, 2] as const] = toyOrders
  const whole = Effect.gen(function* () {
    const { deeds, doom, first, scope } = yield* scene({}, inOrder)
    const thread = yield* Effect.provideContext(openThread, first)
    const before = doom.writes()
    yield* withTime(Effect.provideContext(converse(thread), first))
    assert.deepStrictEqual(deeds.heard, ["One.\n\nTwo.", "Three."])
    assert.strictEqual(deeds.recalled.length, 1)
    assert.strictEqual(deeds.learned.length, 1)
    assert.strictEqual(yield* Effect.provideContext(spentIn, first), 2 * searchCost)
    const writes = doom.writes()
    yield* Scope.close(scope, Exit.void)
    return { before, writes }
  })

  for (const hears of [true, false]) {
    it.effect(
      `at any of its writes (${hears ? "after" : "before"} the answer)`,
      () =>
        Effect.gen(function* () {
          const { before, writes } = yield* whole
          assert.isAbove(writes - before, 8)
          for (let at = before + 1; at <= writes; at++) {
            const order = toyOrders[at % toyOrders.length] ?? inOrder
            const { deeds, doom, first, scope, state } = yield* scene({ at, hears }, order)
            const threadId = yield* Effect.provideContext(openThread, first)
            const client = yield* withTime(Effect.provideContext(converse(threadId), first))
            assert.isTrue(doom.isDead(), `write ${at}`)

            const nextScope = yield* Scope.make()
            const healthy = yield* Crash.make()
            const second = yield* Layer.buildWithScope(kernelLayer(healthy, state, deeds, order), nextScope)
            const here = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideContext(effect, second)
            yield* TestClock.adjust("50 seconds")
            const waiting = yield* here(RunStore.use((store) => store.waitingOn(threadId)))
            if (Option.isSome(waiting)) yield* withTime(here(submit(threadId)))
            yield* TestClock.adjust("50 seconds")

            const rows = [...state.runs.values()]
            for (const { log, run } of rows) {
              assert.include(["COMPLETED", "FAILED"], run.status, `write ${at}`)
              const ends = (log as ReadonlyArray<TurnEvent>).filter(isTerminal)
              assert.strictEqual(ends.length, run.leg + 1, `write ${at}`)
            }
            const completed = rows.filter(({ run }) => run.status === "COMPLETED").map(({ run }) => run.id)
            assert.sameMembers([...new Set(deeds.learned)], completed, `learned after write ${at}`)
            assert.strictEqual(new Set(deeds.recalled).size, deeds.recalled.length, `recalled twice at write ${at}`)
            const spent = deeds.spent.reduce((sum, cost) => sum + cost, 0)
            const charged = yield* here(spentIn)
            assert.isAtMost(charged, spent, `charged too much at write ${at}`)
            if (completed.length > 0) assert.strictEqual(charged, spent, `charged too little at write ${at}`)

            yield* doom.bury
            yield* Scope.close(scope, Exit.void)
            yield* Scope.close(nextScope, Exit.void)
            client.interruptUnsafe()
          }
        }).pipe(Principal.provide("ada"), Effect.provide(quiet)),
      { timeout: 60_000 }
    )
  }
})
