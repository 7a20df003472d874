/**
 * Handles the WebSocket upgrades of `<base path>/threads/realtime`, and of further front doors, on an existing server of `node:http`, and so
 * also of Express, Fastify, Hono and a custom server of Next. An invalid request is refused over HTTP. The caller is authenticated after the
 * handshake, for two reasons: browsers cannot read the answer to a refused handshake, and other listeners on the same server destroy
 * upgrades that are not handled at once.
 */
import type { Keys, ModelInfo } from "@colloquy/core"
import {
  type Authenticate,
  type AuthenticationSettings,
  type ClientAddress,
  defaultAuthentication,
  type HostCredentials,
  isFromOtherSite,
  makeAuthentication
} from "@colloquy/core/adapters"
import { DocumentLinks } from "@colloquy/core/documents"
import { type ClientSocket, type Credentials, RealtimeSessions } from "@colloquy/core/realtime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { Buffer as NodeBuffer } from "node:buffer"
import { IncomingMessage, type Server } from "node:http"
import { Duplex } from "node:stream"
import { WebSocketServer } from "ws"
import type { FrontDoor, Proof } from "./FrontDoor.ts"
import { firstHeader } from "./Headers.ts"
import { ownDoor } from "./OwnDoor.ts"
import type { UrlOf } from "./Wire.ts"
import { FrameLimitSocket, maxFrame, sessionSocket } from "./SessionSocket.ts"

/** Returns true when the upgrade was for this handler and has been answered. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: NodeBuffer) => boolean

/** The settings of authentication (`authenticate`, `clientAddress`, `failedKeys`, …) are those of the HTTP API. Use the same values for both. */
export interface UpgradeOptions extends Partial<Omit<AuthenticationSettings, "authenticate" | "clientAddress">> {
  readonly authenticate?: Authenticate<IncomingMessage> | null
  readonly clientAddress?: ClientAddress<IncomingMessage> | null
  /** The base path of the HTTP API: `/ai` for `/ai/threads/realtime`. Default: none. */
  readonly basePath?: string
  /** Further protocols in front of the same sessions: `doors: [openAiRealtime]`. */
  readonly doors?: ReadonlyArray<FrontDoor>
  /**
   * The origins from which browsers may connect. Default: all with a ticket, which is bound to its origin anyway; with a session of the host
   * only pages of this server's own origin.
   */
  readonly origins?: ReadonlyArray<string>
  /**
   * The largest number of connections whose owner is not known yet. Default 1000. With one more, the oldest one of the address that has the most
   * is closed. Afterwards a connection counts for its owner (`waitingOfOwner` of `Realtime.layer`).
   */
  readonly maxPending?: number
  /**
   * The largest number of such connections of one client address: that of `clientAddress`, or else of the connection. Default 100. For one
   * more, the oldest one of the address is closed if it has waited for `pendingGrace`; if none has, the new one is refused with 503.
   */
  readonly maxPendingOfAddress?: number
  /** How long a connection may wait for its owner to be known before it makes room for others of its address. Default two seconds. */
  readonly pendingGrace?: Duration.Input
}

/** Query parameters (in lower case) with which a client might send a key. They are refused, because URLs are written to logs. */
const keyParameters: ReadonlySet<string> = new Set([
  "api_key",
  "apikey",
  "api-key",
  "key",
  "x-api-key",
  "x_api_key",
  "access_token"
])

/**
 * Returns the handler of a kernel. When the scope closes, all sessions are ended: their messages are stored and the clients are told. Close the
 * scope before the server, which waits for upgraded sockets.
 */
export const makeUpgradeHandler = (
  options: UpgradeOptions = {}
): Effect.Effect<UpgradeHandler, never, RealtimeSessions | Keys | Scope.Scope> =>
  Effect.gen(function* () {
    const findPrincipal = yield* makeAuthentication({ ...defaultAuthentication, ...options })
    const sessions = yield* RealtimeSessions
    const links = Option.getOrNull(yield* Effect.serviceOption(DocumentLinks))
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    yield* Effect.addFinalizer(() => sessions.drain)
    return upgradeHandler(
      (socket, request, { key, ticket }, onKnown) => {
        const credentials: Credentials = {
          onKnown,
          principal: Effect.suspend(() => findPrincipal(Redacted.make(key ?? ""), readHostCredentials(request, key))),
          ticket: ticket === null ? null : Redacted.make(ticket),
          origin: request.headers.origin ?? null
        }
        fork(sessions.serve(socket, credentials))
      },
      options,
      sessions.models,
      links?.url
    )
  })

/** The front doors by their whole paths. */
export const doorsByPath = ({ basePath = "", doors = [] }: UpgradeOptions): ReadonlyMap<string, FrontDoor> =>
  new Map([ownDoor, ...doors].map((door) => [`/${basePath}/${door.path}`.replaceAll(/\/{2,}/gu, "/"), door]))

/** Answers an upgrade while there is no kernel yet. */
export const notReady = (paths: ReadonlyMap<string, FrontDoor>, { url }: IncomingMessage, socket: Duplex): boolean => {
  if (!paths.has(url?.split("?", 1)[0] ?? "")) return false
  answer(socket, "503 Service Unavailable", "The service is starting. Try again in a moment.")
  return true
}

const upgradeHandler = (
  serve: (socket: ClientSocket, request: IncomingMessage, proof: Proof, onKnown: () => void) => void,
  options: UpgradeOptions,
  models: ReadonlyArray<ModelInfo>,
  documentUrl?: UrlOf
): UpgradeHandler => {
  const { origins } = options
  const doors = doorsByPath(options)
  const settings = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxFrame,
    maxFragments: 256,
    closeTimeout: 5000,
    WebSocket: FrameLimitSocket
  }
  const servers = new Map(
    [...doors].map(([path, door]) => [
      path,
      new WebSocketServer({ ...settings, handleProtocols: (offered) => door.subprotocol(offered) })
    ])
  )
  const pending = new PendingSockets(options)

  return (request, socket, head) => {
    const [at, query = ""] = (request.url ?? "").split("?", 2)
    const door = doors.get(at ?? "")
    const server = servers.get(at ?? "")
    if (door === undefined || server === undefined) return false
    const parameters = new URLSearchParams(query)
    const { origin } = request.headers
    const proof = door.proof(request, parameters)
    if ([...parameters.keys()].some((name) => keyParameters.has(name.toLowerCase()))) {
      answer(socket, "400 Bad Request", "API keys are not accepted in the URL. Send a header or a ticket.")
    } else if (origins !== undefined && origin !== undefined && !origins.includes(origin)) {
      answer(socket, "403 Forbidden", "This Origin may not connect. Add it to the option `origins`.")
    } else if (isSessionOfOtherSite(request, proof, origins)) {
      answer(
        socket,
        "403 Forbidden",
        "A page of this Origin may not use a session. Use a ticket, or add it to `origins`."
      )
    } else if (!pending.makeRoomFor(request)) {
      answer(socket, "503 Service Unavailable", "Too many connections are waiting. Try again in a moment.")
    } else {
      server.handleUpgrade(request, socket, head, (client) => {
        client.on("error", () => {})
        client.pause()
        const releaseSlot = pending.add(request, () => {
          releaseSlot()
          client.terminate()
        })
        const around = { door, query: parameters, models, documentUrl, onBegin: releaseSlot }
        serve(sessionSocket(client, socket, around), request, proof, releaseSlot)
      })
    }
    return true
  }
}

/** A connection whose owner is not known yet. */
interface Pending {
  readonly drop: () => void
  readonly since: number
}

/**
 * The connections whose owner is not known yet, all and those of each address. When all slots are taken, the oldest connection of the address
 * with the most of them is dropped: silent ones stay for long, and one with a valid key leaves its slot within milliseconds. When the slots of
 * an address are taken, its oldest one is dropped if it has had enough time; otherwise nobody of a busy address would have enough.
 */
class PendingSockets {
  private readonly options: UpgradeOptions
  private readonly grace: number
  /** By address, oldest first. */
  private readonly byAddress = new Map<string, Set<Pending>>()
  private count = 0

  constructor(options: UpgradeOptions) {
    this.options = options
    this.grace = Duration.toMillis(Duration.fromInputUnsafe(options.pendingGrace ?? "2 seconds"))
  }

  /** Whether there is a slot for one more connection. If needed, the oldest connection of the address gives up its slot. */
  makeRoomFor(request: IncomingMessage): boolean {
    const { maxPending = 1000, maxPendingOfAddress = 100 } = this.options
    if (maxPending < 1) return false
    const own = this.byAddress.get(clientAddressFrom(request, this.options))
    if ((own?.size ?? 0) < maxPendingOfAddress) return true
    const [oldest] = own ?? []
    if (oldest === undefined || performance.now() - oldest.since < this.grace) return false
    oldest.drop()
    return true
  }

  /** Takes a slot until the returned function is called. `drop` ends the connection. */
  add(request: IncomingMessage, drop: () => void): () => void {
    const { maxPending = 1000 } = this.options
    if (this.count >= maxPending) this.dropOne()
    const address = clientAddressFrom(request, this.options)
    const own = this.byAddress.get(address) ?? new Set()
    const pending = { drop, since: performance.now() }
    this.byAddress.set(address, own.add(pending))
    this.count++
    return () => {
      if (!own.delete(pending)) return
      this.count--
      if (own.size === 0) this.byAddress.delete(address)
    }
  }

  private dropOne(): void {
    let most: ReadonlySet<Pending> = new Set()
    for (const own of this.byAddress.values()) if (own.size > most.size) most = own
    for (const { drop } of most) return drop()
  }
}

const clientAddressFrom = (request: IncomingMessage, { clientAddress }: UpgradeOptions): string =>
  clientAddress?.({ ...readHostCredentials(request), source: request }) ?? request.socket.remoteAddress ?? ""

/**
 * Whether a page of another site uses the host's session. Without a key and a ticket only that session is left, which a browser sends for
 * the pages of every site.
 */
const isSessionOfOtherSite = (
  request: IncomingMessage,
  { key, ticket }: Proof,
  origins: ReadonlyArray<string> = []
): boolean =>
  ticket === null &&
  (key ?? "") === "" &&
  isFromOtherSite(readHostCredentials(request).headers, { addresses: [], trusted: origins })

/**
 * The credentials for `authenticate` of the host. A key that a protocol sends in another place is put into the header that our own clients
 * use.
 */
const readHostCredentials = (request: IncomingMessage, key: string | null = null): HostCredentials => {
  const { headers } = request
  return {
    authorization: headers.authorization ?? null,
    sessionToken: firstHeader(headers["x_session_token"] ?? headers["x-session-token"]) ?? null,
    headers: {
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, firstHeader(value)])),
      ...(key === null ? {} : { "x-api-key": key })
    },
    source: request
  }
}

const answer = (socket: Duplex, status: string, detail: string): void => {
  const body = JSON.stringify({ detail })
  const head = [
    `HTTP/1.1 ${status}`,
    "Connection: close",
    "Content-Type: application/json",
    "X-Content-Type-Options: nosniff",
    `Content-Length: ${Buffer.byteLength(body)}`
  ]
  socket.on("error", () => {}).end(`${head.join("\r\n")}\r\n\r\n${body}`)
}

/** The listeners of `attachUpgrade`, of all servers. */
const refusing = new WeakSet<object>()

const hasOtherListeners = (server: Server): boolean => server.listeners("upgrade").some((each) => !refusing.has(each))

/**
 * Adds the handler to a server, in addition to other listeners for upgrades. The handler gets upgrades of its own path before any other listener;
 * upgrades of other paths go to the other listeners, and are refused if there are none. The returned function removes the handler.
 */
export const attachUpgrade = (server: Server, handler: UpgradeHandler): (() => void) => {
  const before = Object.getOwnPropertyDescriptor(server, "emit")
  let isAttached = true
  const emit: (event: string, ...args: ReadonlyArray<unknown>) => boolean = server.emit.bind(server)
  const attached = (event: string, ...args: ReadonlyArray<unknown>): boolean => {
    const [request, socket, head] = args
    const isUpgrade =
      event === "upgrade" && request instanceof IncomingMessage && socket instanceof Duplex && Buffer.isBuffer(head)
    return (isAttached && isUpgrade && handler(request, socket, head)) || emit(event, ...args)
  }
  const restoreChoice = chooseWebSockets(server)
  /** Answers upgrades that no other listener handles: without any listener Node.js treats them as plain requests, and ignored ones would hang. */
  const refuseUnclaimed = (_request: IncomingMessage, socket: Duplex): void => {
    if (!hasOtherListeners(server) && !socket.writableEnded) answer(socket, "404 Not Found", "Not Found")
  }
  refusing.add(refuseUnclaimed)
  Object.defineProperty(server, "emit", { configurable: true, writable: true, value: attached })
  server.on("upgrade", refuseUnclaimed)
  return () => {
    isAttached = false
    // Another handler, attached later, stays.
    if (server.emit === attached) {
      if (before === undefined) Reflect.deleteProperty(server, "emit")
      else Object.defineProperty(server, "emit", before)
    }
    server.off("upgrade", refuseUnclaimed)
    restoreChoice()
  }
}

/**
 * Lets Node.js treat a request as an upgrade only if it asks for a WebSocket. Clients such as Java's and curl offer HTTP/2 in plain requests
 * (`Upgrade: h2c`), and expect a server without HTTP/2 to answer them as usual. If the host has a listener for upgrades too, the earlier choice stays.
 * Node.js before 24.9 has no such choice: listeners get every upgrade.
 */
const chooseWebSockets = (server: Server): (() => void) => {
  const before: unknown = Reflect.get(server, "shouldUpgradeCallback")
  if (typeof before !== "function") return () => {}
  let isOver = false
  const choose = (request: IncomingMessage): boolean =>
    isOver || hasOtherListeners(server)
      ? before.call(server, request) === true
      : /(?:^|[,\s])websocket(?:$|[,\s/])/iu.test(request.headers.upgrade ?? "")
  Reflect.set(server, "shouldUpgradeCallback", choose)
  return () => {
    isOver = true
    if (Reflect.get(server, "shouldUpgradeCallback") === choose) Reflect.set(server, "shouldUpgradeCallback", before)
  }
}
