/**
 * The model provider of the benchmark: a raw server that speaks the streamed chat dialect. The model's name says what it does:
 * `burst-200` writes 200 deltas one after the other, `paced-200-20` one every 20 ms with the time of writing as its text.
 */
import { createServer, type ServerResponse } from "node:http"
import { serve } from "./Child.ts"

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

const usage = `data: ${JSON.stringify({ id: "c", choices: [], usage: { prompt_tokens: 20, completion_tokens: 20, total_tokens: 40 } })}\n\n`

/** As long as a message of the load, however many deltas it comes in: prompts grow alike in streams and in plain turns. */
const answer = " lorem ipsum".repeat(20)

const answers = new Map<number, ReadonlyArray<string>>()

const deltaChunks = (count: number): ReadonlyArray<string> => {
  const at = (index: number) => Math.round((index * answer.length) / count)
  const made =
    answers.get(count) ??
    Array.from({ length: count }, (_, index) => chunk({ content: answer.slice(at(index), at(index + 1)) }))
  answers.set(count, made)
  return made
}

const end = (response: ServerResponse, finish: string): void => {
  response.end(`${chunk({}, finish)}${usage}data: [DONE]\n\n`)
}

const burst = (response: ServerResponse, count: number): void => {
  for (const delta of deltaChunks(count)) response.write(delta)
  end(response, "stop")
}

const paced = (response: ServerResponse, count: number, millis: number): void => {
  let left = count
  const timer = setInterval(() => {
    response.write(chunk({ content: `${performance.timeOrigin + performance.now()} ` }))
    if (--left > 0) return
    clearInterval(timer)
    end(response, "stop")
  }, millis)
  response.on("close", () => clearInterval(timer))
}

export interface Prompts {
  readonly count: number
  readonly messages: number
  readonly bytes: number
}

/** Prompts by the first part of the path, which is the name of the side that sends the request. */
const prompts = new Map<string, Prompts>()

const count = (name: string, messages: number, bytes: number): void => {
  const before = prompts.get(name) ?? { count: 0, messages: 0, bytes: 0 }
  prompts.set(name, {
    count: before.count + 1,
    messages: before.messages + messages,
    bytes: before.bytes + bytes
  })
}

/** What was asked since the last question. */
process.on("message", (question) => {
  if (question !== "prompts") return
  process.send?.(Object.fromEntries(prompts))
  prompts.clear()
})

const server = createServer((request, response) => {
  if (request.method === "GET")
    return void response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ data: [{ id: "burst-20" }] }))
  let body = ""
  request.setEncoding("utf8")
  request.on("data", (piece: string) => {
    body += piece
  })
  request.on("end", () => {
    const { model, messages } = JSON.parse(body)
    count(request.url?.split("/")[1] ?? "", messages.length, Buffer.byteLength(body))
    const [kind, deltas, millis] = String(model).split("-")
    response.writeHead(200, { "content-type": "text/event-stream" })
    if (kind === "paced") paced(response, Number(deltas), Number(millis))
    else burst(response, Number(deltas))
  })
})

await serve(server)
