import { ChatOpenAI } from "@langchain/openai"
import { z } from "zod"

const Order = z.object({ item: z.string(), count: z.number().int().positive() })

const model = new ChatOpenAI({ model: "gpt-5" }).withStructuredOutput(Order)
const output = await model.invoke("Two teas, please.")
console.log(output.count, output.item)
