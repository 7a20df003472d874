/**
 * A vendor for the storm: it speaks the router's wire, takes its time, and charges each answer. A question `help …` is answered by a call of
 * the helper, `wait …` by a call of the client's tool, everything else by its own words.
 */
import { once } from "node:events"
import * as Http from "node:http"

export const costOfCall = 0.01

interface Wire {
  readonly role: string
  readonly content: unknown
}

const contentText = (content: unknown): string => (typeof content === "string" ? content : JSON.stringify(content))

/** `draw` gives numbers from 0 to 1. */
export const openVendor = async (draw: () => number) => {
  let answered = 0

  const converse = async (messages: ReadonlyArray<Wire>, response: Http.ServerResponse) => {
    const asked = contentText(messages.findLast(({ role }) => role === "user")?.content ?? "")
    const [, verb = "say", id = "?"] = /(say|help|wait) ([0-9a-f-]{36})/u.exec(asked) ?? []
    const isAfterTool = messages.at(-1)?.role === "tool"
    const call =
      isAfterTool || verb === "say"
        ? null
        : verb === "help"
          ? { name: "poet", arguments: JSON.stringify({ message: `say ${id}` }) }
          : { name: "look", arguments: "{}" }
    const deltas: ReadonlyArray<object> =
      call === null
        ? ["echo ", id.slice(0, 18), id.slice(18)].map((content) => ({ content }))
        : [{ tool_calls: [{ index: 0, id: `call-${id}`, type: "function", function: call }] }]
    response.writeHead(200, { "content-type": "text/event-stream" })
    const write = (body: object) =>
      response.write(`data: ${JSON.stringify({ id: "c", model: "acme/talk", ...body })}\n\n`)
    for (const delta of deltas) {
      await new Promise((resolve) => setTimeout(resolve, 10 + draw() * 80))
      write({ choices: [{ index: 0, delta, finish_reason: null }] })
    }
    if (response.destroyed) return
    answered++
    write({
      choices: [{ index: 0, delta: {}, finish_reason: call === null ? "stop" : "tool_calls" }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: costOfCall }
    })
    response.end("data: [DONE]\n\n")
  }

  const server = Http.createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    request.on("end", () => {
      if (request.url === "/chat/completions") return void converse(JSON.parse(text).messages, response)
      response.writeHead(404, { "content-type": "application/json" }).end("{}")
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    baseUrl: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    /** How many answers were charged. */
    answered: () => answered,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}
