import { Agent, run } from "@openai/agents"
import { z } from "zod"

const Order = z.object({ item: z.string(), count: z.number().int().positive() })

const agent = new Agent({ name: "Shop", instructions: "Take the order.", model: "gpt-5", outputType: Order })
const { finalOutput } = await run(agent, "Two teas, please.")
console.log(finalOutput?.count, finalOutput?.item)
