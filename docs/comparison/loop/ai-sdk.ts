import { openai } from "@ai-sdk/openai"
import { isStepCount, streamText, type TextStreamPart, tool, type ToolSet } from "ai"
import { z } from "zod"

const readFile = tool({
  description: "Reads a file of the project.",
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => (path === ".env" ? "KEY=sk-1234567" : "The key is in .env.")
})
// Text is held back until its block ends, because a key may come in pieces.
const noKeys = () => {
  let text = ""
  return new TransformStream<TextStreamPart<ToolSet>, TextStreamPart<ToolSet>>({
    transform: (part, controller) => {
      if (part.type === "text-delta") text += part.text
      else if (part.type === "text-end") {
        controller.enqueue({ ...part, type: "text-delta", text: text.replaceAll(/sk-\w+/gu, "[key]") })
        controller.enqueue(part)
        text = ""
      } else controller.enqueue(part)
    }
  })
}
const { textStream } = streamText({
  model: openai("gpt-5"),
  tools: { read_file: readFile },
  stopWhen: isStepCount(4),
  experimental_transform: noKeys,
  prompt: process.argv[2] ?? ""
})
for await (const text of textStream) process.stdout.write(text)
