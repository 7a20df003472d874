import { openai } from "@ai-sdk/openai"
import { generateText, Output } from "ai"
import { z } from "zod"

const Order = z.object({ item: z.string(), count: z.number().int().positive() })

const { output } = await generateText({
  model: openai("gpt-5"),
  prompt: "Two teas, please.",
  output: Output.object({ schema: Order })
})
console.log(output.count, output.item)
