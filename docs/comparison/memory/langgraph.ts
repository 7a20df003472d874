import { ChatOpenAI } from "@langchain/openai"
import { createAgent, tool } from "langchain"
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { z } from "zod"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const file = `${folder}/ada.txt`
const known = existsSync(file) ? readFileSync(file, "utf8") : ""

const updateWorkingMemory = tool(
  ({ memory }) => {
    appendFileSync(file, `${memory}\n`)
    return "kept"
  },
  {
    name: "updateWorkingMemory",
    description: "Keeps a fact about the user for other conversations.",
    schema: z.object({ memory: z.string() })
  }
)
const agent = createAgent({
  model: new ChatOpenAI({ model: "gpt-5" }),
  tools: [updateWorkingMemory],
  systemPrompt: `What you know about the user:\n${known}`
})
const { messages } = await agent.invoke({ messages: [{ role: "user", content: process.argv[2] ?? "" }] })
console.log(messages.at(-1)?.text)
