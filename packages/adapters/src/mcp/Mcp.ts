/**
 * Offers the tools of MCP servers as hosted tools, through the official SDK. A host provides `Mcp.layer([{ name: "files", command: "npx",
 * args: […] }])` over `Kernel.layer`. A server's tools are offered while the server is connected. If it is not reachable at the start,
 * disconnects or changes its list of tools, the offered tools follow; no turn and no start of the kernel fails because of a server.
 */
import { HostedTools, type HostedTool, HostedToolFailed } from "@colloquy/core"
import { argumentCheck } from "@colloquy/core/adapters"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { McpError, ResultSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Config from "effect/Config"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { boundedFetch, isTooLarge, messageCounter, type Misbehaved, mostBytes, problemOfProgram } from "./Bounds.ts"
import { fits, type OfferedTool, offeredTools, readResult, resultText, asSentence } from "./McpTools.ts"

interface ServerOptions {
  /** The prefix of its tools' names: `files` and `read` become `files_read`. */
  readonly name: string
  /** Selects the tools that are offered. Default: all. */
  readonly tools?: (name: string) => boolean
  /** The tools whose calls wait until a person approves them, by their names at the server; true: all. Default: none. */
  readonly approval?: true | ReadonlyArray<string>
  /** How long a call may take. Default: the kernel's `hostedToolTimeout`. */
  readonly timeout?: Duration.Input
}

/** A server that this process starts as a program and talks to through its standard input and output. */
export interface ProgramOptions extends ServerOptions {
  readonly command: string
  readonly args?: ReadonlyArray<string>
  /** Environment variables in addition to the few that the SDK passes on. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A server that is reached over streamable HTTP. */
export interface AddressOptions extends ServerOptions {
  readonly url: string
  readonly headers?: Readonly<Record<string, string | Redacted.Redacted<string>>>
}

export type McpServer = ProgramOptions | AddressOptions

export interface McpSettings {
  /** How long the start waits for servers to connect. Default 10 seconds. */
  readonly startTimeout?: Duration.Input
  /** The longest pause between two attempts to connect to a server. Default 1 minute. */
  readonly longestPause?: Duration.Input
}

const shortestPause = "1 second"

/** The largest number of tools of one server. Further tools are left out, with a warning in the log. */
const mostTools = 128

/** Pages of a list. A server may give empty ones without an end. */
const mostPages = 32

/** How long the whole list of a server's tools may take. */
const listTimeout = "30 seconds"

/** Between two readings of a list: a server may say again and again that it has changed. */
const pauseBetweenLists = "1 second"

class ServerUnreachable extends Schema.TaggedError<ServerUnreachable>()("ServerUnreachable", {
  cause: Schema.Unknown
}) {}

interface ServerTransport {
  readonly transport: Transport
  /** Ends a program at once: one that is asked to end goes on writing for seconds. */
  readonly kill: () => void
}

interface Connection {
  readonly client: Client
  /** What the server did against the bounds: the connection is closed for it. */
  problem: string | null
}

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
  Layer.unwrap(Effect.map(Config.unwrap(settings), (read) => layer(servers, read)))

/** `among` is the number of servers, which share the room for tools in a model's window. */
type FollowedServer = McpServer & { readonly among: number }

/** Offers a server's tools while it is connected, in the background. Returns an effect that waits for the first attempt to connect. */
const follow = (registry: typeof HostedTools.Service, server: FollowedServer, longestPause: Duration.Input) =>
  Effect.gen(function* () {
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

type Change = "changed" | "closed"

/** Any number of changes in a row is one. */
const changeTeller = (changes: Queue.Queue<Change>) => (change: Change) => {
  if (change === "closed" || Queue.sizeUnsafe(changes) === 0) Queue.offerUnsafe(changes, change)
}

const connect = (server: McpServer, onChange: (change: Change) => void) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async (signal) => {
        const client = new Client({ name: "colloquy", version: "1.0.0" })
        const connection: Connection = { client, problem: null }
        const misbehaved: Misbehaved = (problem) => {
          if (connection.problem !== null) return
          connection.problem = problem
          kill()
          client.close().catch(() => {})
        }
        const { kill, transport } = makeTransport(server, misbehaved)
        // The client calls what was here before it.
        // eslint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to listen
        transport.onmessage = messageCounter(misbehaved)
        // eslint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to listen
        transport.onerror = (error) => {
          if (isTooLarge(error)) misbehaved(problemOfProgram)
        }
        client.setNotificationHandler(ToolListChangedNotificationSchema, () => onChange("changed"))
        // eslint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to listen
        client.onclose = () => onChange("closed")
        await client.connect(transport, { signal })
        return connection
      },
      catch: (cause) => new ServerUnreachable({ cause })
    }),
    ({ client }) => Effect.ignore(Effect.promise(() => client.close()))
  )

const makeTransport = (server: McpServer, misbehaved: Misbehaved): ServerTransport => {
  if ("command" in server) {
    const { args = [], command, cwd, env } = server
    const transport = new StdioClientTransport({
      command,
      args: [...args],
      maxBufferSize: mostBytes,
      ...(env === undefined ? {} : { env: { ...env } }),
      ...(cwd === undefined ? {} : { cwd })
    })
    const kill = () => {
      if (transport.pid !== null) process.kill(transport.pid, "SIGKILL")
    }
    return { transport, kill }
  }
  const headers = Object.entries(server.headers ?? {}).map(([name, value]): [string, string] => [
    name,
    Redacted.isRedacted(value) ? Redacted.value(value) : value
  ])
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers },
    fetch: boundedFetch(misbehaved)
  })
  return { transport, kill: () => {} }
}

/**
 * The list is read without the SDK's own reader, which would look at every tool, however many there are, and would compile the schemas of
 * their results.
 */
const readPage = (client: Client, cursor: string | undefined) =>
  Effect.tryPromise({
    try: async (signal) => {
      const params = cursor === undefined ? {} : { cursor }
      const { nextCursor, tools } = await client.request({ method: "tools/list", params }, ResultSchema, { signal })
      return {
        tools: Array.isArray(tools) ? tools.slice(0, 10 * mostTools) : [],
        cursor: typeof nextCursor === "string" ? nextCursor : undefined
      }
    },
    catch: (cause) => new ServerUnreachable({ cause })
  })

const readName = (tool: unknown): string =>
  typeof tool === "object" && tool !== null && "name" in tool && typeof tool.name === "string" ? tool.name : ""

const listTools = Effect.fnUntraced(function* (server: McpServer, { client }: Connection) {
  const found: Array<unknown> = []
  let pages = 0
  let cursor: string | undefined
  const readAll = Effect.gen(function* () {
    do {
      const page = yield* readPage(client, cursor)
      found.push(...page.tools.filter((tool) => server.tools?.(readName(tool)) ?? true))
      cursor = page.cursor
      pages += 1
    } while (cursor !== undefined && pages < mostPages && found.length < mostTools)
  })
  yield* Effect.timeoutOrElse(readAll, {
    duration: listTimeout,
    orElse: () => Effect.fail(new ServerUnreachable({ cause: new Error("its list of tools takes too long") }))
  })
  if (cursor !== undefined || found.length > mostTools)
    yield* Effect.logWarning(
      `The MCP server ${server.name} has more than ${mostTools} tools, or ${mostPages} pages of them. Only the first ones are offered; select others with the option \`tools\`.`
    )
  const { leftOut, tools } = offeredTools(server.name, found.slice(0, mostTools))
  if (leftOut > 0)
    yield* Effect.logWarning(
      `${leftOut} tools of the MCP server ${server.name} are not offered, because their parameters are malformed or too large, or all definitions together are.`
    )
  return tools
})

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

const serverTools = (
  server: FollowedServer,
  connection: Connection,
  tools: ReadonlyArray<OfferedTool>
): ReadonlyArray<HostedTool> =>
  tools.map(({ definition, name, upTo }) => ({
    definition,
    yields: true,
    offered: ({ contextLimit }) => fits(upTo, contextLimit, server.among),
    ...(needsApproval(server, name) ? { needsApproval: true, check: argumentCheck(definition.parameters) } : {}),
    ...(server.timeout === undefined ? {} : { timeout: server.timeout }),
    run: (args) => call(server, connection, name, args)
  }))

const needsApproval = ({ approval = [] }: McpServer, name: string): boolean =>
  approval === true || approval.includes(name)

/** The kernel limits the time of a call, so the SDK's own timeout is set to its maximum. */
const noTimeout = 2 ** 31 - 1

/** Without the SDK's own caller, which checks results against the schemas that the server has named. */
const call = (server: McpServer, connection: Connection, name: string, args: Readonly<Record<string, unknown>>) =>
  Effect.tryPromise({
    try: (signal) =>
      connection.client.request({ method: "tools/call", params: { name, arguments: args } }, ResultSchema, {
        signal,
        timeout: noTimeout
      }),
    catch: (cause) => new ServerUnreachable({ cause })
  }).pipe(
    Effect.map(readResult),
    Effect.catchTag("ServerUnreachable", ({ cause }) => connectionFailure(server, connection, cause)),
    Effect.flatMap((result) => {
      if (result === null) return Effect.fail(new HostedToolFailed({ message: "the tool gave a malformed result." }))
      if (result.isError !== true) return Effect.succeed(resultText(result))
      const message = resultText(result) || "the tool failed without giving a reason."
      return Effect.fail(new HostedToolFailed({ message }))
    })
  )

/** What the model is told. After a lost connection the client is closed, so that `follow` connects again. */
const connectionFailure = (server: McpServer, { client, problem }: Connection, cause: unknown) => {
  const failed = (message: string) => Effect.fail(new HostedToolFailed({ message }))
  if (problem !== null)
    return failed(`the server of this tool (${server.name}) ${problem}. Continue without this tool.`)
  if (cause instanceof McpError && cause.code !== connectionClosed) {
    return failed(asSentence(cause.message.replace(sdkPrefix, "")))
  }
  const message = `the server of this tool (${server.name}) cannot be reached. Continue without this tool.`
  return Effect.andThen(Effect.ignore(Effect.promise(() => client.close())), failed(message))
}

/** The prefix that the SDK adds to a server's message, once on the server and once on the client. */
const sdkPrefix = /^(?:MCP error -?\d+: )+/u

/** The SDK's code for a connection that was closed before the answer arrived. */
const connectionClosed = -32_000
