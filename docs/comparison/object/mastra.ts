import { Agent } from "@mastra/core/agent"
import { z } from "zod"

const { OPENAI_API_KEY: apiKey = "", OPENAI_BASE_URL: url = "https://api.openai.com/v1" } = process.env
const Order = z.object({ item: z.string(), count: z.number().int().positive() })

const agent = new Agent({
  id: "shop",
  name: "Shop",
  instructions: "Take the order.",
  model: { id: "openai/gpt-5", url, apiKey }
})
const { object } = await agent.generate("Two teas, please.", { structuredOutput: { schema: Order } })
console.log(object.count, object.item)
