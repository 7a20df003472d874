import { openai } from "@ai-sdk/openai"
import { Agent, createTool, Memory } from "@voltagent/core"
import { LibSQLMemoryAdapter } from "@voltagent/libsql"
import { mkdirSync } from "node:fs"
import { z } from "zod"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const pay = createTool({
  name: "pay",
  description: "Pays money out.",
  parameters: z.object({ cents: z.int() }),
  needsApproval: ({ cents }) => cents > 100,
  execute: async ({ cents }) => {
    console.log(`${cents} cents are paid.`)
    return "paid"
  }
})
const memory = new Memory({ storage: new LibSQLMemoryAdapter({ url: `file:${folder}/approvals.db` }) })
const agent = new Agent({ name: "Clerk", instructions: "Answer.", model: openai("gpt-5"), tools: [pay], memory })
const context = { userId: "ada", conversationId: "ada" }

const waitingParts = async () => {
  const messages = await memory.getMessages("ada", "ada")
  return { message: messages.at(-1), parts: messages.at(-1)?.parts.filter((part) => "approval" in part) ?? [] }
}

if (process.argv[2] === "yes") {
  const { message } = await waitingParts()
  if (message?.role === "assistant") {
    const parts = message.parts.map((part) =>
      "approval" in part && part.state === "approval-requested"
        ? { ...part, state: "approval-responded" as const, approval: { id: part.approval.id, approved: true } }
        : part
    )
    console.log((await agent.generateText([{ ...message, parts }], context)).text)
  }
} else {
  await agent.generateText("Pay Bob five euros.", context)
  for (const part of (await waitingParts()).parts) console.log("Waiting:", JSON.stringify(part))
}
