import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { makeOwnedFibers } from "../../src/primitives/OwnedFibers.ts"

describe("fibers of a scope", () => {
  it.effect("outlive the fiber that forked them, and the close of the scope waits until all have cleaned up", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { fork, isClosed } = yield* Scope.provide(makeOwnedFibers, scope)
      const cleaned: Array<string> = []
      const begun = yield* Deferred.make<void>()
      const mayEnd = yield* Deferred.make<void>()
      const cleanUp = (name: string) =>
        Effect.andThen(
          Deferred.await(mayEnd),
          Effect.sync(() => cleaned.push(name))
        )
      const parent = yield* Effect.forkChild(
        Effect.andThen(
          fork(Effect.onExit(Effect.never, () => cleanUp("first"))),
          fork(Effect.onExit(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never), () => cleanUp("second")))
        )
      )
      const second = yield* Fiber.join(parent)
      yield* Deferred.await(begun)
      assert.isUndefined(second.pollUnsafe())
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      assert.isTrue(isClosed())
      assert.isUndefined(closing.pollUnsafe())
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(closing)
      assert.sameMembers(cleaned, ["first", "second"])
    })
  )

  it.effect("do not begin once the scope is closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { fork } = yield* Scope.provide(makeOwnedFibers, scope)
      yield* Scope.close(scope, Exit.void)
      let began = false
      const late = yield* fork(
        Effect.sync(() => {
          began = true
        }),
        { uninterruptible: true }
      )
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(late)))
      assert.isFalse(began)
    })
  )
})
