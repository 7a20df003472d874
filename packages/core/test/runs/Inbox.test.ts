import { Inbox, Principal, StoreUnavailable } from "@colloquy/core"
import { InboxStore } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
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
