import { Colloquy, guard, tool } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { openai } from "colloquy/openai"
import { z } from "zod"

const { OPENAI_API_KEY: apiKey = "", OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1" } = process.env
const readFile = tool({
  name: "read_file",
  description: "Reads a file of the project.",
  parameters: z.object({ path: z.string() }),
  execute: ({ path }) => (path === ".env" ? "KEY=sk-1234567" : "The key is in .env.")
})
const noKeys = guard({ after: async (text) => text.replaceAll(/sk-\w+/gu, "[key]") })
const colloquy = await Colloquy.open({
  store: inMemory(),
  providers: [openai({ apiKey, baseUrl })],
  model: "gpt-5",
  tools: [readFile],
  parts: [noKeys],
  settings: { hostedRounds: 4 },
  owner: "ada"
})
for await (const event of colloquy.stream({ content: process.argv[2] ?? "" })) {
  if (event._tag === "TextDelta") process.stdout.write(event.text)
}
