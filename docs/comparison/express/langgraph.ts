import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite"
import { ChatOpenAI } from "@langchain/openai"
import express from "express"
import session from "express-session"
import { createAgent } from "langchain"
import { mkdirSync } from "node:fs"
import { ReadableStream } from "node:stream/web"

declare module "express-session" {
  interface SessionData {
    userId: string
  }
}

const { DATA_DIR: folder = "data", PORT = "3000" } = process.env
mkdirSync(folder, { recursive: true })
const agent = createAgent({
  model: new ChatOpenAI({ model: "gpt-5" }),
  tools: [],
  checkpointer: SqliteSaver.fromConnString(`${folder}/chat.db`)
})
const threadKey = (request: express.Request<{ thread: string }>) =>
  JSON.stringify([request.session.userId, request.params.thread])
const threadConfig = (key: string) => ({ configurable: { thread_id: key } })

// Answers that are being written, for a client that comes back.
const live = new Map<string, ReadableStream<string>>()
const write = async (key: string, response: express.Response) => {
  const [now, later] = live.get(key)?.tee() ?? []
  if (later !== undefined) live.set(key, later)
  for await (const text of now ?? []) response.write(text)
  response.end()
}
async function* answerTexts(key: string, content: string) {
  const messages = [{ role: "user", content }]
  const stream = await agent.stream({ messages }, { ...threadConfig(key), streamMode: "messages" })
  for await (const [chunk] of stream) yield chunk.text
  live.delete(key)
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
app.get("/ai/threads/:thread", async (request, response) => {
  const { values } = await agent.graph.getState(threadConfig(threadKey(request)))
  response.json(values.messages ?? [])
})
app.get("/ai/threads/:thread/answer", (request, response) => write(threadKey(request), response))
app.post("/ai/threads/:thread/messages", async (request, response) => {
  const key = threadKey(request)
  live.set(key, ReadableStream.from(answerTexts(key, request.body.content)))
  await write(key, response)
})
app.listen(Number(PORT))
