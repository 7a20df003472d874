/**
 * The leanest program that keeps a conversation: `node:http`, `pg`, three statements of a turn and no promise. No key, no check, no owner, no
 * run, no log; a turn that fails half-way leaves what it had written. What it takes is the least that any program takes here.
 */
import { randomUUID } from "node:crypto"
import { Agent, createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http"
import pg from "pg"
import { serve } from "./Child.ts"

const upstream = process.env["BENCH_UPSTREAM"] ?? ""
const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"], max: 10 })
const agent = new Agent({ keepAlive: true, maxSockets: 2000 })

await pool.query(`
  create table if not exists said (id bigserial primary key, thread uuid not null, role text not null, content text not null);
  create index if not exists said_by_thread on said (thread, id);
`)

const say = (thread: string, role: string, content: string) =>
  pool.query({
    name: "say",
    text: "insert into said (thread, role, content) values ($1, $2, $3)",
    values: [thread, role, content]
  })

const last = async (thread: string, count: number) => {
  const text = "select role, content from said where thread = $1 order by id desc limit $2"
  const { rows } = await pool.query({ name: "last", text, values: [thread, count] })
  return rows.toReversed()
}

const json = async (request: IncomingMessage) => {
  let body = ""
  request.setEncoding("utf8")
  for await (const piece of request) body += piece
  return JSON.parse(body)
}

const providerAnswer = (question: object): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" }
    ask(`${upstream}/chat/completions`, { method: "POST", agent, headers }, resolve)
      .on("error", reject)
      .end(JSON.stringify(question))
  })

const end = (response: ServerResponse, body: object): void =>
  void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))

const turn = async (thread: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { content, history, model, stream } = await json(request)
  const before = await last(thread, history)
  await say(thread, "user", content)
  const messages = [{ role: "system", content: "You are helpful." }, ...before, { role: "user", content }]
  const answer = await providerAnswer({ model, messages, stream: true })
  if (stream) response.writeHead(200, { "content-type": "text/event-stream" })
  let [unread, whole] = ["", ""]
  answer.setEncoding("utf8")
  for await (const piece of answer) {
    const lines = (unread + piece).split("\n")
    unread = lines.pop() ?? ""
    let out = ""
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue
      const text = JSON.parse(line.slice(6)).choices[0]?.delta?.content
      if (typeof text !== "string") continue
      whole += text
      out += `data: ${JSON.stringify({ content: text })}\n\n`
    }
    if (stream && out !== "") response.write(out)
  }
  await say(thread, "assistant", whole)
  const reply = { thread_id: thread, status: "COMPLETED", content: whole }
  if (stream) response.end(`data: ${JSON.stringify(reply)}\n\n`)
  else end(response, reply)
}

const seed = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const thread = randomUUID()
  const { messages } = await json(request)
  const role = "case when n % 2 = 1 then 'user' else 'assistant' end"
  const text = `insert into said (thread, role, content) select $1, ${role}, repeat('lorem ipsum ', 20) from generate_series(1, $2::int) n`
  await pool.query(text, [thread, messages])
  end(response, { thread_id: thread })
}

const server = createServer((request, response) => {
  const [, kind, thread = ""] = (request.url ?? "").split("/")
  const work =
    kind === "seed"
      ? seed(request, response)
      : request.method === "POST"
        ? turn(thread, request, response)
        : last(thread, 1_000_000).then((all) => end(response, all))
  work.catch((error: unknown) => {
    console.error(error)
    response.destroy()
  })
})

await serve(server)
