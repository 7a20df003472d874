import { Colloquy, provider } from "colloquy"
import { inMemory } from "colloquy/in-memory"

const gateway = provider({
  id: "house",
  models: ["house-1"],
  chat: async function* ({ messages, system }, { signal }) {
    const response = await fetch(process.env["GATEWAY_URL"] ?? "http://127.0.0.1:8080", {
      method: "POST",
      body: JSON.stringify({ system, messages }),
      signal
    })
    if (!response.ok || response.body === null)
      throw Object.assign(new Error("The gateway refused"), { status: response.status })
    yield* response.body.pipeThrough(new TextDecoderStream())
  }
})
const colloquy = await Colloquy.open({ store: inMemory(), providers: [gateway], model: "house-1", owner: "me" })
for await (const event of colloquy.stream({ content: "Hello" })) {
  if (event._tag === "TextDelta") process.stdout.write(event.text)
  if (event._tag === "RunFailed") process.stdout.write(event.error)
}
