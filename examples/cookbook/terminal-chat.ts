/** A chat in the terminal: the answer appears while it is written, and the conversation goes on line by line. */
import { Colloquy } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { say, scripted } from "colloquy/testing"
import { createInterface } from "node:readline/promises"

// Production: `providers: [openai({ apiKey })], model: "gpt-5"`.
const providers = [scripted([say("Hello, ", "Ada."), say("You said it before: ", "Ada.")])]
const colloquy = await Colloquy.open({ store: inMemory(), providers, model: "scripted-model", owner: "me" })

let threadId: string | undefined
for await (const content of createInterface({ input: process.stdin })) {
  const turn = await colloquy.start({ content, threadId, stream: true })
  threadId = turn.threadId
  for await (const event of turn.events) if (event._tag === "TextDelta") process.stdout.write(event.text)
  process.stdout.write("\n")
}
