/** Calls of a server's tools, whose results and failures become text for the model, and whose questions go to a person. */
import { HostedToolFailed, type PersonAsked } from "@colloquy/core"
import type { HostedCall } from "@colloquy/core/adapters"
import {
  type CallToolResult,
  InsufficientScopeError,
  isInputRequiredResult,
  type InputRequiredResult,
  ProtocolError,
  SdkError,
  SdkErrorCode
} from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { connect, type ConnectedServer, type Connection, isUnauthorized, ServerUnreachable } from "./Connection.ts"
import { askFirst, type CallState, noQuestions, readQuestions, withAnswer } from "./Elicitation.ts"
import { asSentence, type OfferedTool, resultText } from "./McpTools.ts"

/** The kernel limits the time of a call, so the SDK's own timeout is set to its maximum. */
const noTimeout = 2 ** 31 - 1

/** How often a server may request the same call again without a question. */
const mostRepeats = 8

type Arguments = Readonly<Record<string, unknown>>
type Called = Effect.Effect<string, HostedToolFailed | PersonAsked>

export const callTool = (
  server: ConnectedServer,
  connection: Connection,
  tool: OfferedTool,
  args: Arguments,
  { answer }: Pick<HostedCall, "answer">
): Called => {
  const state = withAnswer(answer)
  // Questions that the server has asked together are put to the person one by one.
  if (state.asked.length > 0) return askFirst(state)
  return connection.client.getProtocolEra() === "modern"
    ? callStateless(server, connection, tool, args, state)
    : callOlder(server, connection, tool, args, state)
}

const callStateless = Effect.fnUntraced(function* (
  server: ConnectedServer,
  connection: Connection,
  tool: OfferedTool,
  args: Arguments,
  answered: CallState
) {
  let state = answered
  for (let repeats = 0; repeats < mostRepeats; repeats++) {
    const result = yield* request(server, connection, tool, args, state)
    if (!isInputRequiredResult(result)) return yield* outcome(result)
    const next = readQuestions(result, state.count)
    if (next === null) return yield* failed("the tool asks a person for what is no form, or too large.")
    if (next.asked.length > 0) return yield* askFirst(next)
    state = next
  }
  return yield* failed("the tool wants its call again and again.")
})

/**
 * Many calls share a connection, and a question of an older server does not say to which call it belongs. So the question is refused, and a
 * call that fails because of this is made once more, on a connection of its own.
 */
const callOlder = Effect.fnUntraced(function* (
  server: ConnectedServer,
  connection: Connection,
  tool: OfferedTool,
  args: Arguments,
  state: CallState
) {
  if (state !== noQuestions || connection.refused > 0) return yield* callAlone(server, tool, args, state)
  const ended = yield* Effect.exit(Effect.flatMap(request(server, connection, tool, args, state), complete))
  return yield* Exit.isFailure(ended) && connection.refused > 0 ? callAlone(server, tool, args, state) : ended
})

const callAlone = Effect.fnUntraced(function* (
  server: ConnectedServer,
  tool: OfferedTool,
  args: Arguments,
  state: CallState
) {
  const own = yield* connect(server, () => {}, { responses: state.responses }).pipe(
    Effect.mapError(() => new HostedToolFailed({ message: unreachable(server.name) }))
  )
  const result = yield* request(server, own, tool, args, noQuestions).pipe(
    Effect.catch((error) => (own.questions?.asked === null ? Effect.fail(error) : Effect.succeed(null)))
  )
  const asked = own.questions?.asked ?? null
  if (asked !== null) return yield* askFirst({ ...state, asked: [asked] })
  return yield* complete(result)
}, Effect.scoped)

/** The definition goes along, so that the SDK need not list the tools again to know which arguments are headers of the request. */
const request = (
  server: ConnectedServer,
  connection: Connection,
  { definition, name }: OfferedTool,
  args: Arguments,
  { requestState, responses: inputResponses }: CallState
): Effect.Effect<CallToolResult | InputRequiredResult, HostedToolFailed> =>
  ask(server, connection, (signal) => {
    const inputSchema = Object.assign({}, definition.parameters, { type: "object" as const })
    const again = Object.keys(inputResponses).length === 0 ? {} : { inputResponses }
    return connection.client.callTool(
      { name, arguments: args, ...again, ...(requestState === null ? {} : { requestState }) },
      {
        signal: connection.questions === null ? signal : AbortSignal.any([signal, connection.questions.ended]),
        timeout: noTimeout,
        toolDefinition: { name, inputSchema },
        allowInputRequired: true
      }
    )
  })

/** An older server cannot ask for anything by a result. */
const complete = (result: CallToolResult | InputRequiredResult | null) =>
  result === null || isInputRequiredResult(result) ? failed("the tool gave a malformed result.") : outcome(result)

const outcome = (result: CallToolResult) => {
  const text = resultText(result)
  if (result.isError !== true) return Effect.succeed(text)
  return failed(text || "the tool failed without giving a reason.")
}

const failed = (message: string) => Effect.fail(new HostedToolFailed({ message }))

/** Sends one request to the server. A failure becomes a sentence for the model. */
export const ask = <A>(
  server: ConnectedServer,
  connection: Connection,
  send: (signal: AbortSignal) => Promise<A>
): Effect.Effect<A, HostedToolFailed> =>
  Effect.tryPromise({ try: send, catch: (cause) => new ServerUnreachable({ cause }) }).pipe(
    Effect.tapError(({ cause }) => noteScope(server, cause)),
    Effect.catchTag("ServerUnreachable", ({ cause }) => connectionFailure(server.name, connection, cause))
  )

/** The next authorization asks the owner for this scope too. */
const noteScope = ({ auth }: ConnectedServer, cause: unknown) =>
  auth !== undefined && cause instanceof InsufficientScopeError && cause.requiredScope !== undefined
    ? Effect.ignore(Effect.tryPromise(() => auth.needs(cause.requiredScope ?? "")))
    : Effect.void

/** After a lost connection the client is closed, so that it is opened again. */
const connectionFailure = (name: string, { client, problem }: Connection, cause: unknown) => {
  if (problem !== null) return failed(`the server of this tool (${name}) ${problem}. Continue without this tool.`)
  if (isUnauthorized(cause))
    return Effect.andThen(Effect.ignore(Effect.promise(() => client.close())), failed(unauthorized(name)))
  if (cause instanceof SdkError && malformed.has(cause.code)) return failed("the tool gave a malformed result.")
  if (ProtocolError.isInstance(cause)) return failed(asSentence(cause.message.replace(sdkPrefix, "")))
  return Effect.andThen(Effect.ignore(Effect.promise(() => client.close())), failed(unreachable(name)))
}

export const unauthorized = (name: string): string =>
  `the server of this tool (${name}) refuses the access that it was given. Tell the user that the access to ${name} has to be granted again, and continue without this tool.`

/** Errors of the SDK for a malformed result; the connection still works. */
const malformed: ReadonlySet<string> = new Set([SdkErrorCode.InvalidResult, SdkErrorCode.UnsupportedResultType])

export const unreachable = (name: string): string =>
  `the server of this tool (${name}) cannot be reached. Continue without this tool.`

/** The prefix that older SDKs add to a server's message. */
const sdkPrefix = /^(?:MCP error -?\d+: )+/u
