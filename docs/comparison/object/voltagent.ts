import { openai } from "@ai-sdk/openai"
import { Agent } from "@voltagent/core"
import { Output } from "ai"
import { z } from "zod"

const Order = z.object({ item: z.string(), count: z.number().int().positive() })

const agent = new Agent({ name: "Shop", instructions: "Take the order.", model: openai("gpt-5") })
const { output } = await agent.generateText("Two teas, please.", { output: Output.object({ schema: Order }) })
console.log(output.count, output.item)
