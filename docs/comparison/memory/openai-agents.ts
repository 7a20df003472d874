import { Agent, run, tool } from "@openai/agents"
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { z } from "zod"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const file = `${folder}/ada.txt`
const known = existsSync(file) ? readFileSync(file, "utf8") : ""

const updateWorkingMemory = tool({
  name: "updateWorkingMemory",
  description: "Keeps a fact about the user for other conversations.",
  parameters: z.object({ memory: z.string() }),
  execute: ({ memory }) => {
    appendFileSync(file, `${memory}\n`)
    return "kept"
  }
})
const agent = new Agent({
  name: "Friend",
  instructions: `What you know about the user:\n${known}`,
  model: "gpt-5",
  tools: [updateWorkingMemory]
})
const { finalOutput } = await run(agent, process.argv[2] ?? "")
console.log(finalOutput)
