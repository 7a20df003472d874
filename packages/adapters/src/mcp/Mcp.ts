/**
 * Offers the tools, resources and prompts of MCP servers as hosted tools, through the official SDK. A host provides `Mcp.layer([{ name:
 * "files", command: "npx", args: […] }])` over `Kernel.layer`. A server's tools are offered while the server is connected. If it is not reachable at the start,
 * disconnects or changes its list of tools, the offered tools follow; no turn and no start of the kernel fails because of a server.
 */
import { HostedTools, type HostedTool } from "@colloquy/core"
import { readConfig } from "@colloquy/core/adapters"
import type * as Config from "effect/Config"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { type Change, connect, type Connection, ServerUnreachable } from "./Connection.ts"
import type { McpServer } from "./McpServer.ts"
import { asSentence } from "./McpTools.ts"
import { type FollowedServer, listTools, serverTools } from "./ServerTools.ts"

export type { AddressOptions, McpServer, OwnedServer, ProgramOptions } from "./McpServer.ts"
export { layerForOwners, type OwnedServerSettings } from "./OwnedServers.ts"

/** How long the start of a server may take, and the longest pause between attempts to reach it again. */
export interface McpSettings {
  /** How long the start waits for servers to connect. Default 10 seconds. */
  readonly startTimeout?: Duration.Input
  /** The longest pause between two attempts to connect to a server. Default 1 minute. */
  readonly longestPause?: Duration.Input
}

const shortestPause = "1 second"

/** The pause between two readings of a list, because a server may report changes again and again. */
const pauseBetweenLists = "1 second"

/** Offers the tools of MCP servers as hosted tools, in the turns of all owners. */
export const layer = (
  servers: ReadonlyArray<McpServer>,
  { longestPause = "1 minute", startTimeout = "10 seconds" }: McpSettings = {}
): Layer.Layer<never, never, HostedTools> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const registry = yield* HostedTools
      const first = yield* Effect.forEach(servers, (server) =>
        follow(registry, { ...server, among: servers.length }, longestPause)
      )
      yield* Effect.ignore(Effect.timeout(Effect.all(first, { concurrency: "unbounded" }), startTimeout))
    })
  )

/** The same with settings from `effect/Config`: `layerConfig(servers, { startTimeout: Config.Duration("MCP_START_TIMEOUT") })`. */
export const layerConfig = (
  servers: ReadonlyArray<McpServer>,
  settings: Config.Wrap<McpSettings>
): Layer.Layer<never, Config.ConfigError, HostedTools> =>
  Layer.unwrap(Effect.map(readConfig(settings), (read) => layer(servers, read)))

/** Offers a server's tools while it is connected, in the background. Returns an effect that waits for the first attempt to connect. */
const follow = Effect.fnUntraced(function* (
  registry: typeof HostedTools.Service,
  server: FollowedServer,
  longestPause: Duration.Input
) {
  const tried = yield* Deferred.make<void>()
  const connection = Effect.scoped(offerWhileConnected(registry, server, Deferred.succeed(tried, undefined))).pipe(
    // Only the message of the cause is logged: the whole error contains the command with its arguments, which may be secret.
    Effect.tapError(({ cause }) =>
      Effect.logWarning(
        `The MCP server ${server.name} cannot be reached: ${cause instanceof Error ? asSentence(cause.message) : "no reason is known"}`
      )
    ),
    Effect.ensuring(Deferred.succeed(tried, undefined))
  )
  const pauses = Schedule.min([Schedule.exponential(shortestPause), Schedule.spaced(longestPause)])
  // Without the pause, a server that ends immediately would be started again and again without a break.
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(Effect.retry(connection, pauses), Effect.sleep(shortestPause)))
  )
  return Deferred.await(tried)
})

/** Connects and offers the tools. Ends without a failure when an open connection is closed, unless the server went beyond its bounds. */
const offerWhileConnected = Effect.fnUntraced(function* (
  registry: typeof HostedTools.Service,
  server: FollowedServer,
  offered: Effect.Effect<unknown>
) {
  const changes = yield* Queue.unbounded<Change>()
  const connection = yield* connect(server, changeTeller(changes))
  const ended = yield* Effect.exit(offerUntilClosed(registry, server, connection, changes, offered))
  if (connection.problem !== null) return yield* new ServerUnreachable({ cause: new Error(`it ${connection.problem}`) })
  return yield* ended
})

const offerUntilClosed = Effect.fnUntraced(function* (
  registry: typeof HostedTools.Service,
  server: FollowedServer,
  connection: Connection,
  changes: Queue.Dequeue<Change>,
  offered: Effect.Effect<unknown>
) {
  while (true) {
    const scope = yield* Scope.fork(yield* Scope.Scope)
    const tools = newNames(registry, serverTools(server, connection, yield* listTools(server, connection)))
    if (tools.taken.length > 0)
      yield* Effect.logWarning(
        `These tools of the MCP server ${server.name} are not offered, because other tools have their names: ${tools.taken.join(", ")}`
      )
    yield* Scope.provide(registry.register(tools.free), scope)
    yield* offered
    if ((yield* Queue.takeAll(changes)).includes("closed")) return
    yield* Effect.sleep(pauseBetweenLists)
    yield* Scope.close(scope, yield* Effect.exit(Effect.void))
  }
})

/** Tells several changes in a row as one. */
const changeTeller = (changes: Queue.Queue<Change>) => (change: Change) => {
  if (change === "closed" || Queue.sizeUnsafe(changes) === 0) Queue.offerUnsafe(changes, change)
}

const newNames = (registry: typeof HostedTools.Service, tools: ReadonlyArray<HostedTool>) => {
  const names = new Set(registry.all().map(({ definition }) => definition.name))
  const free: Array<HostedTool> = []
  const taken: Array<string> = []
  for (const tool of tools) {
    const { name } = tool.definition
    if (names.has(name)) taken.push(name)
    else free.push(tool)
    names.add(name)
  }
  return { free, taken }
}
