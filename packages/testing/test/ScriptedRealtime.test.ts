// The scripted voice model is exact: what of a script is not played, and what it does not have, fails the test when its scope closes.
import { ScriptedRealtime, TestRealtime } from "@colloquy/testing"
import { Principal } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"

const { hang, hear, pause, read, say } = ScriptedRealtime

type Beats = ReadonlyArray<ReadonlyArray<ScriptedRealtime.VoiceBeat>>

/** What the script complains of after this conversation. */
const complaintAfter = (
  script: Beats,
  conversation: Effect.Effect<void, never, TestRealtime.Services | Principal | Scope.Scope>
) =>
  Effect.scoped(conversation).pipe(
    Principal.provide("ada"),
    Effect.provide(TestRealtime.layer(script)),
    Effect.exit,
    Effect.map((exit) => (Exit.isSuccess(exit) ? "" : String(exit.cause)))
  )

/** Comes, and goes without a word. */
const visit = Effect.gen(function* () {
  const client = yield* TestRealtime.connect()
  yield* client.next("SessionBegin")
  client.send({ _tag: "Stop" })
  yield* client.end
})

describe("a scripted voice model", () => {
  it.effect("is content when every beat was played", () =>
    Effect.gen(function* () {
      const script = [[hear("Hello?"), say("Hello."), hang]]
      const heard = Effect.gen(function* () {
        const client = yield* TestRealtime.connect()
        yield* client.next("SessionBegin")
        client.speak(new Uint8Array(960))
        yield* client.next("ResponseDone")
        client.send({ _tag: "Stop" })
        yield* client.end
      })
      assert.strictEqual(yield* complaintAfter(script, heard), "")
    })
  )

  it.effect("complains of beats that were not played", () =>
    Effect.gen(function* () {
      const complaint = yield* complaintAfter([[hear("Hello?"), say("Hello.")]], visit)
      assert.include(complaint, "ended before these beats were over: Hear, Say")
    })
  )

  it.effect("complains of a session that nobody opened, and of one that it does not have", () =>
    Effect.gen(function* () {
      assert.include(yield* complaintAfter([[hang], [hang]], visit), "has 2 sessions, but 1 were opened")
      const second = Effect.gen(function* () {
        const client = yield* TestRealtime.connect()
        assert.strictEqual((yield* client.next("Error")).code, "provider_unavailable")
        yield* client.end
      })
      assert.include(yield* complaintAfter([], second), "one more was opened")
    })
  )

  it.effect("complains of another text than the expected one", () =>
    Effect.gen(function* () {
      const other = Effect.gen(function* () {
        const client = yield* TestRealtime.connect()
        yield* client.next("SessionBegin")
        client.send({ _tag: "Text", text: "Bye" })
        yield* client.next("ResponseDone")
        client.send({ _tag: "Stop" })
        yield* client.end
      })
      const complaint = yield* complaintAfter([[read("Hello"), say("Hi.")]], other)
      assert.include(complaint, 'expects the text "Hello"')
      assert.notInclude(complaint, "Bye")
    })
  )

  it.effect("pauses by the clock of the test", () =>
    Effect.gen(function* () {
      const waits = Effect.gen(function* () {
        const client = yield* TestRealtime.connect()
        yield* client.next("SessionBegin")
        yield* TestClock.adjust("59 seconds")
        assert.isFalse(client.events.some(({ _tag }) => _tag === "ResponseDone"))
        yield* TestClock.adjust("1 second")
        yield* client.next("ResponseDone")
        client.send({ _tag: "Stop" })
        yield* client.end
      })
      assert.strictEqual(yield* complaintAfter([[pause("1 minute"), say("At last.")]], waits), "")
    })
  )
})
