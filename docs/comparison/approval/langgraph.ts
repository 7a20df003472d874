import { Command } from "@langchain/langgraph"
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite"
import { ChatOpenAI } from "@langchain/openai"
import { createAgent, humanInTheLoopMiddleware, tool } from "langchain"
import { mkdirSync } from "node:fs"
import { z } from "zod"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const pay = tool(
  ({ cents }) => {
    console.log(`${cents} cents are paid.`)
    return "paid"
  },
  { name: "pay", description: "Pays money out.", schema: z.object({ cents: z.int() }) }
)
const agent = createAgent({
  model: new ChatOpenAI({ model: "gpt-5" }),
  tools: [pay],
  middleware: [
    humanInTheLoopMiddleware({
      interruptOn: { pay: { allowedDecisions: ["approve"], when: ({ toolCall }) => toolCall.args.cents > 100 } }
    })
  ],
  checkpointer: SqliteSaver.fromConnString(`${folder}/approvals.db`)
})
const config = { configurable: { thread_id: "ada" } }
if (process.argv[2] === "yes") {
  const decisions = [{ type: "approve" }]
  const { messages } = await agent.invoke(new Command({ resume: { decisions } }), config)
  console.log(messages.at(-1)?.text)
} else {
  await agent.invoke({ messages: [{ role: "user", content: "Pay Bob five euros." }] }, config)
  const { tasks } = await agent.graph.getState(config)
  for (const { interrupts } of tasks) for (const { value } of interrupts) console.log("Waiting:", JSON.stringify(value))
}
