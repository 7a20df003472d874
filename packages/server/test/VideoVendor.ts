/**
 * A vendor for tests about processes that die: it speaks the router's wire for chat and for videos, and holds each conversation at the
 * stage that its question names, until that stage is released. It records orders with their keys.
 */
import { once } from "node:events"
import * as Http from "node:http"

/** Where a conversation is held: at its order, at a status request, in the middle of its video, or after the video was stored. */
export const stages = ["submit", "polling", "storing", "stored"] as const
export type Stage = (typeof stages)[number]

export const modelName = "acme/vid-1"
export const cost = 0.42

/** Larger than one network packet. */
export const clip = new Uint8Array(200_000).fill(9)
clip.set(new TextEncoder().encode("\0\0\0\u0018ftypisom\0\0\u0002\0isommp41"))

export const jobId = (stage: Stage): string => `job-${stage}`

interface Held {
  readonly at: Stage
  readonly key: string
}

export const openVendor = async () => {
  const orders: Array<Held> = []
  const free = new Set<Stage>()
  const arrivals: Array<Held> = []
  const waiting: Array<() => void> = []
  const released: Array<() => void> = []
  const wake = (sleepers: Array<() => void>) => sleepers.splice(0).forEach((each) => each())

  const hold = async (at: Stage, key: string): Promise<void> => {
    if (free.has(at)) return
    arrivals.push({ at, key })
    wake(waiting)
    while (!free.has(at)) await new Promise<void>((resolve) => released.push(resolve))
  }

  const answer = async (request: Http.IncomingMessage, response: Http.ServerResponse): Promise<void> => {
    const pieces: Array<Buffer> = []
    for await (const piece of request) pieces.push(piece)
    const body = pieces.length === 0 ? {} : JSON.parse(Buffer.concat(pieces).toString())
    const key = (request.headers.authorization ?? "").replace("Bearer ", "")
    const { url = "" } = request
    const json = (value: object, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" })
      response.end(JSON.stringify(value))
    }
    if (url === "/videos/models") return json({ data: [{ id: modelName, name: "Vid" }] })
    if (url === "/chat/completions") return await converse(body, key, response)
    if (url === "/videos") {
      const at = stageIn(body.prompt)
      orders.push({ at, key })
      if (at === "submit") await hold(at, key)
      return json({ id: jobId(at), status: "pending" }, 202)
    }
    const at = stages.find((each) => url.startsWith(`/videos/${jobId(each)}`))
    if (at === undefined) return json({ error: { code: 404, message: "Not here" } }, 404)
    if (!url.includes("/content")) {
      if (at === "polling") await hold(at, key)
      return json({ id: jobId(at), status: "completed", usage: { cost } })
    }
    response.writeHead(200, { "content-type": "video/mp4", "content-length": clip.length })
    response.write(clip.subarray(0, 100_000))
    if (at === "storing") await hold(at, key)
    response.end(clip.subarray(100_000))
  }

  /** Calls the tool, and answers with a word when it has the result. */
  const converse = async (
    { messages }: { readonly messages: ReadonlyArray<{ readonly role: string; readonly content: unknown }> },
    key: string,
    response: Http.ServerResponse
  ) => {
    const at = stageIn(JSON.stringify(messages))
    const isAnswered = messages.some(({ role }) => role === "tool")
    if (isAnswered && at === "stored") await hold(at, key)
    const call = { name: "generate_video", arguments: JSON.stringify({ prompt: at }) }
    const delta = isAnswered
      ? { content: "Done." }
      : { tool_calls: [{ index: 0, id: `call-${at}`, type: "function", function: call }] }
    const choice = { index: 0, delta, finish_reason: isAnswered ? "stop" : "tool_calls" }
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(`data: ${JSON.stringify({ id: "c", model: "acme/talk", choices: [choice] })}\n\n`)
    response.end("data: [DONE]\n\n")
  }

  const server = Http.createServer((request, response) => void answer(request, response))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    baseUrl: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    orders,
    /** Resolves when a request is held there, with the key of the process that sent it. `nth` selects one of them, from 1. */
    held: async (at: Stage, nth = 1): Promise<string> => {
      while (true) {
        const found = arrivals.filter((each) => each.at === at)[nth - 1]
        if (found !== undefined) return found.key
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
    },
    release: (...ats: ReadonlyArray<Stage>) => {
      for (const at of ats) free.add(at)
      wake(released)
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}

const stageIn = (text: unknown): Stage => stages.find((each) => String(text).includes(each)) ?? "submit"
