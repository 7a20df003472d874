import { Agent, run, RunState, tool } from "@openai/agents"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { z } from "zod"

const { DATA_DIR: folder = "data" } = process.env
mkdirSync(folder, { recursive: true })
const file = `${folder}/state.json`
const pay = tool({
  name: "pay",
  description: "Pays money out.",
  parameters: z.object({ cents: z.int() }),
  needsApproval: async (_context, { cents }) => cents > 100,
  execute: ({ cents }) => {
    console.log(`${cents} cents are paid.`)
    return "paid"
  }
})
const agent = new Agent({ name: "Clerk", instructions: "Answer.", model: "gpt-5", tools: [pay] })

if (process.argv[2] === "yes") {
  const state = await RunState.fromString(agent, readFileSync(file, "utf8"))
  for (const call of state.getInterruptions()) state.approve(call)
  const { finalOutput } = await run(agent, state)
  writeFileSync(file, state.toString())
  console.log(finalOutput)
} else {
  const { interruptions, state } = await run(agent, "Pay Bob five euros.")
  writeFileSync(file, state.toString())
  for (const call of interruptions) console.log("Waiting:", call.name, call.arguments)
}
