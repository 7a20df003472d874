import { toAISdkStream } from "@mastra/ai-sdk"
import { toAISdkMessages } from "@mastra/ai-sdk/ui"
import { Mastra } from "@mastra/core"
import { Agent } from "@mastra/core/agent"
import { createDurableAgent } from "@mastra/core/agent/durable"
import { LibSQLStore } from "@mastra/libsql"
import { Memory } from "@mastra/memory"
import { createUIMessageStreamResponse } from "ai"
import { mkdirSync } from "node:fs"

const {
  DATA_DIR: folder = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: url = "https://api.openai.com/v1"
} = process.env
mkdirSync(folder, { recursive: true })
const storage = new LibSQLStore({ id: "chat", url: `file:${folder}/chat.db` })
const memory = new Memory({ storage })
const model = { id: "openai/gpt-5" as const, url, apiKey }
const agent = createDurableAgent({
  agent: new Agent({ id: "chat", name: "Chat", instructions: "Answer.", model, memory })
})
new Mastra({ agents: { chat: agent }, storage, logger: false })
const memoryThread = (user: string, id: string) => `${user}-${id}`
export const begin = (_user: string) => crypto.randomUUID()
export const load = async (user: string, id: string) => {
  const threadId = memoryThread(user, id)
  if ((await memory.getThreadById({ threadId })) === null) return []
  const { messages } = await memory.recall({ threadId, resourceId: user })
  return toAISdkMessages(messages, { version: "v7" })
}

// Runs by their threads, for a page that is loaded again.
const live = new Map<string, string>()

export const POST = async (request: Request) => {
  const user = request.headers.get("x-user")
  if (user === null) return new Response(null, { status: 401 })
  const { id, messages } = await request.json()
  const thread = memoryThread(user, id)
  const { output, runId } = await agent.stream(messages.slice(-1), { memory: { thread, resource: user } })
  live.set(thread, runId)
  return createUIMessageStreamResponse({ stream: toAISdkStream(output, { from: "agent", version: "v7" }) })
}

export const GET = async (request: Request) => {
  const user = request.headers.get("x-user") ?? ""
  const run = live.get(memoryThread(user, new URL(request.url).pathname.split("/").at(-2) ?? ""))
  if (run === undefined) return new Response(null, { status: 204 })
  const { output } = await agent.observe(run)
  return createUIMessageStreamResponse({ stream: toAISdkStream(output, { from: "agent", version: "v7" }) })
}
