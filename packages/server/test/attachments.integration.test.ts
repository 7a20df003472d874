/** Pictures of messages and summaries of documents, from the form of a client to the wire of a vendor. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"
import { onEmbedded } from "../../../test/databases.ts"
import { startServer } from "../src/Server.ts"
import { readSettings } from "../src/Settings.ts"

/** A vendor that gives everybody the same answer, and keeps the requests. */
const startVendor = async () => {
  const asked: Array<string> = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    if (request.method !== "POST") return response.writeHead(404).end("{}")
    asked.push(body)
    const chunk = {
      id: "1",
      model: "m",
      choices: [{ index: 0, delta: { content: "A square." }, finish_reason: "stop" }]
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    return response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  assert.isObject(address)
  const port = typeof address === "object" ? address?.port : null
  return { asked, url: `http://127.0.0.1:${port}/api/v1`, stop: () => server.close() }
}

/** A red square of 64 by 64. */
const bmp = (): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(54 + 64 * 64 * 3).fill(0)
  const view = new DataView(bytes.buffer)
  bytes.set([0x42, 0x4d])
  view.setUint32(10, 54, true)
  view.setUint32(14, 40, true)
  view.setInt32(18, 64, true)
  view.setInt32(22, 64, true)
  view.setUint16(26, 1, true)
  view.setUint16(28, 24, true)
  for (let at = 56; at < bytes.length; at += 3) bytes[at] = 255
  return bytes
}

onEmbedded("PGlite", () =>
  describe("files for models", () => {
    it(
      "a picture of a message goes to the vendor in a form that it reads, again in the next turn; a text gets its summary",
      { timeout: 90_000 },
      async () => {
        const vendor = await startVendor()
        const settings = await Effect.runPromise(
          readSettings({
            PORT: "0",
            COLLOQUY_API_KEYS: "key-of-ada-0123456=ada",
            COLLOQUY_DATA_DIR: "memory://",
            OPENROUTER_API_KEY: "key",
            OPENROUTER_BASE_URL: vendor.url,
            DEFAULT_LLM_PROVIDER: "router",
            DEFAULT_MODEL_NAME: "maker/m",
            DOCUMENT_SUMMARIES: "true",
            ATTACHMENT_WAIT_SECONDS: "60"
          })
        )
        const server = await startServer(settings)
        const headers = { "x-api-key": "key-of-ada-0123456" }
        const call = async (path: string, body?: FormData) => {
          const answer = await fetch(`${server.url}/api${path}`, { headers, ...(body ? { method: "POST", body } : {}) })
          // oxlint-disable-next-line typescript/no-explicit-any
          const found: any = await answer.json()
          assert.strictEqual(answer.status, 200, JSON.stringify(found))
          return found
        }
        try {
          const form = new FormData()
          form.append("content", "What is this?")
          form.append("files", new File([bmp()], "square.bmp"))
          const reply = await call("/threads/messages", form)
          assert.strictEqual(reply.content, "A square.")
          assert.strictEqual(reply.attachments[0].filename, "square.bmp")
          const picture = /\{"type":"image_url","image_url":\{"url":"data:image\/png;base64,[^"]+"\}\}/u
          const [sent] = picture.exec(vendor.asked[0] ?? "") ?? []
          assert.isDefined(sent)
          const again = new FormData()
          again.append("content", "And what colour?")
          await call(`/threads/${reply.thread_id}/messages`, again)
          assert.include(vendor.asked[1], sent)

          const file = new FormData()
          file.append("file", new File(["Badgers dig setts."], "badgers.txt"))
          const { document_id } = await call(`/threads/${reply.thread_id}/documents`, file)
          const documentSummary = async (): Promise<string> => {
            const documents: ReadonlyArray<{ readonly document_id: string; readonly summary: string | null }> =
              await call(`/threads/${reply.thread_id}/documents`)
            const found = documents.find((each) => each.document_id === document_id)?.summary
            return found ?? (await pause(50), documentSummary())
          }
          assert.strictEqual(await documentSummary(), "A square.")
          assert.include(vendor.asked.at(-1), "Badgers dig setts.")
        } finally {
          await server.stop()
          vendor.stop()
        }
      }
    )
  })
)
