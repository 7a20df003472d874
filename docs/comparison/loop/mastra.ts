import { Agent } from "@mastra/core/agent"
import type { Processor, ProcessOutputStreamArgs } from "@mastra/core/processors"
import { createTool } from "@mastra/core/tools"
import { z } from "zod"

const { OPENAI_API_KEY: apiKey = "", OPENAI_BASE_URL: url = "https://api.openai.com/v1" } = process.env
const readFile = createTool({
  id: "read_file",
  description: "Reads a file of the project.",
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => (path === ".env" ? "KEY=sk-1234567" : "The key is in .env.")
})
// Text is held back until its block ends, because a key may come in pieces.
let text = ""
const noKeys = {
  id: "no-keys",
  processOutputStream: async ({ part }: ProcessOutputStreamArgs) => {
    if (part.type === "text-delta") {
      text += part.payload.text
      return null
    }
    if (part.type !== "text-end") return part
    const whole = text.replaceAll(/sk-\w+/gu, "[key]")
    text = ""
    return { ...part, type: "text-delta", payload: { id: part.payload.id, text: whole } }
  }
} satisfies Processor
const agent = new Agent({
  id: "reader",
  name: "Reader",
  instructions: "Answer.",
  model: { id: "openai/gpt-5", url, apiKey },
  tools: { read_file: readFile },
  outputProcessors: [noKeys]
})
const stream = await agent.stream(process.argv[2] ?? "", { maxSteps: 4 })
for await (const text of stream.textStream) process.stdout.write(text)
