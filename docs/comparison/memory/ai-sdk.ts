import { openai } from "@ai-sdk/openai"
import { generateText, isStepCount, tool } from "ai"
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { z } from "zod"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const file = `${folder}/ada.txt`
const known = existsSync(file) ? readFileSync(file, "utf8") : ""

const updateWorkingMemory = tool({
  description: "Keeps a fact about the user for other conversations.",
  inputSchema: z.object({ memory: z.string() }),
  execute: ({ memory }) => {
    appendFileSync(file, `${memory}\n`)
    return "kept"
  }
})
const { text } = await generateText({
  model: openai("gpt-5"),
  instructions: `What you know about the user:\n${known}`,
  tools: { updateWorkingMemory },
  stopWhen: isStepCount(3),
  prompt: process.argv[2] ?? ""
})
console.log(text)
