import { Agent, run, tool } from "@openai/agents"
import { z } from "zod"

const readFile = tool({
  name: "read_file",
  description: "Reads a file of the project.",
  parameters: z.object({ path: z.string() }),
  execute: ({ path }) => (path === ".env" ? "KEY=sk-1234567" : "The key is in .env.")
})
// A guardrail can only stop an answer as a whole; so the text is rewritten by hand, when all of it is there.
const agent = new Agent({ name: "Reader", instructions: "Answer.", model: "gpt-5", tools: [readFile] })
const stream = await run(agent, process.argv[2] ?? "", { stream: true, maxTurns: 4 })
let text = ""
for await (const piece of stream.toTextStream()) text += piece
await stream.completed
process.stdout.write(text.replaceAll(/sk-\w+/gu, "[key]"))
