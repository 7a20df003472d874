import { Colloquy, tool } from "colloquy"
import { openai } from "colloquy/openai"
import { pglite } from "colloquy/pglite"
import { z } from "zod"

const {
  DATA_DIR: dataDir = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1"
} = process.env
const pay = tool({
  name: "pay",
  description: "Pays money out.",
  parameters: z.object({ cents: z.int() }),
  needsApproval: ({ cents }) => cents > 100,
  execute: ({ cents }) => {
    console.log(`${cents} cents are paid.`)
    return "paid"
  }
})
const colloquy = await Colloquy.open({
  store: pglite({ dataDir }),
  providers: [openai({ apiKey, baseUrl })],
  model: "gpt-5",
  tools: [pay],
  owner: "ada"
})
const isApproved = process.argv[2] === "yes"
if (!isApproved) await colloquy.send({ content: "Pay Bob five euros." })
for (const call of await colloquy.approvals.list()) {
  if (isApproved) console.log((await colloquy.approvals.approve(call)).content)
  else console.log("Waiting:", call.name, call.arguments)
}
await colloquy.close()
