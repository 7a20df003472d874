/** An approval over a restart: `node approval.ts` asks and ends. `node approval.ts yes` is another process, which goes on. */
import { Colloquy, tool } from "colloquy"
import { pglite } from "colloquy/pglite"
import { callTool, say, scripted } from "colloquy/testing"
import * as z from "zod"

const pay = tool({
  name: "pay",
  description: "Pays money out.",
  parameters: z.object({ cents: z.int() }),
  needsApproval: ({ cents }) => cents > 100,
  execute: ({ cents }) => console.log(`${cents} cents are paid.`)
})

const isApproved = process.argv[2] === "yes"
const steps = isApproved ? [say("It is paid.")] : [callTool("pay", { cents: 500 })]
const store = pglite({ dataDir: process.env["DATA_DIR"] ?? "./data" })
const colloquy = await Colloquy.open({
  store,
  providers: [scripted(steps)],
  model: "scripted-model",
  tools: [pay],
  owner: "ada"
})

if (!isApproved) await colloquy.send({ content: "Pay Bob five euros." })
for (const call of await colloquy.approvals.list()) {
  if (isApproved) console.log((await colloquy.approvals.approve(call)).content)
  else console.log("Waiting:", call.name, call.arguments)
}
await colloquy.close()
