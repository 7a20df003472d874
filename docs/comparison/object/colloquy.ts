import { Colloquy } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { openai } from "colloquy/openai"
import { z } from "zod"

const { OPENAI_API_KEY: apiKey = "", OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1" } = process.env
const Order = z.object({ item: z.string(), count: z.number().int().positive() })

const colloquy = await Colloquy.open({
  store: inMemory(),
  providers: [openai({ apiKey, baseUrl })],
  model: "gpt-5",
  owner: "ada"
})
const { output } = await colloquy.send({ content: "Two teas, please.", output: Order }, { throw: true })
console.log(output?.count, output?.item)
