/**
 * The service behind the page. It answers with the demo model, keeps everything in memory, and lets everybody in as one guest. Yours has a
 * provider (`openai({ apiKey })` of `colloquy/openai`), a database (`postgres({ url })` of `colloquy/postgres`), and your own session.
 */
import { demoModelName, demoProvider } from "@colloquy/server/demo"
import { Colloquy, tool } from "colloquy"
import { documents } from "colloquy/documents"
import { inMemory } from "colloquy/in-memory"

/** Runs on the server, without a question. */
const weather = tool({
  name: "weather",
  description: "Tells how the weather is.",
  parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  execute: () => ({ sky: "sunny", celsius: 21 })
})

/** Waits until the user has approved it. */
const refund = tool({
  name: "refund",
  description: "Pays the money for an order back.",
  parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  needsApproval: true,
  execute: () => "The money is on its way."
})

const open = () =>
  Colloquy.lazy(() => ({
    store: inMemory(),
    providers: [demoProvider()],
    model: demoModelName,
    rooms: [documents()],
    tools: [weather, refund]
  })).handler({ basePath: "/ai", authenticate: () => "guest" })

declare global {
  var chatService: ReturnType<typeof open> | undefined
}

/** Kept through the edits of `next dev`. */
export const handler = (globalThis.chatService ??= open())
