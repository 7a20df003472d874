/** A receiver of webhooks on this machine, which verifies signatures by the text of the convention of Standard Webhooks. */
import { assert } from "@effect/vitest"
import { createHmac, timingSafeEqual } from "node:crypto"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"

export interface Received {
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly path: string
  readonly text: string
}

export interface Receiver {
  readonly port: number
  readonly received: ReadonlyArray<Received>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** Requests are kept, and answered as `answer` says; without it by 204. */
export const openReceiver = async (
  answer: (response: ServerResponse, index: number) => void = (response) => response.writeHead(204).end()
): Promise<Receiver> => {
  const received: Array<Received> = []
  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    request.on("end", () => {
      received.push({ headers: request.headers, path: request.url ?? "", text })
      answer(response, received.length - 1)
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : assert.fail("no port"),
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** Which of these secrets have signed, in the order of the signatures; null: one of them is of no secret. */
export const signers = ({ headers, text }: Received, secrets: ReadonlyArray<string>): ReadonlyArray<string | null> => {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => headers[`webhook-${name}`])
  assert.match(String(timestamp), /^\d{10}$/u)
  return String(signatures)
    .split(" ")
    .map((signature) => {
      const [version, sent = ""] = signature.split(",")
      assert.strictEqual(version, "v1")
      const isBy = (secret: string) => {
        assert.match(secret, /^whsec_/u)
        const key = Buffer.from(secret.slice("whsec_".length), "base64")
        const own = createHmac("sha256", key)
          .update(`${String(id)}.${String(timestamp)}.${text}`)
          .digest()
        const theirs = Buffer.from(sent, "base64")
        return own.length === theirs.length && timingSafeEqual(own, theirs)
      }
      return secrets.find(isBy) ?? null
    })
}
