import { Colloquy } from "colloquy"
import { memory } from "colloquy/memory"
import { openai } from "colloquy/openai"
import { pglite } from "colloquy/pglite"

const {
  DATA_DIR: dataDir = "data",
  OPENAI_API_KEY: apiKey = "",
  OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1"
} = process.env
const colloquy = await Colloquy.open({
  store: pglite({ dataDir }),
  providers: [openai({ apiKey, baseUrl })],
  model: "gpt-5",
  rooms: [memory()],
  owner: "ada"
})
const assistant = (await colloquy.assistants.list())[0] ?? (await colloquy.assistants.create({ name: "Friend" }))
const reply = await colloquy.send({ assistantId: assistant.id, content: process.argv[2] ?? "", memory: "auto" })
console.log(reply.content)
await colloquy.memories.learned(reply)
await colloquy.close()
