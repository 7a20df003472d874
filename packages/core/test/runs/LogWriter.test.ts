import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { OwnerId, RunId, ThreadId } from "../../src/primitives/Ids.ts"
import { StoreUnavailable } from "../../src/primitives/StoreUnavailable.ts"
import type { LiveRun } from "../../src/runs/LiveRuns.ts"
import { LogTail } from "../../src/runs/LogTail.ts"
import { makeLogWriter } from "../../src/runs/LogWriter.ts"
import { RunLog } from "../../src/runs/RunLog.ts"
import type { Appended, LogBatch, LogEvent } from "../../src/runs/LogRecords.ts"

interface Said extends LogEvent {
  readonly _tag: "Said" | "Passing"
}

const settings = { pause: "50 millis", batch: 64 } as const

const liveRun = (name: string): LiveRun<Said> => {
  const log = new RunLog<Said>(1)
  return {
    lease: { runId: RunId.make(name), threadId: ThreadId.make("t"), ownerId: OwnerId.make("o"), token: 1 },
    log,
    tail: new LogTail(log, 0, settings, (event) => event._tag !== "Passing"),
    stopped: null,
    fiber: null
  }
}

const say = (run: LiveRun<Said>, count = 1, _tag: Said["_tag"] = "Said") => {
  for (let each = 0; each < count; each++) run.log.push((sequence) => ({ _tag, sequence }))
  run.log.wake()
}

const all: Appended = { lost: [], later: [] }

/** A writer over a store that answers as it is told, and a note of every call: `a1-3` are the events 1 to 3 of run `a`. */
const setUp = (
  answer: (batches: ReadonlyArray<LogBatch>) => Effect.Effect<Appended, StoreUnavailable> = () => Effect.succeed(all)
) =>
  Effect.gen(function* () {
    const calls: Array<string> = []
    const stopped: Array<string> = []
    const append = (batches: ReadonlyArray<LogBatch>) =>
      Effect.suspend(() => {
        calls.push(
          batches
            .map(({ events, lease }) => `${lease.runId}${events[0]?.sequence}-${events.at(-1)?.sequence}`)
            .join(" ")
        )
        return answer(batches)
      })
    const stopRun = (run: LiveRun<Said>) => Effect.sync(() => void stopped.push(run.lease.runId))
    const writer = yield* makeLogWriter({ append }, { stopRun })
    const add = (name: string) => {
      const run = liveRun(name)
      writer.add(run)
      return run
    }
    return { calls, stopped, writer, add }
  })

const away = Effect.suspend(() => Effect.fail(new StoreUnavailable({ operation: "append", cause: null })))

describe("the writer of logs", () => {
  it.effect("lets events wait for company, and writes what is new after each pause", () =>
    Effect.gen(function* () {
      const { add, calls } = yield* setUp()
      const a = add("a")
      say(a)
      yield* TestClock.adjust("20 millis")
      say(a, 2)
      yield* TestClock.adjust("29 millis")
      assert.deepStrictEqual(calls, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(calls, ["a1-3"])
      yield* TestClock.adjust("1 minute")
      say(a)
      yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual(calls, ["a1-3", "a4-4"])
    })
  )

  it.effect("writes the logs of many runs in one call, those that are due soon included", () =>
    Effect.gen(function* () {
      const { add, calls } = yield* setUp()
      const [a, b, c] = [add("a"), add("b"), add("c")]
      say(a)
      yield* TestClock.adjust("20 millis")
      say(b, 2)
      yield* TestClock.adjust("20 millis")
      say(c)
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(calls, ["a1-1 b1-2"])
      yield* TestClock.adjust("40 millis")
      assert.deepStrictEqual(calls, ["a1-1 b1-2", "c1-1"])
    })
  )

  it.effect("does not wait with what is urgent, nor with a full batch", () =>
    Effect.gen(function* () {
      const { add, calls } = yield* setUp()
      const [a, b] = [add("a"), add("b")]
      say(b)
      say(a)
      a.tail.writeSoon()
      a.log.wake()
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(calls, ["a1-1"])
      say(a, settings.batch)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(calls, ["a1-1", "a2-65"])
      yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual(calls, ["a1-1", "a2-65", "b1-1"])
    })
  )

  it.effect("writes nothing for events of the moment", () =>
    Effect.gen(function* () {
      const { add, calls } = yield* setUp()
      const a = add("a")
      say(a, 3, "Passing")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(calls, [])
      say(a)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(calls, ["a4-4"])
    })
  )

  it.effect("tries again after a pause while the store is away, however urgent it is, and writes everything then", () =>
    Effect.gen(function* () {
      let isAway = true
      const { add, calls } = yield* setUp(() => (isAway ? away : Effect.succeed(all)))
      const a = add("a")
      say(a)
      a.tail.writeSoon()
      a.log.wake()
      yield* TestClock.adjust(0)
      say(a, 100)
      yield* TestClock.adjust("49 millis")
      assert.deepStrictEqual(calls, ["a1-1"])
      isAway = false
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(calls, ["a1-1", "a1-101"])
    })
  )

  it.effect("keeps for later what somebody else is just changing, and stops a run that is lost", () =>
    Effect.gen(function* () {
      const ids = (batches: ReadonlyArray<LogBatch>, name: string) =>
        batches.map(({ lease }) => lease.runId).filter((id) => id === name)
      let first = true
      const { add, calls, stopped } = yield* setUp((batches) => {
        const answer = { lost: ids(batches, "lost"), later: first ? ids(batches, "busy") : [] }
        first = false
        return Effect.succeed(answer)
      })
      for (const name of ["busy", "fine", "lost"]) say(add(name))
      yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual([...calls], ["busy1-1 fine1-1 lost1-1"])
      assert.deepStrictEqual(stopped, ["lost"])
      yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual(calls.slice(1), ["busy1-1"])
    })
  )

  it.effect("leaves a log that breaks the call to its settlement, and writes the others", () =>
    Effect.gen(function* () {
      const { add, calls, stopped } = yield* setUp((batches) =>
        batches.some(({ lease }) => lease.runId === "bad") ? Effect.die(new Error("no JSON")) : Effect.succeed(all)
      )
      const [a, bad, c] = [add("a"), add("bad"), add("c")]
      for (const run of [a, bad, c]) say(run)
      yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual(calls, ["a1-1 bad1-1 c1-1", "a1-1", "bad1-1", "c1-1"])
      for (const run of [a, bad, c]) say(run)
      yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual(calls.slice(4), ["a2-2 c2-2"])
      assert.deepStrictEqual(stopped, [])
      assert.deepStrictEqual(
        bad.tail.rest().events.map(({ sequence }) => sequence),
        [1, 2]
      )
    })
  )

  it.effect("begins nothing more for a run that is closed, and tells nobody that it was lost", () =>
    Effect.gen(function* () {
      const { add, calls, stopped, writer } = yield* setUp((batches) =>
        Effect.sync(() => {
          if (calls.length === 1) writer.close(b)
          return { lost: batches.map(({ lease }) => lease.runId).filter((id) => id === "b"), later: [] }
        })
      )
      const [a, b] = [add("a"), add("b")]
      say(a)
      writer.close(a)
      say(b)
      yield* TestClock.adjust("50 millis")
      say(b)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(calls, ["b1-1"])
      assert.deepStrictEqual(stopped, [])
    })
  )

  for (const [title, answer] of [
    ["whose call breaks", Effect.die(new Error("no JSON"))],
    ["whose lease is lost", Effect.succeed({ lost: [RunId.make("a")], later: [] })]
  ] as const) {
    it.effect(`tells who waits for a log ${title} that it is not stored`, () =>
      Effect.gen(function* () {
        const { add } = yield* setUp(() => answer)
        const a = add("a")
        say(a)
        const stored = yield* Effect.forkChild(a.tail.stored, { startImmediately: true })
        yield* TestClock.adjust("50 millis")
        assert.isFalse(yield* Fiber.join(stored))
        assert.isFalse(yield* a.tail.stored)
      })
    )
  }

  it.effect("tells who waits for a log when it is stored", () =>
    Effect.gen(function* () {
      const { add } = yield* setUp()
      const a = add("a")
      say(a)
      const stored = yield* Effect.forkChild(a.tail.stored, { startImmediately: true })
      yield* TestClock.adjust(0)
      assert.isTrue(yield* Fiber.join(stored))
    })
  )
})
