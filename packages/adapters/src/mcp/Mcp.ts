/**
 * Tools of MCP servers as hosted tools, through the official SDK: `Mcp.layer([{ name: "files", command: "npx", args: […] }])` over
 * `Kernel.layer`. A server's tools are offered while it can be reached: one that is away at the start, goes away or changes its list is
 * followed, and no turn and no start of the kernel fails because of it. For hosts.
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
  /** Stands before the names of its tools: `files` and `read` become `files_read`. */
  readonly name: string
  /** Which of its tools are offered. Absent: all. */
  readonly tools?: (name: string) => boolean
  /** How long a call may take. Absent: the kernel's `hostedToolTimeout`. */
  readonly timeout?: Duration.Input
}

/** A program that this process starts, and talks to over its standard input and output. */
export interface ProgramOptions extends ServerOptions {
  readonly command: string
  readonly args?: ReadonlyArray<string>
  /** Added to the few variables that the SDK hands on. */
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
  /** A server that has not answered until then does not hold up the start. Default 10 seconds. */
  readonly startTimeout?: Duration.Input
  /** The longest pause between two attempts to reach a server. Default 1 minute. */
  readonly longestPause?: Duration.Input
}

const shortestPause = "1 second"

/** Of one server; what is beyond is left out, and said in the log. */
const mostTools = 128

/** What kept a server from answering. */
class Away extends Data.TaggedError("Away")<{ readonly cause: unknown }> {}

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

/** Offers a server's tools while it can be reached. Answers what waits for the first attempt. */
const follow = (registry: typeof HostedTools.Service, server: McpServer, longestPause: Duration.Input) =>
  Effect.gen(function* () {
    const tried = yield* Deferred.make<void>()
    const once = Effect.scoped(offerWhileThere(registry, server, Deferred.succeed(tried, undefined))).pipe(
      // The whole error would tell the command, and with it what stands in its arguments.
      Effect.tapError(({ cause }) =>
        Effect.logWarning(
          `The MCP server ${server.name} cannot be reached: ${cause instanceof Error ? cause.message : "no reason is known"}`
        )
      ),
      Effect.ensuring(Deferred.succeed(tried, undefined))
    )
    const pauses = Schedule.min([Schedule.exponential(shortestPause), Schedule.spaced(longestPause)])
    // The pause keeps a server that ends as soon as it began from being started without end.
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.retry(once, pauses), Effect.sleep(shortestPause))))
    return Deferred.await(tried)
  })

/** Ends without a failure when a connection that stood is over. */
const offerWhileThere = Effect.fnUntraced(function* (
  registry: typeof HostedTools.Service,
  server: McpServer,
  offered: Effect.Effect<unknown>
) {
  const news = yield* Queue.unbounded<"changed" | "closed">()
  const client = yield* connect(server, (what) => Queue.offerUnsafe(news, what))
  while (true) {
    const scope = yield* Scope.fork(yield* Scope.Scope)
    const tools = newNames(registry, toolsOf(server, client, yield* listTools(server, client)))
    if (tools.taken.length > 0)
      yield* Effect.logWarning(
        `Tools of ${server.name} are not offered, as their names are taken: ${tools.taken.join(", ")}`
      )
    yield* Scope.provide(registry.register(tools.free), scope)
    yield* offered
    if ((yield* Queue.take(news)) === "closed") return
    yield* Scope.close(scope, yield* Effect.exit(Effect.void))
  }
})

const connect = (server: McpServer, tell: (news: "changed" | "closed") => void) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async (signal) => {
        const client = new Client({ name: "colloquy", version: "1.0.0" })
        client.setNotificationHandler(ToolListChangedNotificationSchema, () => tell("changed"))
        // eslint-disable-next-line unicorn/prefer-add-event-listener -- a property is all that the SDK has
        client.onclose = () => tell("closed")
        await client.connect(transportOf(server), { signal })
        return client
      },
      catch: (cause) => new Away({ cause })
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
      catch: (cause) => new Away({ cause })
    })
    found.push(...page.tools)
    cursor = page.nextCursor
  } while (cursor !== undefined && found.length < mostTools)
  const wanted = found.filter(({ name }) => server.tools?.(name) ?? true)
  if (cursor !== undefined || wanted.length > mostTools)
    yield* Effect.logWarning(`The MCP server ${server.name} has more than ${mostTools} tools; the rest is not offered.`)
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

/** The kernel keeps the time, so the SDK need not. */
const noTimeout = 2 ** 31 - 1

const call = (server: McpServer, client: Client, name: string, args: Readonly<Record<string, unknown>>) =>
  Effect.tryPromise({
    try: (signal) => client.callTool({ name, arguments: args }, CallToolResultSchema, { signal, timeout: noTimeout }),
    catch: (cause) => new Away({ cause })
  }).pipe(
    Effect.map((result) => CallToolResultSchema.parse(result)),
    Effect.catchTag("Away", ({ cause }) =>
      // What a server answers is meant for the model. A connection that broke is made anew, for later calls.
      cause instanceof McpError && cause.code !== connectionClosed
        ? Effect.fail(new HostedToolFailed({ message: cause.message.replace(sdkPrefix, "") }))
        : Effect.andThen(
            Effect.ignore(Effect.promise(() => client.close())),
            Effect.fail(
              new HostedToolFailed({
                message: `the server of this tool (${server.name}) cannot be reached. Do without it.`
              })
            )
          )
    ),
    Effect.flatMap((result) =>
      result.isError === true
        ? Effect.fail(new HostedToolFailed({ message: resultText(result) || "the tool failed without a word." }))
        : Effect.succeed(resultText(result))
    )
  )

/** What the SDK puts before a server's own words, once on each side. */
const sdkPrefix = /^(?:MCP error -?\d+: )+/u

/** The SDK's code for a connection that ended before the answer came. */
const connectionClosed = -32_000
