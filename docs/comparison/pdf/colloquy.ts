import { Colloquy } from "colloquy"
import { documents } from "colloquy/documents"
import { inMemory } from "colloquy/in-memory"
import { openai } from "colloquy/openai"

const { OPENAI_API_KEY: apiKey = "", OPENAI_BASE_URL: baseUrl = "https://api.openai.com/v1" } = process.env
const colloquy = await Colloquy.open({
  store: inMemory(),
  providers: [openai({ apiKey, baseUrl })],
  model: "gpt-5",
  rooms: [documents()],
  owner: "ada"
})
const { id: assistantId } = await colloquy.assistants.create({ name: "Reader" })
const uploads = process.argv.slice(2).map((file) => colloquy.documents.upload({ assistantId, file }))
for (const { id } of await Promise.all(uploads)) await colloquy.documents.indexed(id)

const reply = await colloquy.send({ assistantId, content: "How many days of holiday do employees have?" })
console.log(reply.content)
for (const { index } of reply.citations) {
  const { filename, page } = reply.retrieved[index]!
  console.log(`${filename}, page ${page}`)
}
