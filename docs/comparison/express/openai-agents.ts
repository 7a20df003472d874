import { Agent, type AgentInputItem, run, type Session } from "@openai/agents"
import express from "express"
import session from "express-session"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { ReadableStream } from "node:stream/web"

declare module "express-session" {
  interface SessionData {
    userId: string
  }
}

const { DATA_DIR: folder = "data", PORT = "3000" } = process.env
mkdirSync(folder, { recursive: true })
const threadKey = (request: express.Request<{ thread: string }>) =>
  encodeURIComponent(`${request.session.userId} ${request.params.thread}`)
const load = (key: string): Array<AgentInputItem> =>
  existsSync(`${folder}/${key}.json`) ? JSON.parse(readFileSync(`${folder}/${key}.json`, "utf8")) : []
const save = (key: string, items: ReadonlyArray<AgentInputItem>) =>
  writeFileSync(`${folder}/${key}.json`, JSON.stringify(items))
const openSession = (key: string): Session => ({
  getSessionId: async () => key,
  getItems: async (limit) => (limit === undefined ? load(key) : load(key).slice(-limit)),
  addItems: async (items) => save(key, [...load(key), ...items]),
  popItem: async () => {
    const items = load(key)
    const last = items.pop()
    save(key, items)
    return last
  },
  clearSession: async () => save(key, [])
})
const agent = new Agent({ name: "Chat", instructions: "Answer.", model: "gpt-5" })

// Answers that are being written, for a client that comes back.
const live = new Map<string, ReadableStream<string>>()
const write = async (key: string, response: express.Response) => {
  const [now, later] = live.get(key)?.tee() ?? []
  if (later !== undefined) live.set(key, later)
  for await (const text of now ?? []) response.write(text)
  response.end()
}

const app = express()
app.use(session({ secret: "example", resave: false, saveUninitialized: false }))
app.post("/login/:name", (request, response) => {
  request.session.userId = request.params.name
  response.end()
})
app.use("/ai", express.json(), (request, response, next) => {
  if (request.session.userId === undefined) response.sendStatus(401)
  else next()
})
app.get("/ai/threads/:thread", (request, response) => {
  response.json(load(threadKey(request)))
})
app.get("/ai/threads/:thread/answer", (request, response) => write(threadKey(request), response))
app.post("/ai/threads/:thread/messages", async (request, response) => {
  const key = threadKey(request)
  const stream = await run(agent, request.body.content, { session: openSession(key), stream: true })
  live.set(key, ReadableStream.from(stream.toTextStream()))
  void stream.completed.finally(() => live.delete(key))
  await write(key, response)
})
app.listen(Number(PORT))
