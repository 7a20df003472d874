/** A client on a thread of its own, so that sending a large body takes nothing of the thread that serves it. */
import { once } from "node:events"
import { Worker } from "node:worker_threads"

const program = `
const { request } = require("node:http")
const { parentPort } = require("node:worker_threads")
parentPort.on("message", ({ url, headers, body }) => {
  const bytes = Buffer.from(body)
  const asked = request(url, { method: "POST", headers: { ...headers, "content-length": bytes.length } }, (answer) => {
    let text = ""
    answer.on("data", (piece) => { if (text.length < 10000) text += piece })
    answer.on("end", () => parentPort.postMessage({ status: answer.statusCode, text }))
  })
  asked.on("error", (error) => parentPort.postMessage({ status: 0, text: String(error) }))
  let at = 0
  const next = () => {
    while (at < bytes.length) {
      at += 65536
      if (!asked.write(bytes.subarray(at - 65536, at))) return void asked.once("drain", next)
    }
    asked.end()
  }
  next()
})`

export interface FarClient {
  readonly post: (
    url: string,
    body: string,
    headers: Readonly<Record<string, string>>
  ) => Promise<{ readonly status: number; readonly text: string }>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

export const farClient = (): FarClient => {
  const worker = new Worker(program, { eval: true })
  return {
    post: async (url, body, headers) => {
      const bytes = new TextEncoder().encode(body)
      worker.postMessage({ url, headers, body: bytes }, [bytes.buffer])
      const [answer] = await once(worker, "message")
      return answer
    },
    [Symbol.asyncDispose]: async () => {
      await worker.terminate()
    }
  }
}
