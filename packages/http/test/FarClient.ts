/** A client on a thread of its own, so that sending a large body takes nothing of the thread that serves it. */
import { once } from "node:events"
import { Worker } from "node:worker_threads"

const program = `
const { request } = require("node:http")
const { parentPort } = require("node:worker_threads")
parentPort.on("message", ({ method, url, headers, body }) => {
  const bytes = Buffer.from(body)
  const asked = request(url, { method, headers: { ...headers, "content-length": bytes.length } }, (answer) => {
    let text = ""
    let size = 0
    answer.on("data", (piece) => {
      size += piece.length
      if (text.length < 10000) text += piece
    })
    answer.on("end", () => parentPort.postMessage({ status: answer.statusCode, text, size }))
  })
  asked.on("error", (error) => parentPort.postMessage({ status: 0, text: String(error), size: 0 }))
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

type Headers = Readonly<Record<string, string>>

export interface FarAnswer {
  readonly status: number
  /** The beginning of the answer. */
  readonly text: string
  /** Bytes of the whole answer. */
  readonly size: number
}

export interface FarClient {
  readonly post: (url: string, body: string, headers: Headers) => Promise<FarAnswer>
  readonly get: (url: string, headers: Headers) => Promise<FarAnswer>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

export const farClient = (): FarClient => {
  const worker = new Worker(program, { eval: true })
  const send = async (method: string, url: string, body: string, headers: Headers): Promise<FarAnswer> => {
    const bytes = new TextEncoder().encode(body)
    worker.postMessage({ method, url, headers, body: bytes }, [bytes.buffer])
    const [answer] = await once(worker, "message")
    return answer
  }
  return {
    post: (url, body, headers) => send("POST", url, body, headers),
    get: (url, headers) => send("GET", url, "", headers),
    [Symbol.asyncDispose]: async () => {
      await worker.terminate()
    }
  }
}
