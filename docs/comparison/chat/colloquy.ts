import { Colloquy } from "colloquy"
import { openai } from "colloquy/openai"
import { pglite } from "colloquy/pglite"
import { createInterface } from "node:readline/promises"

const {
  DATA_DIR: dataDir = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1"
} = process.env
const colloquy = await Colloquy.open({
  store: pglite({ dataDir }),
  providers: [openai({ apiKey, baseUrl })],
  model: "gpt-5",
  owner: "ada"
})

let threadId = (await colloquy.threads.list())[0]?.thread.id
for await (const content of createInterface({ input: process.stdin })) {
  const turn = await colloquy.start({ content, threadId, stream: true })
  threadId = turn.threadId
  for await (const event of turn.events) if (event._tag === "TextDelta") process.stdout.write(event.text)
  process.stdout.write("\n")
}
await colloquy.close()
