import { Colloquy } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { say, scripted } from "colloquy/testing"

// A scripted model, so this runs without a network and without a key.
const providers = [scripted([say("It is sunny ", "in Paris.")])]
const colloquy = await Colloquy.open({ store: inMemory(), providers, model: "scripted-model" })

for await (const event of colloquy.as("ada").stream({ content: "How is the weather in Paris?" })) {
  if (event._tag === "TextDelta") process.stdout.write(event.text)
}
await colloquy.close()
