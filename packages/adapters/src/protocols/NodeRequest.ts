/**
 * One request over `node:http` or `node:https`, at a fraction of the work of Node's `fetch`, which puts two streams and a chain of
 * promises on every answer. The modules are asked for at run time, so that providers load where there are none.
 *
 * It asks through the global agents: kept connections, certificates (`NODE_EXTRA_CA_CERTS`) and the proxies of the environment
 * (`NODE_USE_ENV_PROXY`) are those of the process. Requests and answers are treated as `fetch` does it, down to the compressed body that
 * nobody asked for. One thing more, as in browsers: when a kept connection turns out to be gone, the request is sent once again.
 */
import type * as Http from "node:http"
import type { Duplex, Readable } from "node:stream"
import type { Exchange, HttpRequest, Read, Send } from "./Exchange.ts"

/** Null where the platform is not Node: others have these modules too, built on a `fetch` that is better used directly. */
export const sendByNode: Send | null = globalThis.navigator?.userAgent?.startsWith("Node.js/")
  ? (request, hear) => new NodeExchange(request, hear)
  : null

class NodeExchange implements Exchange {
  /** Let go with the head of the answer: it may hold pictures, and an answer may take minutes. */
  private request: HttpRequest | null
  private hear: ((isAnswered: boolean) => void) | null
  private sent: Http.ClientRequest | null = null
  private isSecondTry = false
  private answer: Http.IncomingMessage | null = null
  /** The answer, or what decodes it. */
  private body: Readable | null = null
  /** What was read of it and not taken yet. */
  private bytes: Uint8Array | null = null
  private state: "open" | "end" | "broken" = "open"
  private taker: ((next: Read) => void) | null = null

  constructor(request: HttpRequest, hear: (isAnswered: boolean) => void) {
    this.request = request
    this.hear = hear
    this.isSecondTry = request.isOnce === true
    this.send(request)
  }

  status(): number {
    return this.answer?.statusCode ?? 0
  }

  header(name: string): string | null {
    return this.answer === null ? null : headerOf(this.answer, name)
  }

  read(take: (next: Read) => void): void {
    this.taker = take
    this.deliver()
  }

  isOver(): boolean {
    return this.state === "end" || (this.body === this.answer && this.answer?.complete === true)
  }

  leave(): void {
    this.hear = null
    this.taker = null
    // The agent takes the connection back when the end has been read.
    if (this.isOver()) this.body?.read()
    else this.sent?.destroy()
    this.state = "end"
    this.body = null
    this.bytes = null
  }

  // ------ head

  private send(request: HttpRequest): void {
    try {
      const sent = start(request)
      this.sent = sent
      let bytesBefore = 0
      sent.once("socket", (socket) => {
        bytesBefore = socket.bytesRead
      })
      sent.once("response", (answer) => this.begin(answer))
      // Stays to the end, because an error that nobody hears would end the process. Once there is an answer, its body tells of it.
      sent.on("error", (error) => {
        const isSilent = (sent.socket?.bytesRead ?? 0) === bytesBefore
        if (this.answer === null && !this.isSecondTry && isSilent && isOfGoneConnection(sent, error))
          this.sendAgain(sent)
        else if (this.sent === sent) this.fail()
      })
      // An answer that wants to speak another protocol closes the connection and is no error.
      sent.once("close", () => {
        if (this.sent === sent) this.fail()
      })
      sent.end(request.body ?? undefined)
    } catch {
      queueMicrotask(() => this.fail())
    }
  }

  private sendAgain(gone: Http.ClientRequest): void {
    if (this.hear === null || this.request === null) return
    this.isSecondTry = true
    closeKept(gone)
    this.send(this.request)
  }

  private fail(): void {
    const { hear } = this
    this.hear = null
    hear?.(false)
  }

  private begin(answer: Http.IncomingMessage): void {
    const { hear } = this
    if (hear === null) return void answer.destroy()
    this.hear = null
    this.request = null
    this.answer = answer
    this.body = decoded(answer)
    this.body.on("readable", this.deliver)
    this.body.once("end", () => this.finish("end"))
    this.body.on("error", () => this.finish("broken"))
    this.body.once("close", () => this.finish("broken"))
    hear(true)
  }

  // ------ body

  private finish(state: "end" | "broken"): void {
    if (this.state !== "open") return
    this.state = state
    this.deliver()
  }

  /** One read takes all that one packet brought, in however many chunks. It is read before it is asked for, because the end comes behind it. */
  private readonly deliver = (): void => {
    this.bytes ??= this.body?.read() ?? null
    const { bytes, state, taker } = this
    const next = bytes ?? state
    if (taker === null || next === "open") return
    this.bytes = null
    this.taker = null
    taker(next)
  }
}

const start = (request: HttpRequest): Http.ClientRequest => {
  const url = new URL(request.url)
  if (url.username !== "" || url.password !== "") throw new TypeError("The address holds a user")
  const isSecure = url.protocol === "https:"
  const { request: ask } = process.getBuiltinModule(isSecure ? "node:https" : "node:http")
  return ask({
    protocol: url.protocol,
    // An address of version 6 stands in brackets in a URL, and without them here.
    host: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    method: request.body === null ? "GET" : "POST",
    headers: headersOf(request)
  })
}

/** The two that `fetch` adds and that some gateways miss; compression is not asked for, because an answer comes in drops. */
const headersOf = (request: HttpRequest): Record<string, string> => {
  const headers: Record<string, string> = { accept: "*/*", "user-agent": "node" }
  for (const name of Object.keys(request.headers)) headers[name.toLowerCase()] = (request.headers[name] ?? "").trim()
  return headers
}

const headerOf = (answer: Http.IncomingMessage, name: string): string | null => {
  const value = answer.headers[name.toLowerCase()]
  return typeof value === "string" ? value : null
}

/** A kept connection may be closed by the other side at the moment in which it is used again. */
const isOfGoneConnection = (sent: Http.ClientRequest, error: NodeJS.ErrnoException): boolean =>
  sent.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE")

/** The agent hands out the connection that was used last. When that one is gone, those that have waited longer are no better. */
const closeKept = ({ protocol, host }: Http.ClientRequest): void => {
  const { freeSockets } = process.getBuiltinModule(protocol === "https:" ? "node:https" : "node:http").globalAgent
  for (const [name, sockets] of Object.entries(freeSockets))
    if (name.startsWith(`${host}:`)) for (const socket of sockets ?? []) socket.destroy()
}

/** What comes compressed is decoded as it comes, because an event may not wait for the next one. */
const decoded = (answer: Http.IncomingMessage): Readable => {
  const decoder = decoderOf(headerOf(answer, "content-encoding")?.trim().toLowerCase())
  if (decoder === null) return answer
  // The reader of the decoder is told of the error.
  process.getBuiltinModule("node:stream").pipeline(answer, decoder, () => {})
  return decoder
}

const decoderOf = (coding: string | undefined): Duplex | null => {
  if (coding === undefined) return null
  const { constants, createBrotliDecompress, createUnzip } = process.getBuiltinModule("node:zlib")
  if (coding === "gzip" || coding === "x-gzip" || coding === "deflate")
    return createUnzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH })
  const flush = constants.BROTLI_OPERATION_FLUSH
  return coding === "br" ? createBrotliDecompress({ flush, finishFlush: flush }) : null
}
