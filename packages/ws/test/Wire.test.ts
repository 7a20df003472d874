// The JSON of single frames.
import { describeModel, DocumentId } from "@colloquy/core/adapters"
import type { ClientInput } from "@colloquy/core/realtime"
import { assert, describe, it } from "@effect/vitest"
import { makeResponses } from "../src/openai/Responses.ts"
import { openAiWire } from "../src/openai/Wire.ts"
import { readText, writeEvent } from "../src/Wire.ts"

describe("frames", () => {
  it("media.generated carries attachments as everywhere on the wire", () => {
    const made = {
      documentId: DocumentId.make("d1"),
      mediaType: "image",
      mimeType: "image/png",
      filename: "a.png",
      size: 7
    } as const
    const event = { _tag: "MediaGenerated", toolCallId: "c1", media: [made, { own: 1 }] } as const
    const written = JSON.parse(writeEvent(event, (id) => `https://x/${id}`))
    assert.deepStrictEqual(written, {
      type: "media.generated",
      tool_call_id: "c1",
      generated_media: [
        {
          document_id: "d1",
          url: "https://x/d1",
          media_type: "image",
          mime_type: "image/png",
          file_size_bytes: 7
        },
        { own: 1 }
      ]
    })
    assert.include(writeEvent(event), "/documents/d1/content")
  })

  it("an assistant web-search tool in the first frame selects web search, and ids are read in any case", () => {
    const first = { provider: "p", model: "m", thread_id: "ABC", assistant_id: "DEF", tools: [{ type: "web_search" }] }
    const input = readText(JSON.stringify(first), true)
    assert.strictEqual(input._tag, "Begin")
    if (input._tag !== "Begin") return
    assert.deepInclude(input.request, { threadId: "abc", assistantId: "def", tools: [] })
    assert.isTrue(input.request.selection.webSearch)
  })

  it("system_prompt and tools: omitted or null inherits what is saved, empty clears it", () => {
    const read = (fields: object) => {
      const input = readText(JSON.stringify({ provider: "p", model: "m", ...fields }), true)
      assert.strictEqual(input._tag, "Begin")
      return input._tag === "Begin" ? [input.request.systemPrompt, input.request.tools] : []
    }
    assert.deepStrictEqual(read({}), [null, null])
    assert.deepStrictEqual(read({ system_prompt: null, tools: null }), [null, null])
    assert.deepStrictEqual(read({ system_prompt: "", tools: [] }), ["", []])
  })
})

it("in OpenAI's protocol the end of a hosted call has the place of the call in its response", () => {
  const sent: Array<object> = []
  const { call, completed } = makeResponses({
    send: (event) => void sent.push(event),
    sendAudio: () => {},
    newId: (kind) => `${kind}_${sent.length}`,
    added: () => {},
    done: () => {},
    isTextOnly: () => false,
    conversationId: () => "conv_1"
  })
  const look = { _tag: "ToolCall", name: "look", arguments: {}, hosted: true } as const
  for (const toolCallId of ["call_1", "call_2"]) call({ ...look, toolCallId })
  const begun = sent.filter((event) => "type" in event && event.type === "response.mcp_call.in_progress")
  for (const toolCallId of ["call_2", "call_1"]) completed(toolCallId)
  const completions = begun.map((event) => ({ ...event, type: "response.mcp_call.completed" }))
  assert.deepStrictEqual(sent.slice(-2), completions.toReversed())
  assert.deepInclude(sent.at(-2), { output_index: 1 })
})

it("in OpenAI's protocol all outputs that wait reach the session, which takes 32 at once", async () => {
  const inputs: Array<ClientInput> = []
  const wire = openAiWire({
    query: new URLSearchParams(),
    models: [describeModel({ name: "m", provider: "p", modelType: "realtime" })],
    documentUrl: undefined,
    takesFrames: () => false,
    send: () => {},
    receive: (input) => void inputs.push(input),
    hold: () => {}
  })
  const send = (event: object) => wire.onText(JSON.stringify(event), 1)
  send({ type: "response.create" })
  const format = { encoding: "pcm_s16le", sampleRate: 24_000, channels: 1 } as const
  wire.event({
    _tag: "SessionBegin",
    sessionId: "s",
    threadId: "t",
    assistantId: "a",
    inputFormat: format,
    outputFormat: format,
    provider: "p",
    model: "m"
  })
  await Promise.resolve()
  const ids = Array.from({ length: 40 }, (_, index) => `call_${index}`)
  for (const toolCallId of ids) wire.event({ _tag: "ToolCall", toolCallId, name: "look", arguments: {}, hosted: false })
  for (const call_id of ids)
    send({ type: "conversation.item.create", item: { type: "function_call_output", call_id, output: "x" } })
  send({ type: "response.create" })
  const given = inputs.flatMap((input) =>
    input._tag === "Frame" && input.frame._tag === "ToolOutputs" ? [input.frame.outputs] : []
  )
  assert.deepStrictEqual(
    given.map(({ length }) => length),
    [32, 8]
  )
  assert.deepStrictEqual(
    given.flat().map(({ toolCallId }) => toolCallId),
    ids
  )
})
