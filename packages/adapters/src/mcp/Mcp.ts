/**
 * Offers the tools of MCP servers as hosted tools, through the official SDK. A host provides `Mcp.layer([{ name: "files", command: "npx",
 * args: […] }])` over `Kernel.layer`. A server's tools are offered while the server is connected. If it is not reachable at the start,
 * disconnects or changes its list of tools, the offered tools follow; no turn and no start of the kernel fails because of a server.
 */
import { HostedTools, type HostedTool, HostedToolFailed } from "@colloquy/core"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import {
  CallToolResultSchema,
  McpError,
  type Tool,
  ToolListChangedNotificationSchema
} from "@modelcontextprotocol/sdk/types.js"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { definitionOf, resultText } from "./McpTools.ts"

interface ServerOptions {
  /** The prefix of its tools' names: `files` and `read` become `files_read`. */
  readonly name: string
  /** Selects the tools that are offered. Default: all. */
  readonly tools?: (name: string) => boolean
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

class ServerUnreachable extends Data.TaggedError("ServerUnreachable")<{ readonly cause: unknown }> {}

export const layer = (
  servers: ReadonlyArray<McpServer>,
  { longestPause = "1 minute", startTimeout = "10 seconds" }: McpSettings = {}
): Layer.Layer<never, never, HostedTools> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const registry = yield* HostedTools
      const first = yield* Effect.forEach(servers, (server) => follow(registry, server, longestPause))
      yield* Effect.ignore(Effect.timeout(Effect.all(first, { concurrency: "unbounded" }), startTimeout))
    })
  )

/** Offers a server's tools while it is connected, in the background. Returns an effect that waits for the first attempt to connect. */
const follow = (registry: typeof HostedTools.Service, server: McpServer, longestPause: Duration.Input) =>
  Effect.gen(function* () {
    const tried = yield* Deferred.make<void>()
    const connection = Effect.scoped(offerWhileConnected(registry, server, Deferred.succeed(tried, undefined))).pipe(
      // Only the message of the cause is logged: the whole error contains the command with its arguments, which may be secret.
      Effect.tapError(({ cause }) =>
        Effect.logWarning(
          `The MCP server ${server.name} cannot be reached: ${cause instanceof Error ? cause.message : "no reason is known"}`
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

/** Connects and offers the tools. Ends without a failure when an open connection is closed. */
const offerWhileConnected = Effect.fnUntraced(function* (
  registry: typeof HostedTools.Service,
  server: McpServer,
  offered: Effect.Effect<unknown>
) {
  const changes = yield* Queue.unbounded<Change>()
  const client = yield* connect(server, (change) => Queue.offerUnsafe(changes, change))
  while (true) {
    const scope = yield* Scope.fork(yield* Scope.Scope)
    const tools = newNames(registry, toolsOf(server, client, yield* listTools(server, client)))
    if (tools.taken.length > 0)
      yield* Effect.logWarning(
        `These tools of the MCP server ${server.name} are not offered, because other tools have their names: ${tools.taken.join(", ")}`
      )
    yield* Scope.provide(registry.register(tools.free), scope)
    yield* offered
    if ((yield* Queue.take(changes)) === "closed") return
    yield* Scope.close(scope, yield* Effect.exit(Effect.void))
  }
})

type Change = "changed" | "closed"

const connect = (server: McpServer, onChange: (change: Change) => void) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async (signal) => {
        const client = new Client({ name: "colloquy", version: "1.0.0" })
        client.setNotificationHandler(ToolListChangedNotificationSchema, () => onChange("changed"))
        // eslint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to listen
        client.onclose = () => onChange("closed")
        await client.connect(transportOf(server), { signal })
        return client
      },
      catch: (cause) => new ServerUnreachable({ cause })
    }),
    (client) => Effect.ignore(Effect.promise(() => client.close()))
  )

const transportOf = (server: McpServer): Transport => {
  if ("command" in server) {
    const { args = [], command, cwd, env } = server
    return new StdioClientTransport({
      command,
      args: [...args],
      ...(env === undefined ? {} : { env: { ...env } }),
      ...(cwd === undefined ? {} : { cwd })
    })
  }
  const headers = Object.entries(server.headers ?? {}).map(([name, value]): [string, string] => [
    name,
    Redacted.isRedacted(value) ? Redacted.value(value) : value
  ])
  return new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } })
}

const listTools = Effect.fnUntraced(function* (server: McpServer, client: Client) {
  const found: Array<Tool> = []
  let cursor: string | undefined
  do {
    const page = yield* Effect.tryPromise({
      try: (signal) => client.listTools(cursor === undefined ? {} : { cursor }, { signal }),
      catch: (cause) => new ServerUnreachable({ cause })
    })
    found.push(...page.tools)
    cursor = page.nextCursor
  } while (cursor !== undefined && found.length < mostTools)
  const wanted = found.filter(({ name }) => server.tools?.(name) ?? true)
  if (cursor !== undefined || wanted.length > mostTools)
    yield* Effect.logWarning(
      `The MCP server ${server.name} has more than ${mostTools} tools. Only the first ${mostTools} are offered; select others with the option \`tools\`.`
    )
  return wanted.slice(0, mostTools)
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

const toolsOf = (server: McpServer, client: Client, tools: ReadonlyArray<Tool>): ReadonlyArray<HostedTool> =>
  tools.map((tool) => ({
    definition: definitionOf(server.name, tool),
    ...(server.timeout === undefined ? {} : { timeout: server.timeout }),
    run: (args) => call(server, client, tool.name, args)
  }))

/** The kernel limits the time of a call, so the SDK's own timeout is set to its maximum. */
const noTimeout = 2 ** 31 - 1

const call = (server: McpServer, client: Client, name: string, args: Readonly<Record<string, unknown>>) =>
  Effect.tryPromise({
    try: (signal) => client.callTool({ name, arguments: args }, CallToolResultSchema, { signal, timeout: noTimeout }),
    catch: (cause) => new ServerUnreachable({ cause })
  }).pipe(
    Effect.map((result) => CallToolResultSchema.parse(result)),
    Effect.catchTag("ServerUnreachable", ({ cause }) =>
      // An error that the server reports is passed to the model. After a lost connection the client is closed, so that `follow` connects again.
      cause instanceof McpError && cause.code !== connectionClosed
        ? Effect.fail(new HostedToolFailed({ message: cause.message.replace(sdkPrefix, "") }))
        : Effect.andThen(
            Effect.ignore(Effect.promise(() => client.close())),
            Effect.fail(
              new HostedToolFailed({
                message: `the server of this tool (${server.name}) cannot be reached. Continue without this tool.`
              })
            )
          )
    ),
    Effect.flatMap((result) =>
      result.isError === true
        ? Effect.fail(
            new HostedToolFailed({ message: resultText(result) || "the tool failed without giving a reason." })
          )
        : Effect.succeed(resultText(result))
    )
  )

/** The prefix that the SDK adds to a server's message, once on the server and once on the client. */
const sdkPrefix = /^(?:MCP error -?\d+: )+/u

/** The SDK's code for a connection that was closed before the answer arrived. */
const connectionClosed = -32_000
