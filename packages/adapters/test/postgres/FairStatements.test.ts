/** The statements of a client with one connection: in turns by owner, without a database behind them. */
import { Principal } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { makeFairStatements } from "../../src/postgres/FairStatements.ts"

/** Statements that are answered when the test says so, in the order in which they began. */
const makeConnection = () => {
  const inTurn = makeFairStatements()
  const began: Array<{ readonly name: string; readonly answer: Deferred.Deferred<void> }> = []
  const names: Array<string> = []
  const send = (owner: string, name: string) =>
    Effect.forkChild(
      inTurn(
        Effect.suspend(() => {
          const answer = Deferred.makeUnsafe<void>()
          began.push({ name, answer })
          names.push(name)
          return Deferred.await(answer)
        })
      ).pipe(Principal.provide(owner)),
      { startImmediately: true }
    )
  const answerAll = Effect.gen(function* () {
    for (let next = began.shift(); next !== undefined; next = began.shift()) {
      yield* Deferred.succeed(next.answer, undefined)
      yield* Effect.yieldNow
    }
  })
  return { answerAll, names, send }
}

describe("statements of one connection", () => {
  it.effect("run one at a time, and those of another owner are among the next", () =>
    Effect.gen(function* () {
      const { answerAll, names, send } = makeConnection()
      for (let each = 1; each <= 50; each++) yield* send("ada", `ada ${each}`)
      yield* send("bob", "bob")
      assert.deepStrictEqual(names, ["ada 1"])
      yield* answerAll
      assert.strictEqual(names.length, 51)
      assert.isBelow(names.indexOf("bob"), 4)
      assert.deepStrictEqual(
        names.filter((name) => name !== "bob"),
        Array.from({ length: 50 }, (_, index) => `ada ${index + 1}`)
      )
    })
  )

  it.effect("leave their places when they are interrupted, before and after their turn has come", () =>
    Effect.gen(function* () {
      const { answerAll, names, send } = makeConnection()
      const running = yield* send("ada", "running")
      const waiting = yield* send("ada", "waiting")
      yield* send("ada", "last")
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(names, ["running"])
      yield* Fiber.interrupt(running)
      yield* answerAll
      assert.deepStrictEqual(names, ["running", "last"])
    })
  )
})
