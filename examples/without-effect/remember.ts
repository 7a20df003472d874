import { Colloquy } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { say, scripted } from "colloquy/testing"
import { layerMemory, readKept } from "@colloquy/core/memory"
import { Client } from "@colloquy/http"
import { setTimeout } from "node:timers/promises"

// A scripted model: its second answer is what it writes when it is asked what to remember.
const learned = '{"operations": [{"op": "ADD", "text": "Ada lives in Oslo.", "message": 1, "quote": "I live in Oslo"}]}'
const colloquy = await Colloquy.open({
  store: inMemory(),
  providers: [scripted([say("Nice."), say(learned), say("In Oslo.")])],
  model: "scripted-model",
  parts: [layerMemory],
  owner: "ada"
})
const first = { content: "I live in Oslo.", options: { memory: { mode: "Auto" } } }
const { assistantId, runId } = await colloquy.send(first)

// Learning continues after the reply. The calls of the HTTP API report it, also inside of this process.
const { handler } = await colloquy.handler({ authenticate: () => "ada" })
const { memories } = await Client.connect({ baseUrl: "http://in.process", handler })
while ((await memories.operation(runId)).status !== "COMPLETED") await setTimeout(10)

const second = { assistantId, content: "Where does Ada live?", options: { memory: { mode: "Readonly" } } }
const { content, supplements } = await colloquy.send(second)
console.log(
  content,
  readKept(supplements["memory"])?.retrieved.map(({ memory }) => memory)
)
await colloquy.close()
