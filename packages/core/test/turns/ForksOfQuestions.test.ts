/** A question that is sent again on a fork: requests with one key at once, and a fork on which no turn begins. */
import { say } from "@colloquy/testing"
import { InsufficientCredit, type MeteringPort, Threads, Turns } from "@colloquy/core"
import { firstPage } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { failureFrom, story, transcript } from "../support/Story.ts"

const keyed = (key: string) => ({ idempotency: { key, fingerprint: key } })

/** A meter whose answers a test gives in advance; afterwards there is credit. */
const meter = () => {
  const answers: Array<Effect.Effect<void, InsufficientCredit>> = []
  const port: MeteringPort = {
    ensureCredit: () => Effect.suspend(() => answers.shift() ?? Effect.void),
    record: () => Effect.void
  }
  return { answers, port }
}

const threadCount = Effect.gen(function* () {
  return (yield* (yield* Threads).list({ page: firstPage, includeMessages: false })).length
})

const asked = Effect.gen(function* () {
  const turns = yield* Turns
  const { messageId, threadId } = yield* turns.send({ content: "1" })
  return turns.send({ content: "", threadId, instead: { messageId, in: "fork" }, ...keyed("again") })
})

describe("a question that is sent again on a fork", () => {
  const slow = meter()
  story(
    "keeps the turn of the second request with its key when the first one goes away",
    [say("one"), say("two")],
    Effect.gen(function* () {
      const again = yield* asked
      slow.answers.push(Effect.never)
      const first = yield* Effect.forkChild(again, { startImmediately: true })
      while (slow.answers.length > 0) yield* Effect.yieldNow
      const { threadId } = yield* again
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(
        (yield* transcript(threadId)).map(([, , content]) => content),
        ["1", "two"]
      )
    }),
    { metering: slow.port }
  )

  const poor = meter()
  story(
    "leaves one fork when it was refused once and then comes twice at once",
    [say("one"), say("two")],
    Effect.gen(function* () {
      const again = yield* asked
      poor.answers.push(Effect.fail(new InsufficientCredit()))
      assert.strictEqual((yield* failureFrom(again))._tag, "InsufficientCredit")
      assert.strictEqual(yield* threadCount, 1)
      const both = yield* Deferred.make<void>()
      poor.answers.push(Deferred.await(both), Deferred.await(both))
      const sent = yield* Effect.forkChild(Effect.all([again, again], { concurrency: 2 }), { startImmediately: true })
      while (poor.answers.length > 0) yield* Effect.yieldNow
      yield* Deferred.succeed(both, undefined)
      const [first, second] = yield* Fiber.join(sent)
      assert.strictEqual(first.threadId, second.threadId)
      assert.strictEqual(yield* threadCount, 2)
    }),
    { metering: poor.port }
  )

  story(
    "is a conflict when the key of its fork is that of a message",
    [say("one")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { messageId, threadId } = yield* turns.send({ content: "1", ...keyed("fork of again") })
      const again = turns.send({ content: "", threadId, instead: { messageId, in: "fork" }, ...keyed("again") })
      assert.strictEqual((yield* failureFrom(again))._tag, "IdempotencyConflict")
    })
  )
})
