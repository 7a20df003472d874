import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { pullStream } from "../../src/primitives/PullStream.ts"

describe("a stream of one pull function", () => {
  it.effect("gives what is pulled, in a scope that ends with each run", () =>
    Effect.gen(function* () {
      let closed = 0
      const stream = pullStream<number>((scope) => {
        let last = 0
        const pull = Effect.suspend(() => (last === 4 ? Cause.done() : Effect.succeed([++last, ++last] as const)))
        const closing = Effect.sync(() => {
          closed++
        })
        return Effect.as(Scope.addFinalizer(scope, closing), pull)
      })
      assert.deepStrictEqual(yield* Stream.runCollect(stream), [1, 2, 3, 4])
      assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(stream, 1)), [1])
      assert.deepStrictEqual(
        yield* stream.pipe(
          Stream.map((each) => each * 2),
          Stream.runCollect
        ),
        [2, 4, 6, 8]
      )
      assert.strictEqual(closed, 3)
    })
  )

  it.effect("fails with the error of its beginning, and with one of a pull", () =>
    Effect.gen(function* () {
      const never = pullStream<number, string>(() => Effect.fail("no beginning"))
      assert.strictEqual(yield* Effect.flip(Stream.runCollect(never)), "no beginning")
      const broken = pullStream<number, string>(() => Effect.succeed(Effect.fail("broken")))
      assert.strictEqual(yield* Effect.flip(Stream.runCollect(broken)), "broken")
    })
  )
})
