import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { callbackLimitedTo, Deadlines, inTime, limitedTo, makeDeadlines } from "../../src/primitives/Deadlines.ts"

const late = () => Effect.succeed("late")

describe("deadlines", () => {
  it.effect("give what ends in time, and otherwise what is said of the late, each at its own moment", () =>
    Effect.gen(function* () {
      const deadlines = yield* makeDeadlines
      const wait = (time: number, work: number) =>
        Effect.forkChild(deadlines.within(time, Effect.as(Effect.sleep(work), "done"), late))
      // The second one's deadline is the earlier: whoever sleeps for the first must wake for it.
      const [long, short, quick] = [yield* wait(1000, 2000), yield* wait(300, 2000), yield* wait(500, 100)]
      yield* TestClock.adjust(100)
      assert.strictEqual(yield* Fiber.join(quick), "done")
      yield* TestClock.adjust(199)
      assert.isUndefined(short.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* Fiber.join(short), "late")
      yield* TestClock.adjust(699)
      assert.isUndefined(long.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* Fiber.join(long), "late")
    })
  )

  it.effect("may move while the work goes on", () =>
    Effect.gen(function* () {
      const deadlines = yield* makeDeadlines
      let due = 100
      const fiber = yield* Effect.forkChild(deadlines.limit(Effect.never, () => due, late))
      yield* TestClock.adjust(50)
      due = 250
      yield* TestClock.adjust(199)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* Fiber.join(fiber), "late")
    })
  )

  it.effect("interrupt what is late, or not wanted any more, and wait for no cleanup", () =>
    Effect.gen(function* () {
      const deadlines = yield* makeDeadlines
      let interrupted = 0
      const stubborn = Effect.onInterrupt(Effect.never, () =>
        Effect.andThen(
          Effect.sync(() => void interrupted++),
          Effect.never
        )
      )
      const given = yield* Effect.forkChild(deadlines.within(100, stubborn, late))
      const unwanted = yield* Effect.forkChild(deadlines.within(100, stubborn, late))
      yield* TestClock.adjust(10)
      yield* Fiber.interrupt(unwanted)
      assert.strictEqual(interrupted, 1)
      yield* TestClock.adjust(90)
      assert.strictEqual(yield* Fiber.join(given), "late")
      assert.strictEqual(interrupted, 2)
    })
  )

  it.effect("pass on failures, defects and what is done already", () =>
    Effect.gen(function* () {
      const deadlines = yield* makeDeadlines
      assert.strictEqual(yield* deadlines.within(100, Effect.succeed("done"), late), "done")
      assert.strictEqual(yield* Effect.flip(deadlines.within(100, Effect.fail("no"), late)), "no")
      const defect = Effect.suspend(() => Effect.die("broken"))
      assert.strictEqual((yield* Effect.exit(deadlines.within(100, defect, late)))._tag, "Failure")
    })
  )

  it.effect("are there for a single wait too, in the context of the work", () =>
    Effect.gen(function* () {
      const stubborn = Effect.onInterrupt(Effect.never, () => Effect.never)
      const given = yield* Effect.forkChild(inTime(100, late)(stubborn))
      const kept = yield* inTime(100, late)(Effect.addFinalizer(() => Effect.void).pipe(Effect.as("done")))
      assert.strictEqual(kept, "done")
      yield* TestClock.adjust(99)
      assert.isUndefined(given.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* Fiber.join(given), "late")
    })
  )

  it.effect("take a callback without a fiber, and hear it once", () =>
    Effect.gen(function* () {
      const deadlines = yield* makeDeadlines
      const heard: Array<(answer: Effect.Effect<string>) => void> = []
      const wait = Effect.forkChild(
        deadlines.callback<string, never>(100, (resume) => void heard.push(resume), late),
        { startImmediately: true }
      )
      const [quick, slow] = [yield* wait, yield* wait]
      heard[0]?.(Effect.succeed("done"))
      assert.strictEqual(yield* Fiber.join(quick), "done")
      yield* TestClock.adjust(99)
      assert.isUndefined(slow.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* Fiber.join(slow), "late")
      for (const resume of heard) resume(Effect.succeed("too late"))
    })
  )

  it.effect("are those of the fiber where it brings some along, and of a timer elsewhere", () =>
    Effect.gen(function* () {
      const used: Array<string> = []
      const own = yield* makeDeadlines
      const shared: typeof Deadlines.Service = {
        limit: own.limit,
        within: (...wait) => (used.push("within"), own.within(...wait)),
        callback: (...wait) => (used.push("callback"), own.callback(...wait))
      }
      const no = () => Effect.fail("late" as const)
      const waits = Effect.all(
        [Effect.flip(limitedTo(100, Effect.never, no)), callbackLimitedTo(100, () => {}, late)],
        {
          concurrency: "unbounded"
        }
      )
      const alone = yield* Effect.forkChild(waits)
      const together = yield* Effect.forkChild(Effect.provideService(waits, Deadlines, shared))
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(alone), ["late", "late"])
      assert.deepStrictEqual(yield* Fiber.join(together), ["late", "late"])
      assert.deepStrictEqual(used, ["within", "callback"])
    })
  )
})
