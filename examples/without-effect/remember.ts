import { Colloquy } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { memory } from "colloquy/memory"
import { say, scripted } from "colloquy/testing"

// A scripted model: its second answer is what it writes when it is asked what to remember.
const learned = '{"operations": [{"op": "ADD", "text": "Ada lives in Oslo.", "message": 1, "quote": "I live in Oslo"}]}'
const colloquy = await Colloquy.open({
  store: inMemory(),
  providers: [scripted([say("Nice."), say(learned), say("In Oslo.")])],
  model: "scripted-model",
  rooms: [memory()],
  owner: "ada"
})
const first = await colloquy.send({ content: "I live in Oslo.", memory: "auto" })
// Learning continues after the reply.
await colloquy.memories.learned(first)

const { assistantId } = first
const { content, memories } = await colloquy.send({ assistantId, content: "Where does Ada live?", memory: "readonly" })
console.log(
  content,
  memories.map((each) => each.memory)
)
await colloquy.close()
