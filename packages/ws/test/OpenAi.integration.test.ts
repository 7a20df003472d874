/** OpenAI's realtime protocol as a front door, driven by OpenAI's own client. */
import { assert, describe, it } from "@effect/vitest"
import type { HostedTool } from "@colloquy/core"
import { ScriptedRealtime, type TestRealtime } from "@colloquy/testing"
import * as Effect from "effect/Effect"
import type { RealtimeConversationItemUserMessage } from "openai/resources/realtime/realtime"
import { WebSocket } from "ws"
import { openAiRealtime } from "../src/openai/index.ts"
import { openAiClient } from "./OpenAiClient.ts"
import { startVendor } from "../../adapters/test/realtime/FakeVendor.ts"
import { startService } from "./Service.ts"
import { startVendorService } from "./VendorService.ts"

const { callTool, hang, hear, interrupt, read, say } = ScriptedRealtime

type Script = ReadonlyArray<ReadonlyArray<ScriptedRealtime.VoiceBeat>>

const start = async (script: Script, kernel: TestRealtime.TestRealtimeOptions = {}) => {
  const service = await startService(script, { basePath: "/ai", doors: [openAiRealtime] }, () => {}, kernel)
  const baseURL = service.url.replace("ws:", "http:").replace("/threads/realtime", "/v1")
  const client = (query = "", key = service.key) => openAiClient({ baseURL: `${baseURL}${query}`, key })
  return {
    ...service,
    baseURL,
    client,
    /** A client whose first text was answered, once the session before it has left the thread. */
    resumed: async (query: string, text: string) => {
      while (true) {
        const again = await client(query)
        again.typed(text)
        const answer = await again.until(() => again.all("response.done")[0] ?? again.all("error")[0])
        if (answer.type === "response.done") return again
      }
    },
    [Symbol.asyncDispose]: service.close
  }
}

const asks = (question: string, answer: string): Script => [[read(question), say(answer), hang]]

const weather = {
  type: "function" as const,
  name: "weather",
  description: "Tells the weather",
  parameters: { type: "object", properties: {} }
}

/** A tone, so that no two pieces are equal. */
const tone = (bytes: number): Buffer => {
  const audio = Buffer.alloc(bytes)
  for (let at = 0; at + 1 < bytes; at += 2) audio.writeInt16LE(Math.round(8000 * Math.sin(at / 37)), at)
  return audio
}

describe("OpenAI's realtime client", () => {
  it("hears the whole story of an answer to a text, which the thread keeps", async () => {
    await using service = await start(asks("How far is it?", "Seven hundred metres."))
    const { all, audio, events, next, send, typed } = await service.client()
    const { session } = await next("session.created")
    assert.deepInclude(session, { type: "realtime", model: "scripted-voice" })
    send({ type: "session.update", session: { type: "realtime", instructions: "Be brief." } })
    assert.deepInclude((await next("session.updated")).session, { instructions: "Be brief." })
    typed("How far is it?")
    const { conversation } = await next("conversation.created")
    const done = await next("response.done")
    assert.deepStrictEqual(
      done.response.output?.map((item) => item.type === "message" && item.content[0]),
      [{ type: "output_audio", transcript: "Seven hundred metres." }]
    )
    assert.strictEqual(done.response.status, "completed")
    assert.deepStrictEqual(done.response.usage, {
      total_tokens: 13,
      input_tokens: 10,
      output_tokens: 3,
      input_token_details: { cached_tokens: 0 },
      output_token_details: {}
    })
    assert.strictEqual(done.response.conversation_id, conversation.id)
    assert.strictEqual(audio().byteLength, 3 * 4800)
    assert.strictEqual(all("response.created").length, 1)
    const order = [
      "response.created",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_audio.delta"
    ]
    const places = order.map((type) => events.findIndex((event) => event.type === type))
    assert.deepStrictEqual(
      places,
      [...places].sort((one, other) => one - other)
    )
    assert.strictEqual(service.voice.setups[0]?.instructions, "Be brief.")
    assert.deepStrictEqual(await service.said(conversation.id ?? ""), [
      ["user", "How far is it?"],
      ["assistant", "Seven hundred metres."]
    ])
  })

  it("speaks PCM16 byte by byte both ways, and commits when it says so", async () => {
    const answer = tone(9600)
    await using service = await start([[hear("What time is it?"), say("Ten.", { audio: answer }), hang]])
    const { audio, next, send } = await service.client()
    const question = tone(24_000)
    await next("session.created")
    for (let at = 0; at < question.byteLength; at += 961) {
      send({ type: "input_audio_buffer.append", audio: question.subarray(at, at + 961).toString("base64") })
    }
    const heard = await next("conversation.item.input_audio_transcription.completed")
    assert.strictEqual(heard.transcript, "What time is it?")
    await next("response.done")
    assert.isTrue(audio().equals(answer))
    // Frames are handled in their order: this answer comes behind all pieces.
    send({ type: "response.cancel" })
    await next("error")
    assert.isTrue(Buffer.from(service.voice.heard()).equals(question))
  })

  it("runs functions: their output waits for response.create, as in the protocol", async () => {
    await using service = await start([[read("Weather?"), callTool("weather", { city: "Ulm" }), say("Sunny."), hang]])
    const { all, next, send, typed } = await service.client()
    send({ type: "session.update", session: { type: "realtime", tools: [weather] } })
    await next("session.updated")
    typed("Weather?")
    const called = await next("response.function_call_arguments.done")
    assert.deepStrictEqual([called.name, called.arguments], ["weather", '{"city":"Ulm"}'])
    const done = await next("response.done")
    assert.deepInclude(done.response.output?.[0], { type: "function_call", call_id: called.call_id, name: "weather" })
    const item = { type: "function_call_output", call_id: called.call_id, output: "sun" } as const
    send({ type: "conversation.item.create", item })
    await next("conversation.item.done")
    assert.isFalse(service.voice.commands.some(({ _tag }) => _tag === "ToolOutputs"))
    send({ type: "response.create" })
    await next("response.done")
    assert.strictEqual(all("response.output_audio_transcript.done").at(-1)?.transcript, "Sunny.")
    assert.deepStrictEqual(all("error"), [])
    send({ type: "conversation.item.create", item: { ...item, call_id: "call_of_nobody" } })
    assert.strictEqual((await next("error")).error.param, "item.call_id")
  })

  it("takes one output for each call, and one item for each id", async () => {
    await using service = await start([[read("Weather?"), callTool("weather", {}), say("Sunny."), hang]])
    const { all, next, send, typed } = await service.client()
    send({ type: "session.update", session: { type: "realtime", tools: [weather] } })
    await next("session.updated")
    typed("Weather?")
    const { call_id } = await next("response.function_call_arguments.done")
    await next("response.done")
    const give = (id: string, output: string) =>
      send({ type: "conversation.item.create", item: { type: "function_call_output", id, call_id, output } })
    give("output_1", "sun")
    give("output_2", "rain")
    assert.strictEqual((await next("error")).error.param, "item.call_id")
    send({
      type: "conversation.item.create",
      item: { type: "message", id: "output_1", role: "user", content: [{ type: "input_text", text: "Well?" }] }
    })
    assert.strictEqual((await next("error")).error.param, "item.id")
    send({ type: "response.create" })
    await next("response.done")
    assert.strictEqual(all("response.output_audio_transcript.done").at(-1)?.transcript, "Sunny.")
    const sent = service.voice.commands.flatMap((each) => (each._tag === "ToolOutputs" ? each.outputs : []))
    assert.deepStrictEqual(
      sent.map(({ output }) => output),
      ["sun"]
    )
    give("output_3", "snow")
    assert.strictEqual((await next("error")).error.param, "item.call_id")
  })

  const pay: HostedTool = {
    definition: { name: "pay", description: null, parameters: null },
    needsApproval: true,
    run: () => Effect.succeed("paid")
  }

  it.each([
    [true, "paid"],
    [false, "Error: the call was not run, because a person rejected it. Their reason: Too dear."]
  ] as const)("asks for an approval of a hosted tool, and the answer %s counts once", async (approve, output) => {
    const script = [[read("Pay!"), callTool("pay", {}, "call_1"), say("Well."), hang]]
    await using service = await start(script, { hosted: [pay] })
    const { all, next, send, typed, until } = await service.client()
    typed("Pay!")
    const asked = await until(() =>
      all("conversation.item.done").find(({ item }) => item.type === "mcp_approval_request")
    )
    assert.deepInclude(asked.item, { name: "pay", arguments: "{}" })
    const decision = {
      type: "conversation.item.create",
      item: {
        type: "mcp_approval_response",
        id: "decision_1",
        approval_request_id: asked.item.id ?? "",
        approve,
        ...(approve ? {} : { reason: "Too dear." })
      }
    } as const
    send(decision)
    await until(() => all("response.output_audio_transcript.done").at(-1))
    assert.deepStrictEqual(
      service.voice.commands.flatMap((each) => (each._tag === "ToolOutputs" ? each.outputs : [])),
      [{ toolCallId: "call_1", name: "pay", output }]
    )
    send(decision)
    assert.strictEqual((await next("error")).error.code, "item_not_found")
    assert.isTrue(all("response.mcp_call.completed").length === 1)
  })

  it("barges in: what was heard of an answer is what the thread keeps", async () => {
    const answer = "one two three four five six seven eight nine ten"
    await using service = await start([[read("Count."), say(answer), hear("Stop."), interrupt(0.5), say("Yes?"), hang]])
    const { all, next, send, typed } = await service.client()
    typed("Count.")
    const { conversation } = await next("conversation.created")
    const spoken = await next("response.output_audio_transcript.done")
    await next("response.done")
    send({ type: "input_audio_buffer.append", audio: tone(960).toString("base64") })
    await next("input_audio_buffer.speech_started")
    send({ type: "conversation.item.truncate", item_id: spoken.item_id, content_index: 0, audio_end_ms: 1000 })
    assert.deepInclude(await next("conversation.item.truncated"), { item_id: spoken.item_id, audio_end_ms: 1000 })
    assert.deepInclude(service.voice.commands, { _tag: "Heard", itemId: spoken.item_id, millis: 1000 })
    send({ type: "conversation.item.truncate", item_id: "item_of_nobody", content_index: 0, audio_end_ms: 1 })
    assert.strictEqual((await next("error")).error.param, "item_id")
    send({ type: "response.cancel" })
    assert.strictEqual((await next("error")).error.code, "response_cancel_not_active")
    assert.isAtLeast(all("response.done").length, 2)
    const said = await service.said(conversation.id ?? "")
    assert.strictEqual(said[1]?.[1], "one two three four five")
  })

  it("goes on with its thread on a new connection; to another owner the thread is unknown", async () => {
    await using service = await start([
      [read("One"), say("First."), hang],
      [read("Two"), say("Second."), hang]
    ])
    const first = await service.client()
    first.typed("One")
    const { conversation } = await first.next("conversation.created")
    await first.next("response.done")
    first.client.close()
    await first.closed()
    const query = `?thread_id=${conversation.id}`
    const other = await service.client(query, await service.keyFor("eve"))
    other.typed("Two")
    assert.strictEqual((await other.next("error")).error.code, "thread_not_found")
    assert.strictEqual(await other.closed(), 1008)
    await service.resumed(query, "Two")
    assert.deepStrictEqual(service.voice.setups[1]?.history, [
      { role: "user", text: "One" },
      { role: "assistant", text: "First." }
    ])
  })

  it("is refused without a valid key, and let in by a ticket, also as a subprotocol", async () => {
    await using service = await start([])
    const wrong = await service.client("", "sk-wrong")
    assert.strictEqual((await wrong.next("error")).error.code, "invalid_api_key")
    assert.strictEqual(await wrong.closed(), 1008)
    const bearer = await service.client("", await service.ticket())
    await bearer.next("session.created")
    bearer.client.close()
    for (const secret of [await service.ticket(), service.key]) {
      const url = `${service.url.replace("/threads/realtime", "/v1/realtime")}?model=scripted-voice`
      const socket = new WebSocket(url, ["realtime", `openai-insecure-api-key.${secret}`])
      const first = await new Promise<string>((resolve) => {
        socket.once("message", (data) => resolve(Buffer.isBuffer(data) ? data.toString() : ""))
      })
      assert.strictEqual(JSON.parse(first).type, "session.created")
      assert.strictEqual(socket.protocol, "realtime")
      socket.terminate()
    }
  })

  it("names everything that it does not take", async () => {
    await using service = await start(asks("Hello", "Hi."))
    const { client, next, send, typed } = await service.client()
    const refused = async (event: object) => {
      client.socket.send(JSON.stringify({ event_id: "mine", ...event }))
      const { error } = await next("error")
      assert.strictEqual(error.event_id, "mine")
      return [error.code, error.param]
    }
    const update = (session: object) => refused({ type: "session.update", session })
    assert.deepStrictEqual(await refused({ type: "nonsense" }), ["invalid_event", null])
    assert.deepStrictEqual(await update({ voice: "alloy" }), ["invalid_value", "session.voice"])
    assert.deepStrictEqual(await update({ model: "gpt-realtime" }), ["invalid_value", "session.model"])
    assert.deepStrictEqual(await update({ audio: { input: { format: { type: "audio/pcmu" } } } }), [
      "invalid_value",
      "session.audio.input.format"
    ])
    assert.deepStrictEqual(await update({ tools: [{ type: "mcp", server_label: "x" }] }), ["invalid_value", "session"])
    assert.deepStrictEqual(await update({ tools: [weather, weather] }), ["invalid_value", "session"])
    typed("Hello")
    await next("response.done")
    const message = (role: string, type: string) =>
      refused({ type: "conversation.item.create", item: { type: "message", role, content: [{ type, text: "x" }] } })
    assert.deepStrictEqual(await message("system", "input_text"), ["unsupported_item", "item.role"])
    assert.deepStrictEqual(await message("user", "input_image"), ["unsupported_item", "item.content"])
    assert.deepStrictEqual(await update({ prompt: { id: "other" } }), ["session_started", "session.prompt"])
    assert.deepStrictEqual(await update({ audio: { output: { voice: "marin" } } }), [
      "session_started",
      "session.audio.output.voice"
    ])
    assert.deepStrictEqual(await update({ instructions: "x".repeat(200_001) }), ["invalid_frame", "session"])
    assert.deepStrictEqual(await refused({ type: "response.create", response: { conversation: "none" } }), [
      "unsupported_response",
      "response.conversation"
    ])
    assert.deepStrictEqual(await refused({ type: "input_audio_buffer.commit" }), [
      "input_audio_buffer_commit_empty",
      null
    ])
    send({
      type: "conversation.item.create",
      item: { id: "mine_1", type: "message", role: "user", content: [{ type: "input_text", text: "never" }] }
    })
    send({ type: "conversation.item.delete", item_id: "mine_1" })
    await next("conversation.item.deleted")
    assert.deepStrictEqual(await refused({ type: "conversation.item.delete", item_id: "mine_1" }), [
      "unsupported_item",
      "item_id"
    ])
    client.socket.send("[1]")
    assert.strictEqual((await next("error")).error.code, "invalid_json")
  })

  it("takes null for a prompt and a voice that nobody has set", async () => {
    await using service = await start(asks("Hello", "Hi."))
    const { client, next, typed, until, all } = await service.client()
    typed("Hello")
    await next("response.done")
    const session = { type: "realtime", prompt: null, audio: { output: { voice: null } } }
    client.socket.send(JSON.stringify({ type: "session.update", session }))
    const answer = await until(() => all("session.updated")[0] ?? all("error")[0])
    assert.strictEqual(answer.type, "session.updated")
  })

  it("changes instructions and tools while it speaks, and the next session of the thread keeps them", async () => {
    const script = [
      [read("One"), say("First."), read("Two"), callTool("weather", {}), say("Sunny."), hang],
      [read("Three"), say("Third."), hang]
    ]
    const definition = { name: "look", description: null, parameters: null }
    const look: HostedTool = { definition, run: () => Effect.succeed("seen") }
    await using service = await start(script, { hosted: [look] })
    const first = await service.client()
    const update = (session: object) =>
      first.client.socket.send(JSON.stringify({ type: "session.update", session: { type: "realtime", ...session } }))
    update({ instructions: "Greet." })
    first.typed("One")
    const { conversation } = await first.next("conversation.created")
    await first.next("response.done")
    update({ tools: [{ ...weather, name: "look" }], instructions: "Never." })
    assert.deepInclude((await first.next("error")).error, { code: "invalid_frame", param: "session" })
    update({ tools: [weather] })
    assert.deepInclude((await first.next("session.updated")).session, { instructions: "Greet.", tools: [weather] })
    update({ instructions: "Tell the weather." })
    assert.deepInclude((await first.next("session.updated")).session, {
      instructions: "Tell the weather.",
      tools: [weather]
    })
    first.typed("Two")
    const { call_id } = await first.next("response.function_call_arguments.done")
    const output = { type: "function_call_output", call_id, output: "sun" } as const
    first.send({ type: "conversation.item.create", item: output })
    first.send({ type: "response.create" })
    await first.until(() => first.all("response.done")[2])
    assert.deepStrictEqual(
      service.voice.commands.flatMap((each) =>
        each._tag === "Setup" ? [[each.instructions, each.tools.map(({ name }) => name)]] : []
      ),
      [
        ["Greet.", ["weather", "look"]],
        ["Tell the weather.", ["weather", "look"]]
      ]
    )
    first.client.close()
    await first.closed()
    const second = await service.resumed(`?thread_id=${conversation.id}`, "Three")
    assert.deepInclude((await second.next("session.updated")).session, { instructions: "Tell the weather." })
    assert.deepInclude(service.voice.setups[1], { instructions: "Tell the weather." })
    assert.deepStrictEqual(
      service.voice.setups[1]?.tools.map(({ name }) => name),
      ["weather", "look"]
    )
  })

  it("every byte of the client counts against the limit of the session", async () => {
    const script = [read("x".repeat(4000)), say("One."), hang]
    await using service = await start([script], { limits: { inputBytes: 10_000 } })
    const { closed, next, typed } = await service.client()
    typed("x".repeat(4000))
    await next("response.done")
    typed("x".repeat(4000))
    typed("x".repeat(4000))
    assert.strictEqual((await next("error")).error.code, "input_limit")
    assert.strictEqual(await closed(), 1008)
  })

  it("a cancelled answer is cancelled, and the next one is not", async () => {
    const script = [read("One"), callTool("weather", {}, "call_1"), say("Sunny."), hang]
    await using service = await start([script])
    const { next, send, typed } = await service.client()
    send({ type: "session.update", session: { type: "realtime", tools: [weather] } })
    typed("One")
    const first = await next("response.done")
    assert.strictEqual(first.response.status, "completed")
    const output = { type: "function_call_output", call_id: "call_1", output: "sun" } as const
    send({ type: "conversation.item.create", item: output })
    send({ type: "response.create" })
    send({ type: "response.cancel" })
    const spoken = await next("response.output_item.added")
    assert.strictEqual((await next("response.done")).response.output?.[0]?.id, spoken.item.id)
  })

  it("an unknown model, a frame that is too large, and too many waiting items are refused", async () => {
    await using service = await start([[hang]])
    const unknown = await openAiClient({ baseURL: service.baseURL, key: service.key, model: "gpt-9" })
    assert.strictEqual((await unknown.next("error")).error.code, "model_not_found")
    await unknown.closed()
    const { client, closed, next, send } = await service.client()
    const item: RealtimeConversationItemUserMessage = {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "x".repeat(150_000) }]
    }
    send({ type: "conversation.item.create", item })
    await next("conversation.item.done")
    send({ type: "conversation.item.create", item })
    assert.strictEqual((await next("error")).error.code, "too_many_items")
    client.socket.send("x".repeat(300_000))
    assert.strictEqual((await next("error")).error.code, "frame_too_large")
    assert.strictEqual(await closed(), 1009)
  })

  it("sets up a vendor of OpenAI's wire, and changes while it speaks what can be changed", async () => {
    const vendor = await startVendor()
    await using service = await startVendorService(vendor.url)
    const baseURL = service.url.replace("ws:", "http:").replace("/threads/realtime", "/v1")
    const { all, next, send, until } = await openAiClient({ baseURL, key: service.key, model: "voice-1" })
    send({
      type: "session.update",
      session: {
        type: "realtime",
        output_modalities: ["text"],
        audio: { input: { turn_detection: null }, output: { voice: "cedar" } }
      }
    })
    assert.deepInclude((await next("session.updated")).session, { output_modalities: ["text"] })
    send({ type: "input_audio_buffer.append", audio: tone(9600).toString("base64") })
    const there = await vendor.connection()
    there.say({ type: "session.created", session: {} })
    const setup = await there.message(({ type }) => type === "session.update")
    assert.deepInclude(setup["session"], { output_modalities: ["text"] })
    assert.deepNestedInclude(setup, {
      "session.audio.output.voice": "cedar",
      "session.audio.input.turn_detection": null
    })
    there.say({ type: "session.updated", session: {} })
    send({ type: "input_audio_buffer.commit" })
    const { item_id } = await next("input_audio_buffer.committed")
    assert.isFalse(there.received.some(({ type }) => type === "input_audio_buffer.commit"))
    send({ type: "response.create" })
    await there.message(({ type }) => type === "input_audio_buffer.commit")
    there.say({ type: "input_audio_buffer.committed", item_id: "u1" })
    await there.message(({ type }) => type === "response.create")
    const transcript = { item_id: "u1", transcript: "Hello." }
    there.say({ type: "conversation.item.input_audio_transcription.completed", ...transcript })
    assert.deepInclude(await next("conversation.item.input_audio_transcription.completed"), { item_id })
    there.say({ type: "response.created", response: { id: "r1" } })
    there.say({ type: "response.output_text.delta", item_id: "a1", delta: "Hi " })
    there.say({ type: "response.output_text.done", item_id: "a1", text: "Hi you." })
    there.say({ type: "response.done", response: { id: "r1", status: "completed", usage: {} } })
    assert.strictEqual((await next("response.output_text.done")).text, "Hi you.")
    await next("response.done")
    send({
      type: "session.update",
      session: { type: "realtime", audio: { input: { turn_detection: { type: "server_vad" } } } }
    })
    const changed = await there.message(
      ({ session, type }) => type === "session.update" && JSON.stringify(session).includes("server_vad")
    )
    assert.notProperty(changed["session"], "instructions")
    await until(() => all("session.updated")[1])
    send({ type: "response.create", response: { instructions: "Greet the user." } })
    await there.message(({ response, type }) => type === "response.create" && response !== undefined)
    assert.deepStrictEqual(all("error"), [])
    await vendor.close()
  })
})
