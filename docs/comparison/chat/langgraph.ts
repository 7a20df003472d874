import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite"
import { ChatOpenAI } from "@langchain/openai"
import { createAgent } from "langchain"
import { mkdirSync } from "node:fs"
import { createInterface } from "node:readline/promises"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const agent = createAgent({
  model: new ChatOpenAI({ model: "gpt-5" }),
  tools: [],
  checkpointer: SqliteSaver.fromConnString(`${folder}/chat.db`)
})

for await (const content of createInterface({ input: process.stdin })) {
  const stream = await agent.stream(
    { messages: [{ role: "user", content }] },
    { configurable: { thread_id: "ada" }, streamMode: "messages" }
  )
  for await (const [chunk] of stream) process.stdout.write(chunk.text)
  process.stdout.write("\n")
}
