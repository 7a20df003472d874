import { Agent } from "@mastra/core/agent"
import { LibSQLStore } from "@mastra/libsql"
import { Memory } from "@mastra/memory"
import { mkdirSync } from "node:fs"
import { createInterface } from "node:readline/promises"

const {
  DATA_DIR: folder = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: url = "https://api.openai.com/v1"
} = process.env
mkdirSync(folder, { recursive: true })
const agent = new Agent({
  id: "chat",
  name: "Chat",
  instructions: "Answer.",
  model: { id: "openai/gpt-5", url, apiKey },
  memory: new Memory({ storage: new LibSQLStore({ id: "chat", url: `file:${folder}/chat.db` }) })
})

for await (const content of createInterface({ input: process.stdin })) {
  const stream = await agent.stream(content, { memory: { thread: "ada", resource: "ada" } })
  for await (const text of stream.textStream) process.stdout.write(text)
  process.stdout.write("\n")
}
