import { openai } from "@ai-sdk/openai"
import { type ModelMessage, streamText } from "ai"
import express from "express"
import session from "express-session"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"

declare module "express-session" {
  interface SessionData {
    userId: string
  }
}

const { DATA_DIR: folder = "data", PORT = "3000" } = process.env
mkdirSync(folder, { recursive: true })
const threadKey = (request: express.Request<{ thread: string }>) =>
  encodeURIComponent(`${request.session.userId} ${request.params.thread}`)
const load = (key: string): Array<ModelMessage> =>
  existsSync(`${folder}/${key}.json`) ? JSON.parse(readFileSync(`${folder}/${key}.json`, "utf8")) : []
const save = (key: string, messages: ReadonlyArray<ModelMessage>) =>
  writeFileSync(`${folder}/${key}.json`, JSON.stringify(messages))

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
  const messages: Array<ModelMessage> = [...load(key), { role: "user", content: request.body.content }]
  save(key, messages)
  const result = streamText({ model: openai("gpt-5"), messages })
  live.set(key, result.textStream)
  const saved = Promise.resolve(result.responseMessages).then((answer) => save(key, [...load(key), ...answer]))
  void saved.finally(() => live.delete(key))
  await write(key, response)
})
app.listen(Number(PORT))
