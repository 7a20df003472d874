/** An agent that calls tools in a loop: at most four times, with a guard that lets no key out. */
import { Colloquy, guard, tool } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { callTool, say, scripted } from "colloquy/testing"
import * as z from "zod"

const readFile = tool({
  name: "read_file",
  description: "Reads a file of the project.",
  parameters: z.object({ path: z.string() }),
  execute: ({ path }) => (path === ".env" ? "KEY=sk-1234567" : "The key is in .env.")
})
const noKeys = guard({ after: async (text) => text.replaceAll(/sk-\w+/gu, "[key]") })

const steps = [
  callTool("read_file", { path: "README.md" }),
  callTool("read_file", { path: ".env" }),
  say("It is sk-1234567.")
]
const colloquy = await Colloquy.open({
  store: inMemory(),
  providers: [scripted(steps)],
  model: "scripted-model",
  tools: [readFile],
  parts: [noKeys],
  settings: { hostedRounds: 4 },
  owner: "me"
})
for await (const event of colloquy.stream({ content: "What is the key?" })) {
  if (event._tag === "HostedResult") console.log(event.toolName, event.output)
  if (event._tag === "TextDelta") console.log(event.text)
}
