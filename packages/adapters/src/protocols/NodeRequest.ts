/**
 * Sends a request with the dispatcher behind Node's own `fetch` (undici, which is a part of Node). This costs a fraction of the CPU time of
 * `fetch`, which creates two streams and a chain of promises for every response, and for a streamed answer a third of that of `node:http`.
 *
 * Connections, certificates (`NODE_EXTRA_CA_CERTS`) and the proxies of the environment (`NODE_USE_ENV_PROXY`) are those of the process, and a
 * dispatcher that the host has set for `fetch` is used. Requests and responses are treated as `fetch` treats them; a compressed body is
 * decompressed too. As in browsers, a request is sent a second time when the kept connection it used turns out to be closed.
 */
import type { AsyncResource } from "node:async_hooks"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { type Exchange, type HttpRequest, type Read, type Send, sendByFetch } from "./Exchange.ts"

/** Null on platforms other than Node.js: there `fetch` is used directly. */
export const sendByNode: Send | null = globalThis.navigator?.userAgent?.startsWith("Node.js/")
  ? (request, onHead) => {
      const dispatcher = findDispatcher()
      return dispatcher === null
        ? sendByFetch(globalThis.fetch)(request, onHead)
        : new NodeExchange(dispatcher, request, onHead)
    }
  : null

// ------ the dispatcher

/** The members that undici's dispatchers have in all versions of Node. */
interface Dispatcher {
  readonly dispatch: (options: DispatchOptions, handler: DispatchHandler) => boolean
}

interface DispatchOptions {
  readonly origin: string
  readonly path: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array> | null
  /** Both are 0, because the caller sets its own time limits. */
  readonly headersTimeout: 0
  readonly bodyTimeout: 0
}

/** Called for one request, in this order. False from `onHeaders` and `onData` pauses until `resume` is called. */
interface DispatchHandler {
  readonly onConnect: (abort: () => void) => void
  readonly onHeaders: (status: number, headers: ReadonlyArray<Buffer>, resume: () => void) => boolean
  readonly onData: (bytes: Uint8Array) => boolean
  readonly onComplete: () => void
  readonly onError: (error: unknown) => void
}

/** Under this symbol Node and the package `undici` share the dispatcher of `fetch`. */
const shared = Symbol.for("undici.globalDispatcher.1")

const isDispatcher = (value: unknown): value is Dispatcher =>
  typeof value === "object" && value !== null && "dispatch" in value && typeof value.dispatch === "function"

const readDispatcher = (): unknown => Object.getOwnPropertyDescriptor(globalThis, shared)?.value

/** Null: this version of Node has no such dispatcher. */
const findDispatcher = (): Dispatcher | null => {
  let found = readDispatcher()
  if (found === undefined) {
    // Node loads the dispatcher with the first class of `fetch` that a program uses.
    void new Headers()
    found = readDispatcher()
  }
  return isDispatcher(found) ? found : null
}

// ------ connections

/** Set while undici writes a request; called with the connection of that request. */
let takeSocket: ((socket: Socket) => void) | null = null
let isWatching = false

/** Subscribes once to the channel on which undici names the connection of a request, right after it has called `onConnect`. */
const watchConnections = (): void => {
  if (isWatching) return
  isWatching = true
  const { Socket } = process.getBuiltinModule("node:net")
  process.getBuiltinModule("node:diagnostics_channel").subscribe("undici:client:sendHeaders", (message) => {
    const socket: unknown = Object(message).socket
    if (socket instanceof Socket) takeSocket?.(socket)
    takeSocket = null
  })
}

/** The error codes for a connection that the server has closed. */
const goneCodes: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"])

// ------ one request

/** The number of waiting bytes from which on the connection is paused. */
const mostWaiting = 65_536

class NodeExchange implements Exchange, DispatchHandler {
  private readonly dispatcher: Dispatcher
  /**
   * Runs callbacks in the asynchronous context in which the request was sent. Undici would run those of a kept connection in the context
   * that opened it.
   */
  private readonly scope: AsyncResource
  /** Set to null when the head of the response arrives, to free its memory: a request may contain images, and a response may take minutes. */
  private request: HttpRequest | null
  private onHead: ((isAnswered: boolean, error?: unknown) => void) | null
  private isLastTry = false
  private abort: (() => void) | null = null
  private socket: Socket | null = null
  private bytesBefore = 0
  private head: { readonly status: number; readonly headers: ReadonlyMap<string, string> } | null = null
  private resume: (() => void) | null = null
  private isPaused = false
  private decoder: Duplex | null = null
  /** Bytes that have arrived and have not been read yet. */
  private pieces: Array<Uint8Array> = []
  private waiting = 0
  private isDelivering = false
  private state: "open" | "end" | "broken" | "released" = "open"
  private taker: ((next: Read) => void) | null = null

  constructor(dispatcher: Dispatcher, request: HttpRequest, onHead: (isAnswered: boolean, error?: unknown) => void) {
    const { AsyncResource } = process.getBuiltinModule("node:async_hooks")
    this.scope = new AsyncResource("ColloquyRequest", { requireManualDestroy: true })
    this.dispatcher = dispatcher
    this.request = request
    this.onHead = onHead
    this.isLastTry = request.isOnce === true
    watchConnections()
    this.send(request)
  }

  status(): number {
    return this.head?.status ?? 0
  }

  header(name: string): string | null {
    return this.head?.headers.get(name.toLowerCase()) ?? null
  }

  read(take: (next: Read) => void): void {
    this.taker = take
    this.deliver()
  }

  isOver(): boolean {
    return this.state === "end"
  }

  release(): void {
    const isOver = this.isOver()
    this.state = "released"
    this.onHead = null
    this.taker = null
    this.pieces = []
    this.decoder?.destroy()
    // Needed also when decompression has failed, because more of the body may come. For a request that has ended, `abort` does nothing.
    if (!isOver) this.abort?.()
  }

  // ------ head

  private send(request: HttpRequest): void {
    try {
      const { origin, path } = request.body === null ? parseAddress(request.url) : addressIn(request.url)
      const method = request.body === null ? "GET" : "POST"
      const headers = requestHeaders(request)
      const length = bodyLength(request.body)
      if (length > largeBody) headers["content-length"] = String(length)
      const body = length > largeBody ? this.largeBody() : request.body
      this.dispatcher.dispatch({ origin, path, method, headers, body, ...noLimits }, this)
    } catch (error) {
      queueMicrotask(() => this.fail(error))
    }
  }

  /** A large body is sent piece by piece: undici would keep a whole body in memory until the answer has ended. */
  private async *largeBody(): AsyncGenerator<string | Uint8Array> {
    if (this.request?.body !== undefined && this.request.body !== null) yield this.request.body
  }

  onConnect(abort: () => void): void {
    if (this.state === "released") return abort()
    this.abort = abort
    takeSocket = (socket) => {
      this.socket = socket
      this.bytesBefore = socket.bytesRead
    }
  }

  onHeaders(status: number, headers: ReadonlyArray<Buffer>, resume: () => void): boolean {
    // An informational response, which comes before the answer.
    if (status < 200 || this.state !== "open") return true
    this.head = { status, headers: readHeaders(headers) }
    this.resume = resume
    this.request = null
    this.socket = null
    this.decoder = this.makeDecoder()
    this.answer(true)
    return true
  }

  /** Calls `onHead`, once. */
  private answer(isAnswered: boolean, error?: unknown): void {
    const { onHead } = this
    this.onHead = null
    if (onHead !== null) this.scope.runInAsyncScope(onHead, undefined, isAnswered, error)
  }

  private fail(error: unknown): void {
    if (this.state === "open") this.state = "broken"
    this.answer(false, error)
  }

  /**
   * A request is sent once more if its kept connection turned out to be closed. Once only, because a new connection of a proxy looks like a
   * kept one.
   */
  private sendAgain(error: unknown): boolean {
    const { bytesBefore, request, socket } = this
    if (this.isLastTry || request === null || socket === null || this.state !== "open") return false
    const isGone = goneCodes.has(Object(error).code)
    if (!isGone || bytesBefore === 0 || socket.bytesRead !== bytesBefore) return false
    this.isLastTry = true
    this.socket = null
    // In the next turn of the event loop undici also knows which other connections the server has closed together with this one.
    setImmediate(() => {
      if (this.state === "open") this.send(request)
    })
    return true
  }

  // ------ body

  onData(bytes: Uint8Array): boolean {
    if (this.state !== "open") return true
    if (this.decoder !== null) {
      if (!this.decoder.write(bytes)) this.isPaused = true
      return !this.isPaused
    }
    this.pieces.push(bytes)
    this.waiting += bytes.length
    if (this.waiting > mostWaiting) this.isPaused = true
    this.deliverSoon()
    return !this.isPaused
  }

  onComplete(): void {
    if (this.decoder === null) this.finish("end")
    else this.decoder.end()
  }

  onError(error: unknown): void {
    if (this.head !== null) this.finish("broken")
    else if (!this.sendAgain(error)) queueMicrotask(() => this.fail(error))
  }

  private finish(state: "end" | "broken"): void {
    if (this.state !== "open") return
    this.state = state
    this.deliverSoon()
  }

  /** Delivers the bytes of one network packet together, even if they come in several chunks. */
  private deliverSoon(): void {
    if (this.isDelivering) return
    this.isDelivering = true
    queueMicrotask(() => {
      this.isDelivering = false
      this.deliver()
    })
  }

  private deliver(): void {
    const { state, taker } = this
    if (taker === null || this.isDelivering) return
    const bytes = this.take()
    if (bytes === null && (state === "open" || state === "released")) return
    this.taker = null
    this.scope.runInAsyncScope(taker, undefined, bytes ?? state)
  }

  /** The bytes that have arrived. Null: there are none. */
  private take(): Uint8Array | null {
    if (this.decoder !== null) return this.decoder.read()
    const { pieces } = this
    const [first] = pieces
    if (first === undefined) return null
    this.pieces = []
    this.waiting = 0
    if (this.isPaused) this.goOn()
    return pieces.length === 1 ? first : Buffer.concat(pieces)
  }

  private goOn(): void {
    this.isPaused = false
    this.resume?.()
  }

  /** Decompresses a body piece by piece, so that an event is not held back until the next one arrives. Null: the body is not compressed. */
  private makeDecoder(): Duplex | null {
    const decoder = newDecoder(this.header("content-encoding")?.trim().toLowerCase())
    decoder?.on("drain", () => this.goOn())
    decoder?.on("readable", () => this.deliverSoon())
    decoder?.on("end", () => this.finish("end"))
    decoder?.on("error", () => this.finish("broken"))
    return decoder
  }
}

const largeBody = 65_536

const bodyLength = (body: HttpRequest["body"]): number => (body === null ? 0 : Buffer.byteLength(body))

const noLimits = { headersTimeout: 0, bodyTimeout: 0 } as const

// ------ forms

type Address = Pick<DispatchOptions, "origin" | "path">

/** Parsed addresses, by the URLs to which bodies were sent. A provider has few URLs, and parsing one takes longer than the look-up here. */
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
  const { origin, password, pathname, search, username } = new URL(text)
  if (username !== "" || password !== "") throw new TypeError("A URL with a user name is not allowed")
  return { origin, path: pathname + search }
}

/** Adds the two headers that `fetch` adds and some gateways require. No compression is requested, because a streamed answer consists of small pieces. */
const requestHeaders = (request: HttpRequest): Record<string, string> => {
  const headers: Record<string, string> = { accept: "*/*", "user-agent": "node" }
  for (const name of Object.keys(request.headers)) headers[name.toLowerCase()] = (request.headers[name] ?? "").trim()
  return headers
}

/** Headers by their names in lower case. */
const readHeaders = (raw: ReadonlyArray<Buffer>): ReadonlyMap<string, string> => {
  const headers = new Map<string, string>()
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = String(raw[index]).toLowerCase()
    const value = raw[index + 1]?.toString("latin1") ?? ""
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return headers
}

const newDecoder = (coding: string | undefined): Duplex | null => {
  if (coding === undefined) return null
  const { constants, createBrotliDecompress, createUnzip } = process.getBuiltinModule("node:zlib")
  if (coding === "gzip" || coding === "x-gzip" || coding === "deflate")
    return createUnzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH })
  const flush = constants.BROTLI_OPERATION_FLUSH
  return coding === "br" ? createBrotliDecompress({ flush, finishFlush: flush }) : null
}
