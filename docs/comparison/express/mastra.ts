import { Mastra } from "@mastra/core"
import { Agent } from "@mastra/core/agent"
import { createDurableAgent } from "@mastra/core/agent/durable"
import { LibSQLStore } from "@mastra/libsql"
import { Memory } from "@mastra/memory"
import express from "express"
import session from "express-session"
import { mkdirSync } from "node:fs"

declare module "express-session" {
  interface SessionData {
    userId: string
  }
}

const {
  DATA_DIR: folder = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: url = "https://api.openai.com/v1",
  PORT = "3000"
} = process.env
mkdirSync(folder, { recursive: true })
const storage = new LibSQLStore({ id: "chat", url: `file:${folder}/chat.db` })
const memory = new Memory({ storage })
const model = { id: "openai/gpt-5" as const, url, apiKey }
const agent = createDurableAgent({
  agent: new Agent({ id: "chat", name: "Chat", instructions: "Answer.", model, memory })
})
new Mastra({ agents: { chat: agent }, storage, logger: false })
const memoryKeys = (request: express.Request<{ thread: string }>) => {
  const resource = request.session.userId ?? ""
  return { resource, thread: `${resource}-${request.params.thread}` }
}

// Runs by their threads, for a client that comes back.
const live = new Map<string, string>()
const write = async (texts: AsyncIterable<string>, response: express.Response) => {
  for await (const text of texts) response.write(text)
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
  const { resource, thread } = memoryKeys(request)
  const known = await memory.getThreadById({ threadId: thread })
  const { messages } =
    known === null ? { messages: [] } : await memory.recall({ threadId: thread, resourceId: resource })
  response.json(messages)
})
app.get("/ai/threads/:thread/answer", async (request, response) => {
  const run = live.get(memoryKeys(request).thread)
  if (run === undefined) response.sendStatus(204)
  else await write((await agent.observe(run)).output.textStream, response)
})
app.post("/ai/threads/:thread/messages", async (request, response) => {
  const memory = memoryKeys(request)
  const { output, runId } = await agent.stream(request.body.content, { memory })
  live.set(memory.thread, runId)
  await write(output.textStream, response)
})
app.listen(Number(PORT))
