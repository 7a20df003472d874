import { openai } from "@ai-sdk/openai"
import { Agent, Memory } from "@voltagent/core"
import { LibSQLMemoryAdapter } from "@voltagent/libsql"
import { mkdirSync } from "node:fs"
import { createInterface } from "node:readline/promises"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const agent = new Agent({
  name: "Chat",
  instructions: "Answer.",
  model: openai("gpt-5"),
  memory: new Memory({ storage: new LibSQLMemoryAdapter({ url: `file:${folder}/chat.db` }) })
})

for await (const content of createInterface({ input: process.stdin })) {
  const result = await agent.streamText(content, { userId: "ada", conversationId: "ada" })
  for await (const text of result.textStream) process.stdout.write(text)
  process.stdout.write("\n")
}
