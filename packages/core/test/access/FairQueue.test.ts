/** Turns by owner: nobody has more than its share, nothing waits without need, and one owner's crowd delays another by a turn at most. */
import { Principal } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { makeFairQueue } from "../../src/access/FairQueue.ts"
import { makeFairTurns } from "../../src/access/FairTurns.ts"

const Small = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 }))
const Act = Schema.Struct({ kind: Schema.Literals(["join", "join", "end", "give up"]), which: Small, millis: Small })

interface Work {
  readonly owner: string
  readonly number: number
}

describe("turns", () => {
  it.effect.prop(
    "keep to the limits, let nothing wait without need, and keep the order of each owner",
    { acts: Schema.Array(Act).check(Schema.isMaxLength(60)), atOnce: Small, share: Small },
    ({ acts, atOnce, share }) =>
      Effect.sync(() => {
        const turns = makeFairTurns<Work>({ atOnce, share })
        const waiting: Array<Work> = []
        const running: Array<Work> = []
        let number = 0
        const of = (works: ReadonlyArray<Work>, owner: string) => works.filter((work) => work.owner === owner)
        const begin = () => {
          for (let work = turns.next(); work !== undefined; work = turns.next()) {
            assert.strictEqual(of(waiting, work.owner)[0], work)
            waiting.splice(waiting.indexOf(work), 1)
            running.push(work)
          }
          assert.isAtMost(running.length, atOnce)
          for (const { owner } of running) assert.isAtMost(of(running, owner).length, share)
          if (running.length < atOnce)
            for (const { owner } of waiting) assert.strictEqual(of(running, owner).length, share)
        }
        for (const { kind, millis, which } of acts) {
          if (kind === "join") {
            const work = { owner: `owner ${which}`, number: ++number }
            waiting.push(work)
            turns.join(work.owner, work)
          } else {
            const [work] = (kind === "end" ? running : waiting).splice(which - 1, 1)
            if (work !== undefined) turns.leave(work.owner, work, kind === "end" ? millis : 0)
          }
          begin()
        }
      })
  )

  it.effect.prop(
    "an owner that comes late begins after one turn of each other owner",
    { others: Small, crowd: Small, before: Small },
    ({ before, crowd, others }) =>
      Effect.sync(() => {
        const turns = makeFairTurns<Work>({ atOnce: 1, share: 1 })
        for (let other = 0; other < others; other++)
          for (let number = 0; number < crowd * 10; number++) {
            const owner = `other ${other}`
            turns.join(owner, { owner, number })
          }
        for (let turn = 0; turn < before; turn++) {
          const work = turns.next()
          assert.isDefined(work)
          turns.leave(work.owner, work, 10)
        }
        const late = { owner: "late", number: 0 }
        turns.join("late", late)
        let begun = 0
        for (let work = turns.next(); work !== late; work = turns.next()) {
          assert.isDefined(work)
          begun++
          turns.leave(work.owner, work, 10)
        }
        assert.isAtMost(begun, others)
      })
  )

  it("who took long waits until others had as much", () => {
    const turns = makeFairTurns<Work>({ atOnce: 1, share: 1 })
    const work = (owner: string, number: number) => ({ owner, number })
    for (const each of [work("long", 1), work("long", 2), work("short", 1), work("short", 2), work("short", 3)])
      turns.join(each.owner, each)
    const order: Array<string> = []
    for (let next = turns.next(); next !== undefined; next = turns.next()) {
      order.push(`${next.owner} ${next.number}`)
      turns.leave(next.owner, next, next.owner === "long" ? 1000 : 10)
    }
    assert.deepStrictEqual(order, ["long 1", "short 1", "short 2", "short 3", "long 2"])
  })

  it("who waited for nothing has not saved time for later", () => {
    const turns = makeFairTurns<string>({ atOnce: 1, share: 1 })
    const run = (owner: string, millis: number) => {
      const work = turns.next()
      assert.isDefined(work)
      turns.leave(owner, work, millis)
      return work
    }
    turns.join("early", "early 0")
    run("early", 10)
    for (const work of ["busy 1", "busy 2", "busy 3"]) turns.join("busy", work)
    run("busy", 500)
    for (const work of ["early 1", "early 2"]) turns.join("early", work)
    const next = turns.next()
    assert.isDefined(next)
    turns.leave(next.startsWith("early") ? "early" : "busy", next, 100)
    assert.sameMembers([next, turns.next()], ["busy 2", "early 1"])
  })

  it("owners who had as much are next in the order in which they joined", () => {
    const turns = makeFairTurns<string>({ atOnce: 3, share: 1 })
    for (const owner of ["a", "b", "c"]) turns.join(owner, owner)
    assert.deepStrictEqual([turns.next(), turns.next(), turns.next()], ["a", "b", "c"])
  })

  it("the place more for work that is late is for an owner who has nothing running", () => {
    const turns = makeFairTurns<string>({ atOnce: 1, share: 3 })
    for (const work of ["a 1", "a 2"]) turns.join("a", work)
    assert.strictEqual(turns.next(), "a 1")
    assert.isUndefined(turns.next())
    turns.isLate("a 1")
    assert.isUndefined(turns.next())
    turns.join("b", "b 1")
    assert.strictEqual(turns.next(), "b 1")
    assert.isUndefined(turns.next())
  })

  it("who joins when others are gone begins with the time of those who are left, not with none", () => {
    const turns = makeFairTurns<string>({ atOnce: 1, share: 1 })
    for (const work of ["long 1", "long 2"]) turns.join("long", work)
    turns.join("short", "short 1")
    assert.strictEqual(turns.next(), "long 1")
    turns.leave("long", "long 1", 1000)
    assert.strictEqual(turns.next(), "short 1")
    turns.leave("short", "short 1", 10)
    turns.join("new", "new 1")
    assert.strictEqual(turns.next(), "long 2")
  })
})

describe("the queue", () => {
  /** Work that lasts until it is told to end, and tells that it has begun. */
  const lasting = Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const gate = yield* Deferred.make<void>()
    return { begun, gate, work: Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(gate)) }
  })

  it.effect("one owner alone never makes another wait, and what is interrupted leaves", () =>
    Effect.gen(function* () {
      const queue = yield* makeFairQueue({ atOnce: 2, share: 1 })
      const [first, second, other] = [yield* lasting, yield* lasting, yield* lasting]
      const start = (owner: string, work: Effect.Effect<void>) =>
        Effect.forkChild(Principal.provide(owner)(queue.inTurn(work)), { startImmediately: true })
      const one = yield* start("a", first.work)
      const two = yield* start("a", second.work)
      yield* Deferred.await(first.begun)
      const three = yield* start("b", other.work)
      yield* Deferred.await(other.begun)
      assert.isFalse(yield* Deferred.isDone(second.begun))
      const given = yield* start("a", Effect.die("It gave up before it began."))
      yield* Fiber.interrupt(given)
      yield* Fiber.interrupt(one)
      yield* Deferred.await(second.begun)
      yield* Deferred.succeed(second.gate, undefined)
      yield* Deferred.succeed(other.gate, undefined)
      yield* Fiber.joinAll([two, three])
    })
  )

  it.effect("two owners whose work takes long do not make a third wait for its end, and a fourth waits", () =>
    Effect.gen(function* () {
      const queue = yield* makeFairQueue({ atOnce: 2, share: 1 })
      const [one, two, three, four] = [yield* lasting, yield* lasting, yield* lasting, yield* lasting]
      const start = (owner: string, work: Effect.Effect<void>) =>
        Effect.forkChild(Principal.provide(owner)(queue.inTurn(work)), { startImmediately: true })
      const running = [yield* start("a", one.work), yield* start("b", two.work)]
      running.push(yield* start("a", Effect.void), yield* start("c", three.work), yield* start("d", four.work))
      yield* TestClock.adjust("3 seconds")
      assert.isFalse(yield* Deferred.isDone(three.begun))
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(yield* Deferred.isDone(three.begun))
      yield* TestClock.adjust("1 minute")
      assert.isFalse(yield* Deferred.isDone(four.begun))
      for (const { gate } of [one, two, three]) yield* Deferred.succeed(gate, undefined)
      yield* Deferred.await(four.begun)
      yield* Deferred.succeed(four.gate, undefined)
      yield* Fiber.joinAll(running)
      // What was late has ended, and with it the place more.
      const again = [yield* lasting, yield* lasting, yield* lasting]
      const fibers = yield* Effect.forEach(again, ({ work }, index) => start(`owner ${index}`, work))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Effect.forEach(again, ({ begun }) => Deferred.isDone(begun)), [true, true, false])
      for (const { gate } of again) yield* Deferred.succeed(gate, undefined)
      yield* Fiber.joinAll(fibers)
    })
  )

  it.effect("a failure, a defect and the absence of an owner free the place", () =>
    Effect.gen(function* () {
      const queue = yield* makeFairQueue({ atOnce: 1, share: 1 })
      assert.strictEqual(yield* Effect.flip(queue.inTurn(Effect.fail("no"))), "no")
      yield* Effect.exit(queue.inTurn(Effect.die("broken")))
      assert.strictEqual(yield* queue.inTurn(Effect.as(Effect.delay(Effect.void, "0 millis"), 1)), 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Principal.provide("a")(queue.inTurn(Effect.succeed(2))), 2)
    })
  )
})
