/** The process dies at every write of a turn and of its learning: what another process finds is learned once. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { type Beat, Crash } from "@colloquy/testing"
import { Principal, Turns } from "@colloquy/core"
import { MemoryStore } from "@colloquy/core/memory"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { quiet } from "../support/Story.ts"
import { memoryKernel, operations } from "./MemoryKernel.ts"

let facts = 0

/** Another fact each time it is asked, in whatever process: what is learned twice shows. */
const another: Beat = {
  _tag: "Text",
  get deltas() {
    facts++
    return [operations({ op: "ADD", text: `The user knows fact number ${facts}.`, message: 1, quote: "facts" })]
  }
}

const body = Effect.gen(function* () {
  yield* (yield* Turns).send({ content: "I know facts.", sendToModel: false, options: { memory: { mode: "Auto" } } })
  yield* TestClock.adjust("1 minute")
})

const recoverOn = (state: InMemory.State) =>
  TestClock.adjust("10 minutes").pipe(Effect.provide(memoryKernel([], state, { model: { otherwise: another } })))

const contentsIn = (state: InMemory.State) =>
  [...state.memories.values()].flatMap(({ rows }) => [...rows.values()].map(({ memory }) => memory.content))

/** Runs the body in a process that may die, lets another one go on, and answers how many writes the first one made. */
const livesAndDies = Effect.fnUntraced(function* (
  state: InMemory.State,
  point: Crash.CrashPoint,
  memories: Layer.Layer<MemoryStore> = InMemory.layerFrom(state)
) {
  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  const stores = doom.stores(InMemory.layerFrom(state))
  const kernel = yield* Layer.buildWithScope(
    memoryKernel([], state, { stores, model: { otherwise: another } }, memories),
    scope
  )
  const living = yield* Effect.forkChild(Effect.provideContext(body, kernel))
  yield* TestClock.adjust("2 minutes")
  yield* doom.bury
  yield* Effect.forkChild(Scope.close(scope, Exit.void))
  yield* TestClock.adjust("2 minutes")
  living.interruptUnsafe()
  yield* recoverOn(state)
  return doom.writes()
})

describe("learning, when the process dies", () => {
  for (const hears of [true, false]) {
    it.effect(`is done once, whatever was written last (it hears of it: ${hears})`, () =>
      Effect.gen(function* () {
        const whole = InMemory.makeState()
        const writes = yield* livesAndDies(whole, {})
        assert.strictEqual(contentsIn(whole).length, 1)
        assert.isAbove(writes, 5)
        let learned = 0
        for (let at = 1; at <= writes; at++) {
          const state = InMemory.makeState()
          yield* livesAndDies(state, { at, hears })
          const contents = contentsIn(state)
          assert.strictEqual(contents.length, state.followUps.size, `died at write ${at}`)
          assert.strictEqual(state.appliedRuns.size, state.followUps.size)
          for (const { followUp } of state.followUps.values()) assert.strictEqual(followUp.status, "done")
          learned += contents.length
        }
        assert.isAbove(learned, 3)
      }).pipe(Principal.provide("ada"), Effect.provide(quiet))
    )
  }

  for (const [moment, isApplied] of [
    ["before the memories", false],
    ["between the memories and the end of the follow-up", true]
  ] as const) {
    it.effect(`is done once when it dies ${moment}`, () =>
      Effect.gen(function* () {
        const state = InMemory.makeState()
        const dying = Layer.effect(
          MemoryStore,
          MemoryStore.useSync((store) =>
            MemoryStore.of({
              ...store,
              apply: (changes) => Effect.andThen(isApplied ? store.apply(changes) : Effect.void, Effect.never)
            })
          )
        ).pipe(Layer.provide(InMemory.layerFrom(state)))
        yield* livesAndDies(state, {}, dying)
        assert.strictEqual(contentsIn(state).length, 1)
        for (const { followUp } of state.followUps.values()) assert.strictEqual(followUp.status, "done")
      }).pipe(Principal.provide("ada"), Effect.provide(quiet))
    )
  }
})
