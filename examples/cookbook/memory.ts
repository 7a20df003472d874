/** Memory across threads: what a user says in one conversation is known in the next. */
import { Colloquy } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { memory } from "colloquy/memory"
import { say, scripted } from "colloquy/testing"

// The second answer of this model is what it writes when it is asked what to remember.
const fact = '{"operations": [{"op": "ADD", "text": "Ada lives in Oslo.", "message": 1, "quote": "I live in Oslo"}]}'
const providers = [scripted([say("Nice."), say(fact), say("In Oslo.")])]
const colloquy = await Colloquy.open({
  store: inMemory(),
  providers,
  model: "scripted-model",
  rooms: [memory()],
  owner: "ada"
})
const first = await colloquy.send({ content: "I live in Oslo.", memory: "auto" })
await colloquy.memories.learned(first)

const { assistantId } = first
const second = await colloquy.send({ assistantId, content: "Where do I live?", memory: "readonly" })
console.log(second.content, second.memories[0]?.memory)
