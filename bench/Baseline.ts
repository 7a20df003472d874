/**
 * What the kernel is measured against: the same conversation with `node:http` and plain SQL, and nothing else. It asks its provider through
 * `node:http`, or with `fetch` where `BENCH_FETCH` says so. It makes as many
 * statements as the kernel does (load, write, settle; one append for each 50 ms of a stream), and promises none of what the kernel promises.
 */
import { randomUUID } from "node:crypto"
import { Agent, createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http"
import pg from "pg"
import { serve } from "./Child.ts"

const upstream = process.env["BENCH_UPSTREAM"] ?? ""
const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  max: Number(process.env["BENCH_POOL"] ?? 10)
})

const asksWithFetch = process.env["BENCH_FETCH"] !== undefined

/** Two baselines may run beside each other. */
const schema = asksWithFetch ? "baseline_fetch" : "baseline"

await pool.query(`
  drop schema if exists ${schema} cascade;
  create schema ${schema};
  create table ${schema}.assistants (id uuid primary key, owner text not null, system_prompt text, model text not null);
  create table ${schema}.threads (id uuid primary key, owner text not null, assistant_id uuid not null, last_sequence int not null default 0);
  create table ${schema}.messages (thread_id uuid not null, sequence int not null, id uuid not null, run_id uuid, role text not null,
    content text, created_at timestamptz not null default now(), primary key (thread_id, sequence));
  create table ${schema}.runs (id uuid primary key, thread_id uuid not null, status text not null, usage json);
  create table ${schema}.events (run_id uuid not null, first int not null, events json not null, primary key (run_id, first));
`)

const load = {
  name: "load",
  text: `select t.id, a.system_prompt, a.model from ${schema}.threads t join ${schema}.assistants a on a.id = t.assistant_id
    where t.id = $1 and t.owner = $2`
}

const write = {
  name: "write",
  text: `with t as (update ${schema}.threads set last_sequence = last_sequence + 1 where id = $1 and owner = $2 returning last_sequence),
    m as (insert into ${schema}.messages (thread_id, sequence, id, run_id, role, content)
      select $1, last_sequence, $3, $4, 'user', $5 from t),
    r as (insert into ${schema}.runs (id, thread_id, status) values ($4, $1, 'IN_PROGRESS'))
    select role, content from (select role, content, sequence from ${schema}.messages where thread_id = $1 order by sequence desc limit $6) h
    order by sequence`
}

const settle = {
  name: "settle",
  text: `with t as (update ${schema}.threads set last_sequence = last_sequence + 1 where id = $1 returning last_sequence),
    m as (insert into ${schema}.messages (thread_id, sequence, id, run_id, role, content)
      select $1, last_sequence, $2, $3, 'assistant', $4 from t),
    e as (insert into ${schema}.events (run_id, first, events) values ($3, $5, $6))
    update ${schema}.runs set status = 'COMPLETED', usage = $7 where id = $3`
}

const append = { name: "append", text: `insert into ${schema}.events (run_id, first, events) values ($1, $2, $3)` }

const list = { name: "list", text: `select * from ${schema}.messages where thread_id = $1 order by sequence` }

const owner = "bench"

const readBody = async (request: IncomingMessage): Promise<string> => {
  let body = ""
  request.setEncoding("utf8")
  for await (const piece of request) body += piece
  return body
}

const agent = new Agent({ keepAlive: true, maxSockets: 2000 })
/** The body of the provider's answer. */
const answerOf = async (question: object): Promise<AsyncIterable<Uint8Array>> => {
  const headers = { "content-type": "application/json" }
  const body = JSON.stringify(question)
  if (asksWithFetch) {
    const answer = await fetch(`${upstream}/chat/completions`, { method: "POST", headers, body })
    if (answer.body === null) throw new Error("The provider answered without a body")
    return answer.body
  }
  return new Promise((resolve, reject) => {
    const asked = ask(`${upstream}/chat/completions`, { method: "POST", agent, headers }, resolve)
    asked.on("error", reject)
    asked.end(body)
  })
}

interface Delta {
  readonly sequence: number
  readonly content: string
}

const turn = async (threadId: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { content, stream, model, history = 50 } = JSON.parse(await readBody(request))
  const loaded = await pool.query({ ...load, values: [threadId, owner] })
  if (loaded.rows.length === 0) return void response.writeHead(404).end()
  const runId = randomUUID()
  const answerId = randomUUID()
  const written = await pool.query({ ...write, values: [threadId, owner, randomUUID(), runId, content, history] })
  const messages = [
    { role: "system", content: loaded.rows[0].system_prompt },
    ...written.rows,
    { role: "user", content }
  ]
  if (stream) response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })

  let sequence = 0
  let stored = 0
  let flushed = performance.now()
  let pending: Promise<unknown> = Promise.resolve()
  const events: Array<Delta> = []
  const decoder = new TextDecoder()
  let rest = ""
  for await (const bytes of await answerOf({ model: model ?? loaded.rows[0].model, messages, stream: true })) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    let out = ""
    for (const line of lines) {
      if (!line.startsWith("data: ") || line === "data: [DONE]") continue
      const text = JSON.parse(line.slice(6)).choices[0]?.delta?.content
      if (typeof text !== "string") continue
      const event = { sequence: ++sequence, content: text }
      events.push(event)
      if (stream) {
        const data = { type: "content_streaming", thread_id: threadId, run_id: runId, ...event }
        out += `id: ${runId}:${sequence}\ndata: ${JSON.stringify(data)}\n\n`
      }
    }
    if (out !== "") response.write(out)
    if (stream && performance.now() - flushed > 50 && events.length > stored) {
      flushed = performance.now()
      const values = [runId, stored + 1, JSON.stringify(events.slice(stored))]
      stored = events.length
      pending = pending.then(() => pool.query({ ...append, values }))
    }
  }
  await pending
  const whole = events.map((event) => event.content).join("")
  const tail = JSON.stringify(events.slice(stored))
  await pool.query({
    ...settle,
    values: [threadId, answerId, runId, whole, stored + 1, tail, JSON.stringify({ output_tokens: 20 })]
  })
  const reply = { thread_id: threadId, run_id: runId, message_id: answerId, status: "COMPLETED", content: whole }
  if (stream) response.end(`id: ${runId}:${sequence + 1}\ndata: ${JSON.stringify({ type: "run_ended", ...reply })}\n\n`)
  else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply))
}

/** Makes a thread with so many messages in it. */
const seed = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { messages, model } = JSON.parse(await readBody(request))
  const assistantId = randomUUID()
  const threadId = randomUUID()
  await pool.query(`insert into ${schema}.assistants values ($1, $2, 'You are helpful.', $3)`, [
    assistantId,
    owner,
    model
  ])
  await pool.query(`insert into ${schema}.threads values ($1, $2, $3, $4)`, [threadId, owner, assistantId, messages])
  await pool.query(
    `insert into ${schema}.messages (thread_id, sequence, id, run_id, role, content)
     select $1, n, gen_random_uuid(), gen_random_uuid(), case when n % 2 = 1 then 'user' else 'assistant' end, repeat('lorem ipsum ', 20)
     from generate_series(1, $2::int) n`,
    [threadId, messages]
  )
  response.end(JSON.stringify({ thread_id: threadId }))
}

const server = createServer((request, response) => {
  const [, kind, threadId = ""] = (request.url ?? "").split("/")
  const work =
    kind === "seed"
      ? seed(request, response)
      : request.method === "POST"
        ? turn(threadId, request, response)
        : pool
            .query({ ...list, values: [threadId] })
            .then(({ rows }) =>
              response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(rows))
            )
  work.catch((error: unknown) => {
    console.error(error)
    response.destroy()
  })
})

await serve(server)
