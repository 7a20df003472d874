import { openai } from "@ai-sdk/openai"
import { Agent, Memory } from "@voltagent/core"
import { LibSQLMemoryAdapter } from "@voltagent/libsql"
import { randomUUID } from "node:crypto"
import { mkdirSync } from "node:fs"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const agent = new Agent({
  name: "Friend",
  instructions: "Answer.",
  model: openai("gpt-5"),
  memory: new Memory({
    storage: new LibSQLMemoryAdapter({ url: `file:${folder}/memory.db` }),
    workingMemory: { enabled: true, scope: "user" }
  })
})
const { text } = await agent.generateText(process.argv[2] ?? "", { userId: "ada", conversationId: randomUUID() })
console.log(text)
