import { Agent } from "@mastra/core/agent"
import { LibSQLStore } from "@mastra/libsql"
import { Memory } from "@mastra/memory"
import { randomUUID } from "node:crypto"
import { mkdirSync } from "node:fs"

const {
  DATA_DIR: folder = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: url = "https://api.openai.com/v1"
} = process.env
mkdirSync(folder, { recursive: true })
const agent = new Agent({
  id: "friend",
  name: "Friend",
  instructions: "Answer.",
  model: { id: "openai/gpt-5", url, apiKey },
  memory: new Memory({
    storage: new LibSQLStore({ id: "memory", url: `file:${folder}/memory.db` }),
    options: { workingMemory: { enabled: true } }
  })
})
const { text } = await agent.generate(process.argv[2] ?? "", { memory: { thread: randomUUID(), resource: "ada" } })
console.log(text)
