/** Calls of a server's tools, whose results and failures become text for the model. */
import { HostedToolFailed } from "@colloquy/core"
import { type CallToolResult, ProtocolError, SdkError, SdkErrorCode } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import { type Connection, ServerUnreachable } from "./Connection.ts"
import { asSentence, type OfferedTool, resultText } from "./McpTools.ts"

/** The kernel limits the time of a call, so the SDK's own timeout is set to its maximum. */
const noTimeout = 2 ** 31 - 1

/** The definition goes along, so that the SDK need not list the tools again to know which arguments are headers of the request. */
export const callTool = (
  server: { readonly name: string },
  connection: Connection,
  { definition, name }: OfferedTool,
  args: Readonly<Record<string, unknown>>
) =>
  asked(server, connection, (signal) => {
    const inputSchema = Object.assign({}, definition.parameters, { type: "object" as const })
    const toolDefinition = { name, inputSchema }
    return connection.client.callTool({ name, arguments: args }, { signal, timeout: noTimeout, toolDefinition })
  }).pipe(Effect.flatMap(outcome))

const outcome = (result: CallToolResult) => {
  const text = resultText(result)
  if (result.isError !== true) return Effect.succeed(text)
  return Effect.fail(new HostedToolFailed({ message: text || "the tool failed without giving a reason." }))
}

/** One request to the server. What goes wrong with it becomes a sentence for the model. */
const asked = <A>(
  server: { readonly name: string },
  connection: Connection,
  request: (signal: AbortSignal) => Promise<A>
): Effect.Effect<A, HostedToolFailed> =>
  Effect.tryPromise({ try: request, catch: (cause) => new ServerUnreachable({ cause }) }).pipe(
    Effect.catchTag("ServerUnreachable", ({ cause }) => connectionFailure(server.name, connection, cause))
  )

/** After a lost connection the client is closed, so that it is opened again. */
const connectionFailure = (name: string, { client, problem }: Connection, cause: unknown) => {
  const failed = (message: string) => Effect.fail(new HostedToolFailed({ message }))
  if (problem !== null) return failed(`the server of this tool (${name}) ${problem}. Continue without this tool.`)
  if (cause instanceof SdkError && cause.code === SdkErrorCode.InvalidResult)
    return failed("the tool gave a malformed result.")
  if (ProtocolError.isInstance(cause)) return failed(asSentence(cause.message.replace(sdkPrefix, "")))
  const message = `the server of this tool (${name}) cannot be reached. Continue without this tool.`
  return Effect.andThen(Effect.ignore(Effect.promise(() => client.close())), failed(message))
}

/** The prefix that older SDKs add to a server's message. */
const sdkPrefix = /^(?:MCP error -?\d+: )+/u
