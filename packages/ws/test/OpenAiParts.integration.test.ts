/** OpenAI's own client with a voice from parts behind it: spoken turns, tools, an approval, an interruption, two owners. */
import { VoiceParts } from "@colloquy/adapters/voice-parts"
import type { HostedTool } from "@colloquy/core"
import type { ChatEvent, ChatRequest } from "@colloquy/core/adapters"
import { ScriptedHearing } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { finished, voiceParts, writes } from "../../adapters/test/voice-parts/Parts.ts"
import { openAiClient } from "./OpenAiClient.ts"
import { startModels } from "./VendorService.ts"

const pay: HostedTool = {
  definition: { name: "pay", description: null, parameters: null },
  needsApproval: true,
  run: () => Effect.succeed("paid")
}

const weather = {
  type: "function" as const,
  name: "weather",
  description: "Tells the weather",
  parameters: { type: "object", properties: {} }
}

const calls = (name: string): Stream.Stream<ChatEvent> =>
  Stream.make(
    { _tag: "ToolCallReady" as const, call: { id: `call of ${name}`, name, arguments: "{}" } },
    { ...finished, reason: "tool_calls" as const }
  )

/** Calls the tool that the question names, says what it was told by one, and else counts. */
const thinks = ({ messages, tools }: ChatRequest): Stream.Stream<ChatEvent> => {
  const last = messages.at(-1)
  if (last?.role === "tool") return writes(`The tool says ${last.output}.`)
  const question = JSON.stringify(last)
  const wanted = tools.find(({ name }) => question.includes(name))
  return wanted === undefined
    ? writes("One, two, three, four, five, six, seven, eight, nine, ten.")
    : calls(wanted.name)
}

const loud = (millis: number): Buffer =>
  Buffer.from(Int16Array.from({ length: millis * 24 }, (_, index) => (index % 2 === 0 ? 6000 : -6000)).buffer)

const start = async (said: string, listening?: ScriptedHearing.ScriptedHearing) => {
  const parts = voiceParts({ hears: () => said, thinks })
  const provider =
    listening === undefined ? parts.hear.provider : { ...parts.hear.provider, speechToText: listening.driver }
  const model = VoiceParts.model({ models: { house: { ...parts, hear: { ...parts.hear, provider } } } })
  const service = await startModels([model], { hosted: [pay] })
  const baseURL = service.url.replace("ws:", "http:").replace("/threads/realtime", "/v1")
  const client = (query = "", key = service.key) =>
    openAiClient({ baseURL: `${baseURL}${query}`, key, model: "parts/house" })
  return { ...service, client }
}

type Client = Awaited<ReturnType<typeof openAiClient>>

const speak = ({ send }: Client, ...pieces: ReadonlyArray<Buffer>): void => {
  for (const piece of pieces) send({ type: "input_audio_buffer.append", audio: piece.toString("base64") })
}

const answered = async ({ all, next }: Client): Promise<string | undefined> => {
  await next("response.done")
  return all("response.output_audio_transcript.done").at(-1)?.transcript
}

const { hears } = ScriptedHearing

describe("OpenAI's realtime client and a voice from parts", () => {
  it("shows words while they are spoken, under the item that is committed when the turn ends", async () => {
    await using service = await start("", ScriptedHearing.make([hears("How ", "far?")]))
    const client = await service.client()
    speak(client, loud(700))
    const { item_id } = await client.next("conversation.item.input_audio_transcription.delta")
    assert.deepStrictEqual(client.all("input_audio_buffer.committed"), [])
    speak(client, Buffer.alloc(600 * 48))
    const heard = await client.next("conversation.item.input_audio_transcription.completed")
    assert.deepInclude(heard, { item_id, transcript: "How far?" })
    assert.deepStrictEqual(
      client.all("input_audio_buffer.committed").map((event) => event.item_id),
      [item_id]
    )
    await client.next("response.done")
  })

  it("shows words of a turn that the client itself ends, under the item of its commit", async () => {
    await using service = await start("", ScriptedHearing.make([hears("How ", "far?"), hears("Thanks.")]))
    const client = await service.client()
    const session = { type: "realtime" as const, audio: { input: { turn_detection: null } } }
    client.send({ type: "session.update", session })
    await client.next("session.updated")
    const items: Array<string | undefined> = []
    for (const [index, words] of ["How far?", "Thanks."].entries()) {
      speak(client, loud(700))
      await client.next("conversation.item.input_audio_transcription.delta")
      client.send({ type: "input_audio_buffer.commit" })
      client.send({ type: "response.create" })
      const heard = await client.next("conversation.item.input_audio_transcription.completed")
      assert.strictEqual(heard.transcript, words)
      items.push(heard.item_id)
      await client.next("response.done")
      assert.deepStrictEqual(
        client.all("input_audio_buffer.committed").map((event) => event.item_id),
        items
      )
      assert.strictEqual(items.length, index + 1)
    }
  })

  it("talks, runs a function of its own, and is another's for nobody", async () => {
    await using service = await start("How is the weather?")
    const client = await service.client()
    client.send({ type: "session.update", session: { type: "realtime", tools: [weather] } })
    await client.next("session.updated")
    speak(client, loud(500), Buffer.alloc(600 * 48))
    const { conversation } = await client.next("conversation.created")
    const heard = await client.next("conversation.item.input_audio_transcription.completed")
    assert.strictEqual(heard.transcript, "How is the weather?")
    const { call_id } = await client.next("response.function_call_arguments.done")
    await client.next("response.done")
    client.send({
      type: "conversation.item.create",
      item: { type: "function_call_output", call_id, output: "sunny" }
    })
    client.send({ type: "response.create" })
    assert.strictEqual(await answered(client), "The tool says sunny.")
    assert.isAbove(client.audio().byteLength, 0)
    assert.deepStrictEqual(client.all("error"), [])

    const stranger = await service.client(`?thread_id=${conversation.id}`, await service.makeKey("bob"))
    stranger.typed("Hello")
    assert.strictEqual((await stranger.next("error")).error.code, "thread_not_found")
    assert.deepStrictEqual(
      (await service.said(conversation.id ?? "")).filter(([, text]) => text !== null),
      [
        ["user", "How is the weather?"],
        ["assistant", "The tool says sunny."]
      ]
    )
  })

  it("asks for an approval of a tool of the service", async () => {
    await using service = await start("")
    const client = await service.client()
    client.typed("Please pay")
    const asked = await client.until(() =>
      client.all("conversation.item.done").find(({ item }) => item.type === "mcp_approval_request")
    )
    client.send({
      type: "conversation.item.create",
      item: {
        type: "mcp_approval_response",
        id: "decision",
        approval_request_id: asked.item.id ?? "",
        approve: true
      }
    })
    const spoken = await client.until(() => client.all("response.output_audio_transcript.done")[0])
    assert.strictEqual(spoken.transcript, "The tool says paid.")
    assert.deepStrictEqual(client.all("error"), [])
  })

  it("barges in by speaking: what was not heard is taken back", async () => {
    await using service = await start("Stop.")
    const client = await service.client()
    client.typed("Count")
    const { conversation } = await client.next("conversation.created")
    await client.next("response.done")
    const [spoken] = client.all("response.output_audio_transcript.done")
    speak(client, loud(500))
    await client.next("input_audio_buffer.speech_started")
    client.send({
      type: "conversation.item.truncate",
      item_id: spoken?.item_id ?? "",
      content_index: 0,
      audio_end_ms: 200
    })
    await client.next("conversation.item.truncated")
    speak(client, Buffer.alloc(600 * 48))
    await client.next("conversation.item.input_audio_transcription.completed")
    await client.next("response.done")
    const said = await service.said(conversation.id ?? "")
    assert.deepStrictEqual([said[0]?.[1], said[2]?.[1]], ["Count", "Stop."])
    // A user who speaks at once has heard nothing; 200 milliseconds are two words at most.
    assert.isBelow((said[1]?.[1] ?? "").length, 12)
  })
})
