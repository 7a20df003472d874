import { ChatOpenAI } from "@langchain/openai"
import { createAgent, modelCallLimitMiddleware, piiMiddleware, tool } from "langchain"
import { z } from "zod"

const readFile = tool(({ path }) => (path === ".env" ? "KEY=sk-1234567" : "The key is in .env."), {
  name: "read_file",
  description: "Reads a file of the project.",
  schema: z.object({ path: z.string() })
})
const agent = createAgent({
  model: new ChatOpenAI({ model: "gpt-5" }),
  tools: [readFile],
  middleware: [
    modelCallLimitMiddleware({ runLimit: 4 }),
    piiMiddleware("key", { detector: "sk-\\w+", strategy: "redact", applyToInput: false, applyToOutput: true })
  ]
})
// The stream of messages has the text from before the redaction; so it is printed when all of it is there.
const { messages } = await agent.invoke({ messages: [{ role: "user", content: process.argv[2] ?? "" }] })
console.log(messages.at(-1)?.text)
