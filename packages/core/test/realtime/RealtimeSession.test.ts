// A voice session as a story: what a client says and hears, what is stored, and every rule and limit of the specification in virtual time.
import { ScriptedRealtime, TestRealtime } from "@colloquy/testing"
import { ThreadId } from "@colloquy/core"
import { AssistantStore, firstPage, ThreadStore, UsageLedger } from "@colloquy/core/adapters"
import { asNewOwner, sampleAssistant } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { frame, stored, tools, voiceStory as story } from "../support/Voice.ts"

const { callTool, cancelTool, close, fail, hang, hear, interrupt, read, say } = ScriptedRealtime

describe("A voice session", () => {
  story(
    "begins, hears, answers, stops, and leaves ordinary messages in the order in which they were spoken",
    [[hear("What is two and two?"), say("Four."), hear("And three?"), say("Seven.")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const begin = yield* client.next("SessionBegin")
      assert.deepStrictEqual(begin.inputFormat, { encoding: "pcm_s16le", sampleRate: 24_000, channels: 1 })
      client.speak(frame)
      yield* client.next("ResponseDone")
      client.speak(frame)
      yield* client.next("ResponseDone")
      client.send({ _tag: "Stop" })
      assert.strictEqual(yield* client.end, "ended")
      const last = client.events.at(-1)
      assert.deepStrictEqual(last, {
        _tag: "SessionEnded",
        providerCostUsd: 0.002,
        chargedUsd: 0.002,
        reconciliationRequired: false
      })
      assert.deepStrictEqual(yield* stored(begin.threadId), [
        ["user", "What is two and two?"],
        ["assistant", "Four."],
        ["user", "And three?"],
        ["assistant", "Seven."]
      ])
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.deepStrictEqual(
        days.map(({ purpose, usage }) => [purpose, usage.inputTokens, usage.outputTokens]),
        [["realtime", 20, 2]]
      )
    })
  )

  story(
    "commits every finished turn at once, before the session ends",
    [[hear("One?"), say("Yes."), hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ResponseDone")
      yield* TestClock.adjust(0)
      assert.lengthOf(yield* stored(threadId), 2)
      assert.isNull(client.closed())
    })
  )

  story(
    "gives the model the thread's history and the assistant's instructions and tools",
    [[say("Hello.")]],
    Effect.gen(function* () {
      const assistant = yield* sampleAssistant({ systemPrompt: "Be brief.", tools })
      yield* (yield* AssistantStore).insert(assistant)
      const client = yield* TestRealtime.connect({ assistantId: assistant.id })
      yield* client.next("ResponseDone")
      client.send({ _tag: "Stop" })
      yield* client.end
      const [setup] = (yield* TestRealtime.ScriptedVoice).setups
      assert.strictEqual(setup?.instructions, "Be brief.")
      assert.deepStrictEqual(setup?.tools, tools)
    })
  )

  story(
    "clears instructions and tools that come empty, and continues a thread by its id",
    [[hear("One?"), say("Two.")], [say("Three.")]],
    Effect.gen(function* () {
      const assistant = yield* sampleAssistant({ systemPrompt: "Be brief.", tools })
      yield* (yield* AssistantStore).insert(assistant)
      const first = yield* TestRealtime.connect({ assistantId: assistant.id, systemPrompt: "", tools: [] })
      const { threadId } = yield* first.next("SessionBegin")
      first.speak(frame)
      yield* first.next("ResponseDone")
      first.send({ _tag: "Stop" })
      yield* first.end
      const second = yield* TestRealtime.connect({ threadId })
      yield* second.next("ResponseDone")
      second.send({ _tag: "Stop" })
      yield* second.end
      const [one, two] = (yield* TestRealtime.ScriptedVoice).setups
      assert.isNull(one?.instructions)
      assert.deepStrictEqual(one?.tools, [])
      assert.deepStrictEqual(two?.history, [
        { role: "user", text: "One?" },
        { role: "assistant", text: "Two." }
      ])
      const messages = yield* (yield* ThreadStore).messages([ThreadId.make(threadId)])
      assert.deepStrictEqual(
        messages.map((message) => message.assistant),
        [null, { id: assistant.id, version: 1 }, { id: assistant.id, version: 1 }]
      )
    })
  )

  story(
    "lets the client run a tool, and stores call and result with the answer",
    [[callTool("get_time", { zone: "UTC" }, "call_1"), say("Ten.")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect({ tools })
      const { threadId } = yield* client.next("SessionBegin")
      assert.deepStrictEqual(yield* client.next("ToolCall"), {
        _tag: "ToolCall",
        toolCallId: "call_1",
        name: "get_time",
        arguments: { zone: "UTC" },
        hosted: false
      })
      client.send({
        _tag: "ToolOutputs",
        outputs: [{ toolCallId: "call_1", name: "get_time", output: { time: "10" } }]
      })
      yield* client.next("TranscriptFinal")
      client.send({ _tag: "Stop" })
      yield* client.end
      const [called, answered] = yield* (yield* ThreadStore).messages([ThreadId.make(threadId)])
      assert.deepStrictEqual(called?.toolResults, [
        { toolCallId: "call_1", toolName: "get_time", output: '{"time":"10"}', hosted: false }
      ])
      assert.deepStrictEqual(called?.toolCalls, [{ id: "call_1", name: "get_time", arguments: '{"zone":"UTC"}' }])
      assert.strictEqual(answered?.content, "Ten.")
      assert.isUndefined(client.events.find(({ _tag }) => _tag === "ToolCompleted"))
    })
  )

  story(
    "refuses outputs with another name, of an unknown, answered or cancelled call, and takes nothing of such a frame",
    [[callTool("get_time", {}, "call_1"), cancelTool("call_1"), callTool("get_time", {}, "call_2"), say("Done.")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect({ tools })
      assert.deepStrictEqual((yield* client.next("ToolCancelled")).toolCallIds, ["call_1"])
      yield* client.next("ToolCall")
      yield* client.next("ToolCall")
      const output = (toolCallId: string, name = "get_time") => ({ toolCallId, name, output: "x" })
      const refused = [
        [output("call_1")],
        [output("call_2", "Get_time")],
        [output("nobody")],
        [output("call_2"), output("call_2")],
        [output("call_2"), output("nobody")],
        [],
        Array.from({ length: 33 }, () => output("call_2"))
      ]
      for (const outputs of refused) {
        client.send({ _tag: "ToolOutputs", outputs })
        assert.strictEqual((yield* client.next("Error")).code, "invalid_tool_output")
      }
      assert.deepStrictEqual((yield* TestRealtime.ScriptedVoice).commands, [])
      client.send({ _tag: "ToolOutputs", outputs: [output("call_2")] })
      yield* client.next("TranscriptFinal")
      client.send({ _tag: "ToolOutputs", outputs: [output("call_2")] })
      assert.match((yield* client.next("Error")).message, /answered before/)
      client.send({ _tag: "Stop" })
      yield* client.end
    })
  )

  it.effect("runs a hosted tool itself: the call is told, completed, and its result goes to the model", () => {
    const lookUp = {
      definition: { name: "look_up", description: null, parameters: null },
      run: () => Effect.as(Effect.sleep("2 seconds"), { found: "tea" })
    }
    return Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      const call = yield* client.next("ToolCall")
      assert.isTrue(call.hosted)
      client.send({
        _tag: "ToolOutputs",
        outputs: [{ toolCallId: call.toolCallId, name: "look_up", output: "forged" }]
      })
      assert.match((yield* client.next("Error")).message, /run by the service/)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* client.next("ToolCompleted")).toolCallId, call.toolCallId)
      yield* client.next("TranscriptFinal")
      client.send({ _tag: "Stop" })
      yield* client.end
      assert.deepStrictEqual((yield* TestRealtime.ScriptedVoice).commands, [
        { _tag: "ToolOutputs", outputs: [{ toolCallId: call.toolCallId, name: "look_up", output: '{"found":"tea"}' }] }
      ])
      const [called] = yield* (yield* ThreadStore).messages([ThreadId.make(threadId)])
      assert.deepStrictEqual(called?.steps[0]?.hostedResults, [
        { toolCallId: call.toolCallId, toolName: "look_up", output: '{"found":"tea"}', hosted: true }
      ])
      assert.deepStrictEqual(called?.toolCalls, [])
    }).pipe(
      Effect.scoped,
      asNewOwner,
      Effect.provide(TestRealtime.layer([[callTool("look_up", {}), say("Tea.")]], { hosted: [lookUp] }))
    )
  })

  story(
    "keeps of an interrupted answer what was heard, and tells the client",
    [
      [
        hear("Count."),
        say("one two three four five six seven eight nine ten", { audio: new Uint8Array(48_000) }),
        interrupt(0.5)
      ]
    ],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("Interrupted")
      client.send({ _tag: "Stop" })
      yield* client.end
      assert.deepStrictEqual((yield* stored(threadId))[1], ["assistant", "one two three four five"])
      const finals = client.events.flatMap((event) =>
        event._tag === "TranscriptFinal" && event.role === "assistant" ? [event.text] : []
      )
      assert.strictEqual(finals.at(-1), "one two three four five")
    })
  )

  story(
    "takes a typed text, and puts it where it was said",
    [[read("Hello"), say("Hi.")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.send({ _tag: "Text", text: "Hello" })
      yield* client.next("ResponseDone")
      client.send({ _tag: "Stop" })
      yield* client.end
      assert.deepStrictEqual(yield* stored(threadId), [
        ["user", "Hello"],
        ["assistant", "Hi."]
      ])
    })
  )

  story(
    "reports a spoken turn that could not be transcribed, and goes on",
    [[hear(null), say("Pardon?"), fail("rate limited, briefly")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("TranscriptFailed")
      assert.strictEqual((yield* client.next("Error")).code, "provider_error")
      client.send({ _tag: "Stop" })
      assert.strictEqual(yield* client.end, "ended")
      assert.deepStrictEqual(yield* stored(threadId), [["assistant", "Pardon?"]])
    })
  )

  story(
    "ends with provider_closed when the vendor goes away, and keeps what was said",
    [[hear("One?"), say("Two."), close("1006")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      assert.strictEqual(yield* client.end, "fault")
      assert.strictEqual((yield* client.next("Error")).code, "provider_closed")
      assert.lengthOf(yield* stored(threadId), 2)
    })
  )

  story(
    "saves everything when the client's connection breaks, and frees the thread",
    [[hear("One?"), say("Two.")], [say("Again.")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ResponseDone")
      client.leave()
      yield* Fiber.join(client.served)
      assert.lengthOf(yield* stored(threadId), 2)
      const second = yield* TestRealtime.connect({ threadId })
      yield* second.next("ResponseDone")
      second.send({ _tag: "Stop" })
      yield* second.end
    })
  )
})
