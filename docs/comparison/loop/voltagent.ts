import { openai } from "@ai-sdk/openai"
import { Agent, createOutputGuardrail, createTool } from "@voltagent/core"
import { z } from "zod"

const readFile = createTool({
  name: "read_file",
  description: "Reads a file of the project.",
  parameters: z.object({ path: z.string() }),
  execute: async ({ path }) => (path === ".env" ? "KEY=sk-1234567" : "The key is in .env.")
})
const redacted = (text: string) => text.replaceAll(/sk-\w+/gu, "[key]")
// Text is held back until its block ends, because a key may come in pieces.
const noKeys = createOutputGuardrail<string>({
  name: "no-keys",
  handler: async ({ output }) => ({ pass: true, action: "modify", modifiedOutput: redacted(output) }),
  streamHandler: ({ part, state }) => {
    if (part.type === "text-delta") {
      state["text"] = `${state["text"] ?? ""}${part.text}`
      state["delta"] = part
      return null
    }
    if (part.type !== "text-end" || state["delta"] === undefined) return part
    return { ...state["delta"], text: redacted(state["text"]) }
  }
})
const agent = new Agent({
  name: "Reader",
  instructions: "Answer.",
  model: openai("gpt-5"),
  tools: [readFile],
  outputGuardrails: [noKeys]
})
const { textStream } = await agent.streamText(process.argv[2] ?? "", { maxSteps: 4 })
for await (const text of textStream) process.stdout.write(text)
