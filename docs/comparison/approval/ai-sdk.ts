import { openai } from "@ai-sdk/openai"
import { generateText, isStepCount, type ModelMessage, tool } from "ai"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { z } from "zod"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const file = `${folder}/messages.json`
const pay = tool({
  description: "Pays money out.",
  inputSchema: z.object({ cents: z.int() }),
  execute: ({ cents }) => {
    console.log(`${cents} cents are paid.`)
    return "paid"
  }
})
const ask = async (messages: Array<ModelMessage>) => {
  const result = await generateText({
    model: openai("gpt-5"),
    tools: { pay },
    toolApproval: { pay: ({ cents }) => (cents > 100 ? "user-approval" : "not-applicable") },
    stopWhen: isStepCount(5),
    messages
  })
  writeFileSync(file, JSON.stringify([...messages, ...result.responseMessages]))
  return result
}

if (process.argv[2] === "yes") {
  const messages: Array<ModelMessage> = JSON.parse(readFileSync(file, "utf8"))
  const parts = messages.flatMap((message) =>
    message.role === "assistant" || message.role === "tool" ? [message.content].flat() : []
  )
  const isPart = (part: (typeof parts)[number]) => typeof part !== "string"
  const answered = new Set(
    parts.filter(isPart).flatMap((part) => (part.type === "tool-approval-response" ? [part.approvalId] : []))
  )
  const content = parts
    .filter(isPart)
    .flatMap((part) =>
      part.type === "tool-approval-request" && !answered.has(part.approvalId)
        ? [{ type: "tool-approval-response" as const, approvalId: part.approvalId, approved: true }]
        : []
    )
  if (content.length > 0) console.log((await ask([...messages, { role: "tool", content }])).text)
} else {
  const { content } = await ask([{ role: "user", content: "Pay Bob five euros." }])
  for (const part of content) {
    if (part.type === "tool-approval-request") console.log("Waiting:", part.toolCall.toolName, part.toolCall.input)
  }
}
