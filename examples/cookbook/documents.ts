/** Questions to files: `node documents.ts a.pdf b.pdf c.pdf`. The answer comes with the pages that it cites. */
import { Colloquy } from "colloquy"
import { documents } from "colloquy/documents"
import { inMemory } from "colloquy/in-memory"
import { say, scripted } from "colloquy/testing"

const providers = [scripted([say("Thirty days [d1].")])]
const colloquy = await Colloquy.open({
  store: inMemory(),
  providers,
  model: "scripted-model",
  rooms: [documents()],
  owner: "me"
})
const { id: assistantId } = await colloquy.assistants.create({ name: "Reader" })
const uploads = process.argv.slice(2).map((file) => colloquy.documents.upload({ assistantId, file }))
for (const { id } of await Promise.all(uploads)) await colloquy.documents.indexed(id)

const reply = await colloquy.send({ assistantId, content: "How many days of holiday do employees have?" })
console.log(reply.content)
for (const { index } of reply.citations) {
  const { filename, page, text } = reply.retrieved[index]!
  console.log(`[d${index + 1}] ${filename}, page ${page}: ${text}`)
}
