/**
 * Sends a request with `node:http` or `node:https`. This costs a fraction of the CPU time of Node's `fetch`, which creates two streams and a
 * chain of promises for every response. The modules are loaded at run time, so that this file also loads on platforms without them.
 *
 * Requests use the global agents: kept connections, certificates (`NODE_EXTRA_CA_CERTS`) and the proxies of the environment
 * (`NODE_USE_ENV_PROXY`) are those of the process. Requests and responses are treated as `fetch` treats them; a compressed body is
 * decompressed too. As in browsers, a request is sent a second time when the kept connection it used turns out to be closed.
 */
import type * as Http from "node:http"
import type { Duplex, Readable } from "node:stream"
import type { Exchange, HttpRequest, Read, Send } from "./Exchange.ts"

/** Null on other platforms than Node.js: some have these modules too, but build them on their `fetch`, which is then better used directly. */
export const sendByNode: Send | null = globalThis.navigator?.userAgent?.startsWith("Node.js/")
  ? (request, onHead) => new NodeExchange(request, onHead)
  : null

class NodeExchange implements Exchange {
  /** Set to null when the head of the response arrives, to free its memory: a request may contain images, and a response may take minutes. */
  private request: HttpRequest | null
  private onHead: ((isAnswered: boolean, error?: unknown) => void) | null
  private sent: Http.ClientRequest | null = null
  private isSecondTry = false
  private answer: Http.IncomingMessage | null = null
  /** The response, or the stream that decompresses it. */
  private body: Readable | null = null
  /** Bytes that were read from `body` and not taken yet. */
  private bytes: Uint8Array | null = null
  private state: "open" | "end" | "broken" = "open"
  private taker: ((next: Read) => void) | null = null

  constructor(request: HttpRequest, onHead: (isAnswered: boolean, error?: unknown) => void) {
    this.request = request
    this.onHead = onHead
    this.isSecondTry = request.isOnce === true
    this.send(request)
  }

  status(): number {
    return this.answer?.statusCode ?? 0
  }

  header(name: string): string | null {
    return this.answer === null ? null : answerHeader(this.answer, name)
  }

  read(take: (next: Read) => void): void {
    this.taker = take
    this.deliver()
  }

  isOver(): boolean {
    return this.state === "end" || (this.body === this.answer && this.answer?.complete === true)
  }

  release(): void {
    this.onHead = null
    this.taker = null
    // The agent keeps the connection once the end of the body has been read.
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
      // This listener is never removed, because an `error` event without a listener ends the process. After the head, the body reports errors.
      sent.on("error", (error) => {
        const isSilent = (sent.socket?.bytesRead ?? 0) === bytesBefore
        if (this.answer === null && !this.isSecondTry && isSilent && isOfGoneConnection(sent, error))
          this.sendAgain(sent)
        else if (this.sent === sent) this.fail(error)
      })
      // A response that switches the protocol closes the connection without an `error` event.
      sent.once("close", () => {
        if (this.sent === sent) this.fail()
      })
      sent.end(request.body ?? undefined)
    } catch {
      queueMicrotask(() => this.fail())
    }
  }

  private sendAgain(gone: Http.ClientRequest): void {
    if (this.onHead === null || this.request === null) return
    this.isSecondTry = true
    closeKept(gone)
    this.send(this.request)
  }

  private fail(error?: unknown): void {
    const { onHead } = this
    this.onHead = null
    onHead?.(false, error)
  }

  private begin(answer: Http.IncomingMessage): void {
    const { onHead } = this
    if (onHead === null) return void answer.destroy()
    this.onHead = null
    this.request = null
    this.answer = answer
    this.body = decoded(answer)
    this.body.on("readable", this.deliver)
    this.body.once("end", () => this.finish("end"))
    this.body.on("error", () => this.finish("broken"))
    this.body.once("close", () => this.finish("broken"))
    onHead(true)
  }

  // ------ body

  private finish(state: "end" | "broken"): void {
    if (this.state !== "open") return
    this.state = state
    this.deliver()
  }

  /**
   * One read takes everything that a network packet brought, in however many chunks. The body is read even when no `read` is waiting,
   * because Node.js reports the end of a body only after all of its bytes were read.
   */
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
  const address = request.body === null ? parseAddress(request.url) : addressIn(request.url)
  const { request: ask } = process.getBuiltinModule(address.protocol === "https:" ? "node:https" : "node:http")
  return ask({ ...address, method: request.body === null ? "GET" : "POST", headers: requestHeaders(request) })
}

type Address = Pick<Http.RequestOptions, "protocol" | "host" | "port" | "path">

/** By the URLs to which bodies were sent. A provider has few, and parsing one takes longer than finding it here. */
const addresses = new Map<string, Address>()
const mostAddresses = 100

const addressIn = (url: string): Address => {
  const known = addresses.get(url)
  if (known !== undefined) return known
  const address = parseAddress(url)
  if (addresses.size >= mostAddresses) addresses.clear()
  addresses.set(url, address)
  return address
}

const parseAddress = (text: string): Address => {
  const url = new URL(text)
  if (url.username !== "" || url.password !== "") throw new TypeError("A URL with a user name is not allowed")
  return {
    protocol: url.protocol,
    // An IPv6 address has brackets in a URL, but not in this option.
    host: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
    port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search
  }
}

/** Adds the two headers that `fetch` adds and some gateways require. No compression is requested, because a streamed answer consists of small pieces. */
const requestHeaders = (request: HttpRequest): Record<string, string> => {
  const headers: Record<string, string> = { accept: "*/*", "user-agent": "node" }
  for (const name of Object.keys(request.headers)) headers[name.toLowerCase()] = (request.headers[name] ?? "").trim()
  return headers
}

const answerHeader = (answer: Http.IncomingMessage, name: string): string | null => {
  const value = answer.headers[name.toLowerCase()]
  return typeof value === "string" ? value : null
}

/** Whether a request failed because the server closed a kept connection at the moment when it was used again. */
const isOfGoneConnection = (sent: Http.ClientRequest, error: NodeJS.ErrnoException): boolean =>
  sent.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE")

/** Closes the kept connections to a host: the agent uses the most recent one first, so if that one is closed, the older ones will be too. */
const closeKept = ({ protocol, host }: Http.ClientRequest): void => {
  const { freeSockets } = process.getBuiltinModule(protocol === "https:" ? "node:https" : "node:http").globalAgent
  for (const [name, sockets] of Object.entries(freeSockets))
    if (name.startsWith(`${host}:`)) for (const socket of sockets ?? []) socket.destroy()
}

/** Decompresses a body piece by piece, so that an event is not held back until the next one arrives. */
const decoded = (answer: Http.IncomingMessage): Readable => {
  const decoder = makeDecoder(answerHeader(answer, "content-encoding")?.trim().toLowerCase())
  if (decoder === null) return answer
  // The callback is empty, because the decoder itself emits the error.
  process.getBuiltinModule("node:stream").pipeline(answer, decoder, () => {})
  return decoder
}

const makeDecoder = (coding: string | undefined): Duplex | null => {
  if (coding === undefined) return null
  const { constants, createBrotliDecompress, createUnzip } = process.getBuiltinModule("node:zlib")
  if (coding === "gzip" || coding === "x-gzip" || coding === "deflate")
    return createUnzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH })
  const flush = constants.BROTLI_OPERATION_FLUSH
  return coding === "br" ? createBrotliDecompress({ flush, finishFlush: flush }) : null
}
