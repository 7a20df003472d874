/** A model server for the programs of docs/comparison: it speaks OpenAI's Responses, Chat Completions and Embeddings, and answers by rules. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** The fields of a request that are read here, of both wires. */
interface Wire {
  readonly instructions?: string
  readonly input?: string | ReadonlyArray<Item>
  readonly messages?: ReadonlyArray<Item>
  readonly tools?: ReadonlyArray<{ readonly name?: string; readonly function?: { readonly name: string } }>
  readonly text?: { readonly format?: Format }
  readonly response_format?: Format
  readonly stream?: boolean
}
interface Item {
  readonly type?: string
  readonly role?: string
  readonly content?: Content
  readonly output?: Content
}
type Content = string | ReadonlyArray<{ readonly text?: string }> | null
interface WireOfEmbeddings {
  readonly model: string
  readonly input: string | ReadonlyArray<string>
  readonly dimensions?: number
  readonly encoding_format?: string
}
interface Format {
  readonly type: string
}

/** A message as both wires mean it. */
export interface Said {
  readonly role: string
  readonly text: string
}
interface Asked {
  readonly said: ReadonlyArray<Said>
  readonly tools: ReadonlyArray<string>
  /** The JSON Schema that the answer must have, as text; empty without one. */
  readonly schema: string
}
type Answer = { readonly text: string } | { readonly tool: string; readonly input: object }

const contentText = (content: Content | undefined): string =>
  typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("")

const itemRole = ({ role, type }: Item): string => (type === "function_call_output" ? "tool" : (role ?? "call"))

const askedIn = ({ input, instructions, messages = [], response_format, text, tools = [] }: Wire): Asked => {
  const items = typeof input === "string" ? [{ role: "user", content: input }] : (input ?? messages)
  const format = text?.format ?? response_format
  return {
    said: [
      ...(instructions === undefined ? [] : [{ role: "system", text: instructions }]),
      ...items.map((item) => ({ role: itemRole(item), text: contentText(item.output ?? item.content) }))
    ],
    tools: tools.map((tool) => tool.name ?? tool.function?.name ?? ""),
    schema: format?.type === "json_schema" ? JSON.stringify(format) : ""
  }
}

/** The last marker such as `[d1]` before the words, as the program wrote it into its prompt. */
const markerBefore = (prompt: string, words: string): string =>
  [...prompt.slice(0, prompt.indexOf(words)).matchAll(/\[\w+\]/gu)].at(-1)?.[0] ?? ""

const learned = {
  operations: [{ op: "ADD", text: "Ada lives in Oslo.", message: 1, quote: "I live in Oslo" }]
}

const afterTool = (output: string): Answer => {
  if (output.includes("The key is in .env")) return { tool: "read_file", input: { path: ".env" } }
  if (output.includes("sk-1234567")) return { text: "It is sk-1234567." }
  return { text: output.includes("paid") ? "It is paid." : "Nice." }
}

/** What this model says: the same to every program. */
const answerTo = ({ said, schema, tools }: Asked): Answer => {
  const all = said.map(({ text }) => text).join("\n")
  const question = said.findLast(({ role }) => role === "user")?.text ?? ""
  const last = said.at(-1)
  const isAsked = (words: string) => question.includes(words)
  if (schema.includes("operations")) return { text: JSON.stringify(learned) }
  if (schema !== "") return { text: JSON.stringify({ item: "tea", count: 2 }) }
  if (isAsked("for ever")) return { tool: "read_file", input: { path: "README.md" } }
  if (last?.role === "tool") return afterTool(last.text)
  if (isAsked("What is the key?")) return { tool: "read_file", input: { path: "README.md" } }
  if (isAsked("Pay Bob")) return { tool: "pay", input: { cents: 500 } }
  if (isAsked("holiday")) {
    return { text: all.includes("thirty days") ? `Thirty days ${markerBefore(all, "thirty days")}.` : "I do not know." }
  }
  if (isAsked("I live in Oslo")) {
    const tool = tools.find((name) => /^update_?working_?memory$/iu.test(name))
    return tool === undefined
      ? { text: "Nice." }
      : { tool, input: { memory: "- Ada lives in Oslo.", content: "- Ada lives in Oslo." } }
  }
  if (isAsked("Where do I live?")) return { text: all.includes("Oslo") ? "In Oslo." : "I do not know." }
  const name = said
    .findLast(({ role, text }) => role === "user" && /I am \w+/u.test(text))
    ?.text.match(/I am (\w+)/u)?.[1]
  return {
    text: name === undefined ? "I do not know." : isAsked("my name") ? `You are ${name}.` : `Hello, dear ${name}.`
  }
}

/** The answer as it is written: two pieces of text, or a call. */
const halves = (text: string): readonly [string, string] => {
  const half = Math.ceil(text.length / 2)
  return [text.slice(0, half), text.slice(half)]
}

const usage = {
  input_tokens: 10,
  output_tokens: 5,
  total_tokens: 15,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 }
}
const counted = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

type Send = (data: object) => void

const sendResponse = async (id: number, answer: Answer, send: Send, between: () => Promise<void>) => {
  let sequence_number = 0
  const tell = (type: string, fields: object) => send({ type, sequence_number: sequence_number++, ...fields })
  const response = (status: string, output: ReadonlyArray<object>) => ({
    id: `resp_${id}`,
    object: "response",
    created_at: 1,
    model: "gpt-5",
    status,
    output,
    usage: status === "completed" ? usage : null,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: "auto",
    tools: [],
    top_p: 1
  })
  tell("response.created", { response: response("in_progress", []) })
  const place = { output_index: 0, item_id: `item_${id}` }
  const item =
    "tool" in answer
      ? {
          id: `item_${id}`,
          type: "function_call",
          status: "completed",
          call_id: `call_${id}`,
          name: answer.tool,
          arguments: JSON.stringify(answer.input)
        }
      : {
          id: `item_${id}`,
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: answer.text, annotations: [] }]
        }
  if ("tool" in answer) {
    tell("response.output_item.added", { output_index: 0, item: { ...item, status: "in_progress", arguments: "" } })
    tell("response.function_call_arguments.delta", { ...place, delta: JSON.stringify(answer.input) })
    tell("response.function_call_arguments.done", {
      ...place,
      name: answer.tool,
      arguments: JSON.stringify(answer.input)
    })
  } else {
    const part = (text: string) => ({
      ...place,
      content_index: 0,
      part: { type: "output_text", text, annotations: [] }
    })
    const [first, second] = halves(answer.text)
    tell("response.output_item.added", { output_index: 0, item: { ...item, status: "in_progress", content: [] } })
    tell("response.content_part.added", part(""))
    tell("response.output_text.delta", { ...place, content_index: 0, delta: first, logprobs: [] })
    await between()
    tell("response.output_text.delta", { ...place, content_index: 0, delta: second, logprobs: [] })
    tell("response.output_text.done", { ...place, content_index: 0, text: answer.text, logprobs: [] })
    tell("response.content_part.done", part(answer.text))
  }
  tell("response.output_item.done", { output_index: 0, item })
  tell("response.completed", { response: response("completed", [item]) })
  return response("completed", [item])
}

const sendChat = async (id: number, answer: Answer, send: Send, between: () => Promise<void>) => {
  const head = { id: `chatcmpl-${id}`, created: 1, model: "gpt-5" }
  const call = (tool: string, input: object) => ({
    id: `call_${id}`,
    type: "function",
    function: { name: tool, arguments: JSON.stringify(input) }
  })
  const finish_reason = "tool" in answer ? "tool_calls" : "stop"
  const tell = (delta: object, reason: string | null = null) =>
    send({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] })
  if ("tool" in answer)
    tell({ role: "assistant", content: null, tool_calls: [{ index: 0, ...call(answer.tool, answer.input) }] })
  else {
    const [first, second] = halves(answer.text)
    tell({ role: "assistant", content: first })
    await between()
    tell({ content: second })
  }
  tell({}, finish_reason)
  send({ ...head, object: "chat.completion.chunk", choices: [], usage: counted })
  const message =
    "tool" in answer
      ? { role: "assistant", content: null, tool_calls: [call(answer.tool, answer.input)] }
      : { role: "assistant", content: answer.text }
  return { ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage: counted }
}

/** A vector that counts words, so that texts with the same words are near. */
const wordVector = (text: string, dimensions: number): ReadonlyArray<number> => {
  const vector = Array.from({ length: dimensions }, () => 0)
  for (const word of text.toLowerCase().match(/\p{L}{4,}/gu) ?? ["-"]) {
    const place = Array.from(word).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % dimensions, 7)
    vector[place] = 1
  }
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

const encoded = (vector: ReadonlyArray<number>, format: unknown) =>
  format === "base64" ? Buffer.from(new Float32Array(vector).buffer).toString("base64") : vector

const readBody = async (request: IncomingMessage): Promise<string> => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

export const startVendor = async () => {
  /** What each request said, oldest first. */
  const requests: Array<ReadonlyArray<Said>> = []
  /** Answers with these words stop in the middle, until they are released. */
  let heldWords = ""
  const waiting = new Set<() => void>()

  const embed = (response: ServerResponse, { dimensions, encoding_format, input, model }: WireOfEmbeddings) => {
    const length = dimensions ?? (model.endsWith("-large") ? 3072 : 1536)
    const data = [input].flat().map((text, index) => ({
      object: "embedding",
      index,
      embedding: encoded(wordVector(text, length), encoding_format)
    }))
    response.setHeader("content-type", "application/json").end(
      JSON.stringify({
        object: "list",
        model,
        data,
        usage: { prompt_tokens: 1, total_tokens: 1 }
      })
    )
  }

  const server = createServer((request, response) => {
    void readBody(request).then(async (text) => {
      if (request.url?.endsWith("/models"))
        return response.end(
          JSON.stringify({
            object: "list",
            data: [
              { id: "gpt-5", object: "model", created: 1, owned_by: "openai" },
              { id: "text-embedding-3-small", object: "model", created: 1, owned_by: "openai" }
            ]
          })
        )
      if (request.url?.endsWith("/embeddings")) return embed(response, JSON.parse(text))
      const isChat = request.url?.endsWith("/chat/completions") === true
      if (!isChat && request.url?.endsWith("/responses") !== true) return response.writeHead(404).end()
      const wire: Wire = JSON.parse(text)
      const asked = askedIn(wire)
      requests.push(asked.said)
      const answer = answerTo(asked)
      const isHeld = "text" in answer && heldWords !== "" && answer.text.includes(heldWords)
      const between = () => (isHeld ? new Promise<void>((go) => waiting.add(go)) : Promise.resolve())
      const send: Send =
        wire.stream === true
          ? (data) => {
              const name = "type" in data && !isChat ? `event: ${String(data.type)}\n` : ""
              response.write(`${name}data: ${JSON.stringify(data)}\n\n`)
            }
          : () => {}
      response.setHeader("content-type", wire.stream === true ? "text/event-stream" : "application/json")
      const whole = await (isChat ? sendChat : sendResponse)(requests.length, answer, send, between)
      response.end(wire.stream === true ? (isChat ? "data: [DONE]\n\n" : "") : JSON.stringify(whole))
    })
  })
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    hold: (words: string) => {
      heldWords = words
    },
    /** How many answers wait in their middle. */
    held: () => waiting.size,
    release: () => {
      heldWords = ""
      for (const go of waiting) go()
      waiting.clear()
    },
    stop: () =>
      new Promise((stopped) => {
        server.closeAllConnections()
        server.close(stopped)
      })
  }
}
