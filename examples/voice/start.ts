/** The page of this folder beside the API and its voice sessions: `npm run voice`, or `node start.ts` with the packages installed. */
import { Client } from "@colloquy/http"
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { stripTypeScriptTypes } from "node:module"
import { fileURLToPath } from "node:url"
import { ai, stop, voice } from "./server.ts"

/** A browser takes modules without types. */
const script = (address: string | URL): string => {
  const text = readFileSync(fileURLToPath(address), "utf8")
  return text.includes("interface ") ? stripTypeScriptTypes(text, { mode: "transform" }) : text
}

const near = (name: string): URL => new URL(name, import.meta.url)

const files: Readonly<Record<string, readonly [type: string, read: () => string]>> = {
  "/": ["text/html; charset=utf-8", () => readFileSync(near("index.html"), "utf8")],
  "/talk.css": ["text/css", () => readFileSync(near("talk.css"), "utf8")],
  "/talk.js": ["text/javascript", () => script(near("talk.js"))],
  "/look.js": ["text/javascript", () => script(near("look.js"))],
  "/sound.js": ["text/javascript", () => script(near("sound.js"))],
  "/page.js": ["text/javascript", () => script(near("page.ts"))],
  "/microphone.js": ["text/javascript", () => script(near("microphone.js"))],
  "/client.js": ["text/javascript", () => script(import.meta.resolve("@colloquy/ws/client"))]
}

/** The key stays here. The ticket is for the page that asks. */
const giveTicket = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { origin = "" } = message.headers
  const { handler } = ai
  const client = await Client.connect({
    baseUrl: "http://localhost/ai",
    apiKey: "key-of-ada",
    headers: { origin },
    handler
  })
  const { ticket } = await client.realtime.issueTicket()
  response.end(ticket)
}

export const server = createServer((message, response) => {
  const file = files[message.url ?? ""]
  if (file !== undefined) response.setHeader("content-type", file[0]).end(file[1]())
  else if (message.url === "/voice-ticket" && message.method === "POST") void giveTicket(message, response)
  else ai.node(message, response)
})
voice.attach(server)

if (import.meta.main) {
  server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
    const address = server.address()
    console.log(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`)
  })
  process.once("SIGINT", () => {
    server.close()
    void stop().then(() => process.exit(0))
  })
}
