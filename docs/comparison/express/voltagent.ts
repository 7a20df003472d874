import { openai } from "@ai-sdk/openai"
import { Agent, Memory } from "@voltagent/core"
import { LibSQLMemoryAdapter } from "@voltagent/libsql"
import express from "express"
import session from "express-session"
import { mkdirSync } from "node:fs"

declare module "express-session" {
  interface SessionData {
    userId: string
  }
}

const { DATA_DIR: folder = "data", PORT = "3000" } = process.env
mkdirSync(folder, { recursive: true })
const memory = new Memory({ storage: new LibSQLMemoryAdapter({ url: `file:${folder}/chat.db` }) })
const agent = new Agent({ name: "Chat", instructions: "Answer.", model: openai("gpt-5"), memory })
const memoryKeys = (request: express.Request<{ thread: string }>) => {
  const userId = request.session.userId ?? ""
  return { userId, conversationId: JSON.stringify([userId, request.params.thread]) }
}

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
app.get("/ai/threads/:thread", async (request, response) => {
  const { conversationId, userId } = memoryKeys(request)
  response.json(await memory.getMessages(userId, conversationId))
})
app.get("/ai/threads/:thread/answer", (request, response) => write(memoryKeys(request).conversationId, response))
app.post("/ai/threads/:thread/messages", async (request, response) => {
  const keys = memoryKeys(request)
  const result = await agent.streamText(request.body.content, keys)
  live.set(keys.conversationId, result.textStream)
  void Promise.resolve(result.text).finally(() => live.delete(keys.conversationId))
  await write(keys.conversationId, response)
})
app.listen(Number(PORT))
