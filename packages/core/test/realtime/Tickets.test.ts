import { Principal } from "@colloquy/core"
import { Tickets } from "@colloquy/core/realtime"
import { TestRealtime } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { failureFrom } from "../support/Story.ts"

it.effect("tickets are counted by owner: one too many is refused until the first ones have ended", () =>
  Effect.gen(function* () {
    const tickets = yield* Tickets
    const issue = tickets.issue({ threadId: null, assistantId: null, origin: null })
    const [ada, bob] = [Principal.provide("ada"), Principal.provide("bob")]
    yield* ada(issue)
    yield* ada(issue)
    assert.deepInclude(yield* failureFrom(ada(issue)), { _tag: "TooManyTickets", waitMillis: 30_000 })
    yield* bob(issue)
    yield* TestClock.adjust("30 seconds")
    yield* ada(issue)
    assert.strictEqual((yield* failureFrom(ada(issue)))._tag, "TooManyTickets")
  }).pipe(Effect.provide(TestRealtime.layer([], { limits: { ticketsOfOwner: 2 } })))
)
