/** A voice session as a unit test: no socket, no sound, and a test clock. */
import { ScriptedRealtime, TestRealtime } from "@colloquy/testing"
import { Principal, ThreadId, Threads } from "@colloquy/core"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

const { callTool, hear, say } = ScriptedRealtime

const weather = { name: "weather", description: null, parameters: null }

it.effect("the assistant looks the weather up before it answers", () =>
  Effect.gen(function* () {
    const client = yield* TestRealtime.connect({ tools: [weather] })
    const { threadId } = yield* client.next("SessionBegin")
    client.speak(new Uint8Array(4800))
    const { name, toolCallId } = yield* client.next("ToolCall")
    client.send({ _tag: "ToolOutputs", outputs: [{ toolCallId, name, output: "sun" }] })
    yield* client.next("TranscriptFinal")
    assert.strictEqual((yield* client.next("TranscriptFinal")).text, "It is sunny.")
    client.send({ _tag: "Stop" })
    assert.strictEqual(yield* client.end, "ended")
    const { messages } = yield* (yield* Threads).get(ThreadId.make(threadId))
    assert.deepStrictEqual(
      messages.map(({ content }) => content),
      ["How is the weather?", null, "It is sunny."]
    )
  }).pipe(
    Effect.scoped,
    Principal.provide("ada"),
    Effect.provide(TestRealtime.layer([[hear("How is the weather?"), callTool("weather", {}), say("It is sunny.")]]))
  )
)
