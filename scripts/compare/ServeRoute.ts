/**
 * Started before a program of docs/comparison/use-chat: `node ServeRoute.ts PROGRAM`. It serves the program's route as Next does, and the two
 * functions that the page calls on the server: `begin`, for the id of a new chat, and `load`, for its messages.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"

const { begin, GET, load, POST } = await import(pathToFileURL(resolve(process.argv[2] ?? "")).href)

const webRequest = async (incoming: IncomingMessage) => {
  const method = incoming.method ?? "GET"
  const headers = new Headers({ "x-user": String(incoming.headers["x-user"]) })
  const body = method === "POST" ? { body: await text(incoming) } : {}
  return new Request(`http://localhost${incoming.url}`, { method, headers, ...body })
}

const answerTo = async (request: Request): Promise<Response> => {
  const user = request.headers.get("x-user")
  const [, place, id] = new URL(request.url).pathname.split("/")
  if (place === "begin") return new Response(await begin(user))
  // Who asks for another's chat gets an error of the function, as in a page.
  if (place === "load") return Response.json(await Promise.resolve(load(user, id)).catch(() => []))
  return request.method === "GET" ? GET(request, { params: { id } }) : POST(request)
}

const send = async (response: Response, outgoing: ServerResponse) => {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  const reader = response.body?.getReader()
  outgoing.on("close", () => void reader?.cancel().catch(() => {}))
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) outgoing.write(next.value)
  outgoing.end()
}

createServer((incoming, outgoing) => {
  webRequest(incoming)
    .then(answerTo)
    .then((response) => send(response, outgoing))
    .catch((error: unknown) => {
      console.error(error)
      outgoing.destroy()
    })
}).listen(Number(process.env["PORT"]), "127.0.0.1")
