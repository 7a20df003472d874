import { InMemory } from "@colloquy/adapters/in-memory"
import { Crash, hang, say, TestKernel } from "@colloquy/testing"
import { Assistants, Erasures, FollowUps, Principal, Turns } from "@colloquy/core"
import { ErasureId, firstPage, FollowUpId, newId, OwnerStore, typedWorker } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { failureFrom, openKernel } from "../support/Story.ts"

const send = Turns.use((turns) => turns.send({ content: "?" }))
const begin = Erasures.use((erasures) => erasures.begin)
const assistants = Effect.flatMap(Assistants, (all) => all.list(firstPage))

describe("the erasure of an owner", () => {
  it.effect("cancels runs under way, refuses new ones, and leaves nothing of the owner and all of others", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const kernel = yield* openKernel([say("One."), say("Theirs."), hang, say("New.")], {
        stores: InMemory.layerFrom(state)
      })
      yield* kernel.run(send)
      yield* Principal.provide("bob")(kernel.run(send))
      const turn = yield* kernel.run(Turns.use((turns) => turns.start({ content: "?", stream: true })))
      const erasure = yield* kernel.run(begin)
      assert.deepInclude(yield* failureFrom(kernel.run(send)), { _tag: "StoreUnavailable", isErasing: true })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* turn.reply).status, "CANCELLED")
      const report = yield* kernel.run(Erasures.use((erasures) => erasures.get(erasure.id)))
      assert.deepStrictEqual([report.erasure.status, report.left], ["COMPLETED", {}])
      assert.deepStrictEqual(yield* kernel.run(assistants), [])
      assert.strictEqual((yield* Principal.provide("bob")(kernel.run(assistants))).length, 1)
      const again = yield* kernel.run(send)
      assert.strictEqual(again.content, "New.")
    }).pipe(Principal.provide("ada"))
  )

  it.effect("does not wait behind other work of the owner, and drops what has not begun", () =>
    Effect.gen(function* () {
      const kernel = yield* openKernel([])
      let begun = 0
      const run = Effect.andThen(
        Effect.sync(() => begun++),
        Effect.sleep("10 seconds")
      )
      const slow = { kind: "slow", payload: Schema.Null, run: () => run }
      const order = FollowUps.use((followUps) =>
        Effect.forEach(Array.from({ length: 50 }), () =>
          Effect.flatMap(newId(FollowUpId), (id) =>
            followUps.add([
              { id, kind: "slow", key: id, payload: null, sequence: null, delayMillis: 0, createdAt: new Date(0) }
            ])
          )
        )
      )
      yield* kernel.run(FollowUps.use((followUps) => followUps.register(typedWorker(slow))))
      yield* kernel.run(order)
      yield* TestClock.adjust("1 second")
      const erasure = yield* kernel.run(begin)
      yield* TestClock.adjust("15 seconds")
      const report = yield* kernel.run(Erasures.use((erasures) => erasures.get(erasure.id)))
      assert.deepStrictEqual([report.erasure.status, report.left], ["COMPLETED", {}])
      assert.isBelow(begun, 10)
    }).pipe(Effect.scoped, Principal.provide("ada"))
  )

  it.effect("is gone on with although its follow-up was never stored, and the log says so", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const stores = InMemory.layerFrom(state)
      const { id } = yield* Effect.provide(
        Effect.flatMap(newId(ErasureId), (erasureId) =>
          OwnerStore.use((store) => store.beginErasure(erasureId, new Date(0)))
        ),
        stores
      )
      const said: Array<string> = []
      const log = Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])
      const kernel = yield* Layer.build(Layer.provide(TestKernel.layer([], { stores }), log))
      yield* TestClock.adjust("2 minutes")
      const report = yield* Effect.provideContext(
        Erasures.use((erasures) => erasures.get(id)),
        kernel
      )
      assert.strictEqual(report.erasure.status, "COMPLETED")
      assert.include(said.join("\n"), "1 pieces of work (owners.erase) waited without a follow-up")
    }).pipe(Principal.provide("ada"))
  )

  it.effect("is gone on with by another process, whichever write was the last of the first one", () =>
    Effect.gen(function* () {
      for (let at = 1; at <= 12; at++) {
        const state = InMemory.makeState()
        const stores = InMemory.layerFrom(state)
        const other = yield* openKernel([], { stores, model: { otherwise: [say("Said.")] } })
        yield* Effect.forEach(Array.from({ length: 4 }), () => other.run(send))
        yield* other.close
        const doom = yield* Crash.make({ at })
        const dying = yield* openKernel([], { stores: doom.stores(stores) })
        yield* Effect.forkChild(Effect.ignoreCause(dying.run(begin)), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        if (!doom.isDead()) yield* Effect.sync(doom.kill)
        const next = yield* openKernel([], { stores })
        const erasure = yield* next.run(begin)
        yield* TestClock.adjust("2 minutes")
        const report = yield* next.run(Erasures.use((erasures) => erasures.get(erasure.id)))
        assert.deepStrictEqual([report.erasure.status, report.left], ["COMPLETED", {}], `write ${at}`)
        assert.deepStrictEqual(yield* next.run(assistants), [])
        yield* doom.bury
      }
    }).pipe(Principal.provide("ada"))
  )
})
