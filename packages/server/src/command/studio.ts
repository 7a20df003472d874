/** The studio on this machine for a server that runs elsewhere: its page comes from here, and its requests are passed on to that server. */
import { studio } from "@colloquy/studio"
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from "node:http"
import { request as openSecureRequest } from "node:https"
import { StartRefused } from "../StartRefused.ts"
import { WronglyCalled } from "../ToldErrors.ts"
import { type CommandRun, readWords } from "./Command.ts"
import { readAddress } from "./Remote.ts"

const readArguments = (args: ReadonlyArray<string>) => {
  const { values } = readWords({
    args: [...args],
    options: {
      url: { type: "string", default: "http://localhost:8787/api" },
      port: { type: "string", default: "8788" },
      json: { type: "boolean", default: false }
    }
  })
  if (!/^\d{1,5}$/u.test(values.port) || Number(values.port) > 65_535)
    throw new WronglyCalled("--port is a number from 0 to 65535.")
  return { api: readAddress(values.url), port: Number(values.port), json: values.json }
}

const mount = "/api"

/** Headers that are not passed on: those about this connection, and those that would tell the server that the page is of another site. */
const keptBack: ReadonlySet<string> = new Set([
  "connection",
  "cookie",
  "host",
  "keep-alive",
  "origin",
  "referer",
  "upgrade"
])

const passedHeaders = ({ headers }: IncomingMessage) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !keptBack.has(name) && !name.startsWith("sec-")))

const refuse = (response: ServerResponse, status: number, detail: string): void => {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ detail }))
}

const passOn = (api: URL, message: IncomingMessage, response: ServerResponse): void => {
  // A page of another site may not use this one to reach the server.
  if (message.headers["sec-fetch-site"] === "cross-site") return refuse(response, 403, "Not from another site.")
  const address = api.href.replace(/\/$/u, "") + (message.url ?? mount).slice(mount.length)
  const open = api.protocol === "https:" ? openSecureRequest : openRequest
  const upstream = open(address, { method: message.method, headers: passedHeaders(message) }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
    answer.on("error", () => response.destroy())
  })
  upstream.on("error", () => refuse(response, 502, `${api.origin} does not answer.`))
  response.on("close", () => upstream.destroy())
  message.pipe(upstream)
}

/** The server must answer before the page is offered. */
const look = async (api: URL): Promise<void> => {
  const response = await fetch(`${api.href.replace(/\/$/u, "")}/openapi.json`).catch(() => null)
  if (response?.ok === true) return
  const found = response === null ? "does not answer" : `answers ${response.status}`
  throw new StartRefused({ message: `${api.href} ${found}. Name the API of a running server with --url.` })
}

export const studioCommand: CommandRun = async (args, { env, note, print }) => {
  const { api, json, port } = readArguments(args)
  await look(api)
  const page = studio({ api: mount })
  const server = createServer((message, response) => {
    if (message.url?.startsWith(`${mount}/`) === true) passOn(api, message, response)
    else page.node(message, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, "127.0.0.1", resolve)
  }).catch(() => {
    throw new StartRefused({ message: `Port ${port} is taken. Name another one with --port; 0 takes a free one.` })
  })
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}/`
  const key = env["COLLOQUY_API_KEY"] ?? ""
  const opened = key === "" ? url : `${url}#key=${encodeURIComponent(key)}`
  print(json ? JSON.stringify({ url: opened, api: api.href }) : `Studio: ${opened}`)
  note(`It talks to ${api.href}. Ctrl C ends it. Voice sessions need the studio of the server itself.`)
  return 0
}
