import { AssistantId, Inbox, Principal, RunId, StoreUnavailable, ThreadId } from "@colloquy/core"
import { InboxStore, noUsage, type RunSummary } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"

describe("a reader of all runs while the store is away", () => {
  const away = { isAway: false, reads: 0 }
  const store = Layer.mock(InboxStore)({
    follow: () => Effect.succeed(0),
    changes: () =>
      Effect.suspend(() => {
        if (away.isAway) return Effect.fail(new StoreUnavailable({ operation: "InboxStore.changes" }))
        away.reads++
        return Effect.succeed([])
      })
  })

  it.effect("reads on when it is back within half a minute, and is told so when it is not", () =>
    Effect.gen(function* () {
      const events = yield* (yield* Inbox).events(null)
      const reader = yield* Effect.forkChild(Effect.exit(Stream.runDrain(events)), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      away.isAway = true
      yield* TestClock.adjust("25 seconds")
      const before = away.reads
      away.isAway = false
      yield* TestClock.adjust("3 seconds")
      assert.isAbove(away.reads, before)
      away.isAway = true
      yield* TestClock.adjust("25 seconds")
      assert.isUndefined(reader.pollUnsafe())
      yield* TestClock.adjust("15 seconds")
      const exit = yield* Fiber.join(reader)
      assert.isTrue(Exit.isFailure(exit))
    }).pipe(Principal.provide("ada"), Effect.provide(Inbox.layer.pipe(Layer.provide(store))))
  )
})

const run: RunSummary = {
  id: RunId.make("r"),
  threadId: ThreadId.make("t"),
  assistantId: AssistantId.make("a"),
  assistantVersion: null,
  status: "COMPLETED",
  provider: "p",
  model: "m",
  usage: noUsage,
  modelCalls: 1,
  parentRunId: null,
  scheduleId: null,
  fault: null,
  contentPreview: null,
  createdAt: new Date(0),
  startedAt: null,
  firstTokenAt: null,
  endedAt: null
}

describe("a reader whose runs change all the time", () => {
  const followed: Array<number> = []
  const store = Layer.mock(InboxStore)({
    follow: () => Effect.map(Clock.currentTimeMillis, (now) => followed.push(now)),
    // Each look takes a second and finds something.
    changes: (after) => Effect.as(Effect.sleep("1 second"), [{ mark: after + 1, run }])
  })

  it.effect("has its changes recorded for as long as it reads", () =>
    Effect.gen(function* () {
      const events = yield* (yield* Inbox).events(null)
      const reader = yield* Effect.forkChild(Stream.runDrain(events), { startImmediately: true })
      yield* TestClock.adjust("25 minutes")
      yield* Fiber.interrupt(reader)
      assert.deepStrictEqual(
        followed.map((at) => Math.floor(at / 600_000)),
        [0, 1, 2]
      )
    }).pipe(Principal.provide("ada"), Effect.provide(Inbox.layer.pipe(Layer.provide(store))))
  )
})
