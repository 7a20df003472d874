/**
 * What the kernel is measured against: the same conversation as a careful engineer writes it once, with `node:http`, `pg` and nothing else.
 * It knows its callers by the hash of a key, checks what they send, touches only what is theirs, writes a turn in two transactions of one
 * statement each, streams by SSE, and keeps a log that a broken stream can be read again from. A provider that fails ends the run as failed.
 *
 * `docs/benchmarks.md` lists what the kernel promises and this does not.
 */
import { createHash, randomUUID } from "node:crypto"
import { Agent, createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http"
import pg from "pg"
import { serve } from "./Child.ts"

const upstream = process.env["BENCH_UPSTREAM"] ?? ""
const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"],
  max: Number(process.env["BENCH_POOL"] ?? 10)
})

await pool.query(`
  create table if not exists keys (hash bytea primary key, owner text not null);
  create table if not exists assistants (id uuid primary key, owner text not null, system_prompt text, model text not null);
  create table if not exists threads (id uuid primary key, owner text not null,
    assistant_id uuid not null references assistants on delete cascade, last_sequence int not null default 0);
  create table if not exists messages (thread_id uuid not null references threads on delete cascade, sequence int not null, id uuid not null,
    run_id uuid, role text not null, content text, created_at timestamptz not null default now(), primary key (thread_id, sequence));
  create table if not exists runs (id uuid primary key, thread_id uuid not null references threads on delete cascade, status text not null, usage json);
  create table if not exists events (run_id uuid not null references runs on delete cascade, first int not null, events json not null,
    primary key (run_id, first));
`)

const keyHash = (key: string): Buffer => createHash("sha256").update(key).digest()

await pool.query(`insert into keys values ($1, 'bench') on conflict do nothing`, [keyHash("bench-key")])

/** Owners by their keys, for the five seconds in which a key that was taken away still works. */
const known = new Map<string, { readonly owner: string; readonly until: number }>()

const requestOwner = async (request: IncomingMessage): Promise<string | null> => {
  const key = request.headers["x-api-key"]
  if (typeof key !== "string") return null
  const found = known.get(key)
  if (found !== undefined && found.until > performance.now()) return found.owner
  known.delete(key)
  const { rows } = await pool.query({
    name: "key",
    text: "select owner from keys where hash = $1",
    values: [keyHash(key)]
  })
  const owner: unknown = rows[0]?.owner
  if (typeof owner !== "string") return null
  known.set(key, { owner, until: performance.now() + 5000 })
  return owner
}

const load = {
  name: "load",
  text: `select t.id, a.system_prompt, a.model from threads t join assistants a on a.id = t.assistant_id
    where t.id = $1 and t.owner = $2`
}

const write = {
  name: "write",
  text: `with t as (update threads set last_sequence = last_sequence + 1 where id = $1 and owner = $2 returning last_sequence),
    m as (insert into messages (thread_id, sequence, id, run_id, role, content)
      select $1, last_sequence, $3, $4, 'user', $5 from t),
    r as (insert into runs (id, thread_id, status) values ($4, $1, 'IN_PROGRESS'))
    select role, content from (select role, content, sequence from messages where thread_id = $1 order by sequence desc limit $6) h
    order by sequence`
}

const settle = {
  name: "settle",
  text: `with t as (update threads set last_sequence = last_sequence + 1 where id = $1 returning last_sequence),
    m as (insert into messages (thread_id, sequence, id, run_id, role, content)
      select $1, last_sequence, $2, $3, 'assistant', $4 from t),
    e as (insert into events (run_id, first, events) values ($3, $6, $7))
    update runs set status = 'COMPLETED', usage = $5 where id = $3`
}

const fail = { name: "fail", text: `update runs set status = 'FAILED' where id = $1` }

const append = { name: "append", text: `insert into events (run_id, first, events) values ($1, $2, $3)` }

const list = {
  name: "list",
  text: `select m.* from threads t join messages m on m.thread_id = t.id where t.id = $1 and t.owner = $2 order by m.sequence`
}

/** What a reader whose connection broke has not seen. */
const rest = {
  name: "rest",
  text: `select e.events from events e join runs r on r.id = e.run_id join threads t on t.id = r.thread_id
    where e.run_id = $1 and t.owner = $2 and e.first + json_array_length(e.events) > $3 order by e.first`
}

class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const longestBody = 1_000_000

const readBody = async (request: IncomingMessage): Promise<Record<string, unknown>> => {
  let body = ""
  request.setEncoding("utf8")
  for await (const piece of request) {
    body += piece
    if (body.length > longestBody) throw new Refused(413, "The body is too large.")
  }
  try {
    return Object(JSON.parse(body))
  } catch {
    throw new Refused(400, "The body is not JSON.")
  }
}

interface Asked {
  readonly content: string
  readonly stream: boolean
  readonly model: string | undefined
  readonly history: number
}

const check = ({ content, history = 50, model, stream = false }: Record<string, unknown>): Asked => {
  if (typeof content !== "string" || content.trim() === "") throw new Refused(422, "Send content, as text.")
  if (typeof stream !== "boolean") throw new Refused(422, "stream is true or false.")
  if (model !== undefined && (typeof model !== "string" || model === "")) throw new Refused(422, "model is a name.")
  if (typeof history !== "number" || !Number.isInteger(history) || history < 0 || history > 200)
    throw new Refused(422, "history is a number of messages, up to 200.")
  return { content, history, stream, model }
}

const agent = new Agent({ keepAlive: true, maxSockets: 2000 })
/** The body of the provider's answer. */
const providerAnswer = async (question: object): Promise<AsyncIterable<Uint8Array>> => {
  const headers = { "content-type": "application/json" }
  const body = JSON.stringify(question)
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const asked = ask(`${upstream}/chat/completions`, { method: "POST", agent, headers }, resolve)
    asked.on("error", reject)
    asked.end(body)
  })
  if (answer.statusCode !== 200) throw new Refused(502, `The provider answered ${answer.statusCode}.`)
  return answer
}

interface Delta {
  readonly sequence: number
  readonly content: string
}

const eventText = (id: string, data: object): string => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`

const turn = async (owner: string, threadId: string, request: IncomingMessage, response: ServerResponse) => {
  const { content, history, model, stream } = check(await readBody(request))
  const loaded = await pool.query({ ...load, values: [threadId, owner] })
  if (loaded.rows.length === 0) throw new Refused(404, "There is no such thread.")
  const runId = randomUUID()
  const written = await pool.query({ ...write, values: [threadId, owner, randomUUID(), runId, content, history] })
  const messages = [
    { role: "system", content: loaded.rows[0].system_prompt },
    ...written.rows,
    { role: "user", content }
  ]
  const question = { model: model ?? loaded.rows[0].model, messages, stream: true }
  try {
    await converse({ threadId, runId, question, stream }, response)
  } catch (error) {
    await pool.query({ ...fail, values: [runId] })
    if (!response.headersSent) throw error
    response.end(eventText(runId, { type: "run_failed", thread_id: threadId, run_id: runId }))
  }
}

interface Turn {
  readonly threadId: string
  readonly runId: string
  readonly question: object
  readonly stream: boolean
}

const converse = async ({ question, runId, stream, threadId }: Turn, response: ServerResponse): Promise<void> => {
  const answerId = randomUUID()
  let usage: unknown = null
  let sequence = 0
  let stored = 0
  let flushed = performance.now()
  let pending: Promise<unknown> = Promise.resolve()
  const events: Array<Delta> = []
  const decoder = new TextDecoder()
  let unread = ""
  const answer = await providerAnswer(question)
  if (stream) response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
  for await (const bytes of answer) {
    const lines = (unread + decoder.decode(bytes, { stream: true })).split("\n")
    unread = lines.pop() ?? ""
    let out = ""
    for (const line of lines) {
      if (!line.startsWith("data: ") || line === "data: [DONE]") continue
      const chunk = JSON.parse(line.slice(6))
      usage = chunk.usage ?? usage
      const text = chunk.choices[0]?.delta?.content
      if (typeof text !== "string") continue
      const event = { sequence: ++sequence, content: text }
      events.push(event)
      if (stream) {
        out += eventText(`${runId}:${sequence}`, { type: "content_streaming", ...event })
      }
    }
    if (out !== "") response.write(out)
    if (stream && performance.now() - flushed > 50 && events.length > stored) {
      flushed = performance.now()
      const values = [runId, stored + 1, JSON.stringify(events.slice(stored))]
      stored = events.length
      pending = pending.then(() => pool.query({ ...append, values }))
      // The error is handled where `pending` is awaited. Without this, Node.js would end the process because of an unhandled rejection.
      pending.catch(() => {})
    }
  }
  await pending
  const whole = events.map((event) => event.content).join("")
  const values = [threadId, answerId, runId, whole, JSON.stringify(usage)]
  const log = [stored + 1, JSON.stringify(events.slice(stored))]
  await pool.query({ ...settle, values: [...values, ...log] })
  const reply = { thread_id: threadId, run_id: runId, message_id: answerId, status: "COMPLETED", content: whole, usage }
  if (stream) response.end(eventText(`${runId}:${sequence + 1}`, { type: "run_ended", ...reply }))
  else respond(response, reply)
}

const respond = (response: ServerResponse, body: unknown, status = 200): void =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

/** Makes a thread with so many messages in it. */
const seed = async (owner: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { messages, model } = await readBody(request)
  const assistantId = randomUUID()
  const threadId = randomUUID()
  await pool.query(`insert into assistants values ($1, $2, 'You are helpful.', $3)`, [assistantId, owner, model])
  await pool.query(`insert into threads values ($1, $2, $3, $4)`, [threadId, owner, assistantId, messages])
  await pool.query(
    `insert into messages (thread_id, sequence, id, run_id, role, content)
     select $1, n, gen_random_uuid(), gen_random_uuid(), case when n % 2 = 1 then 'user' else 'assistant' end, repeat('lorem ipsum ', 20)
     from generate_series(1, $2::int) n`,
    [threadId, messages]
  )
  respond(response, { thread_id: threadId })
}

/** `/turn/THREAD` makes a turn or lists the messages, `/events/RUN?after=N` reads the log. */
const answerRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const owner = await requestOwner(request)
  if (owner === null) throw new Refused(401, "Send a key that is known, as x-api-key.")
  const [path = "", query = ""] = (request.url ?? "").split("?")
  const [, kind, id = ""] = path.split("/")
  if (kind === "seed") return seed(owner, request, response)
  if (request.method === "POST") return turn(owner, id, request, response)
  if (kind === "events") {
    const after = Number(new URLSearchParams(query).get("after") ?? 0)
    const { rows } = await pool.query({ ...rest, values: [id, owner, after] })
    const unseen: ReadonlyArray<Delta> = rows.flatMap(({ events }) => events)
    return respond(
      response,
      unseen.filter(({ sequence }) => sequence > after)
    )
  }
  const { rows } = await pool.query({ ...list, values: [id, owner] })
  respond(response, rows)
}

const server = createServer((request, response) => {
  answerRequest(request, response).catch((error: unknown) => {
    if (!(error instanceof Refused)) console.error(error)
    if (response.headersSent) return void response.destroy()
    const refused = error instanceof Refused ? error : new Refused(500, "The server failed.")
    respond(response, { detail: refused.message }, refused.status)
  })
})

await serve(server)
