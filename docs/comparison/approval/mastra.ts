import { Mastra } from "@mastra/core"
import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { LibSQLStore } from "@mastra/libsql"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { z } from "zod"

const {
  DATA_DIR: folder = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: url = "https://api.openai.com/v1"
} = process.env
mkdirSync(folder, { recursive: true })
const pay = createTool({
  id: "pay",
  description: "Pays money out.",
  inputSchema: z.object({ cents: z.int() }),
  requireApproval: ({ cents }) => cents > 100,
  execute: async ({ cents }) => {
    console.log(`${cents} cents are paid.`)
    return "paid"
  }
})
const clerk = new Agent({
  id: "clerk",
  name: "Clerk",
  instructions: "Answer.",
  model: { id: "openai/gpt-5", url, apiKey },
  tools: { pay }
})
const storage = new LibSQLStore({ id: "approvals", url: `file:${folder}/approvals.db` })
const agent = new Mastra({ agents: { clerk }, storage, logger: false }).getAgent("clerk")

const file = `${folder}/waiting.json`
if (process.argv[2] === "yes") {
  const { runId, toolCallId } = JSON.parse(readFileSync(file, "utf8"))
  console.log((await agent.approveToolCallGenerate({ runId, toolCallId })).text)
} else {
  const { finishReason, runId, suspendPayload } = await agent.generate("Pay Bob five euros.")
  writeFileSync(file, JSON.stringify({ runId, toolCallId: suspendPayload?.toolCallId }))
  if (finishReason === "suspended") console.log("Waiting:", suspendPayload.toolName, suspendPayload.args)
}
