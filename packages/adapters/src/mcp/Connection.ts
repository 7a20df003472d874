/**
 * One connection to a server by the official client, within the bounds. It speaks the stateless revision 2026-07-28 where the server offers
 * it, and otherwise those up to 2025-11-25, which begin with `initialize`.
 */
import {
  Client,
  type AuthProvider,
  InsufficientScopeError,
  SdkHttpError,
  UnauthorizedError,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type Transport
} from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { boundedFetch, countMessages, isTooLarge, type Misbehaved, mostBytes, tooLarge } from "./Bounds.ts"
import { type Asked, type CallState, readQuestion } from "./Elicitation.ts"
import type { AddressOptions, McpServer, ProgramOptions } from "./McpServer.ts"

export class ServerUnreachable extends Schema.TaggedError<ServerUnreachable>()("ServerUnreachable", {
  cause: Schema.Unknown
}) {}

/** The tokens of an owner. */
export interface OwnerAuth extends AuthProvider {
  /** Called when the tokens do not allow enough: the next authorization asks for this scope too. */
  readonly needs: (scope: string) => Promise<void>
}

/** A server, with the tokens of one owner if owners have accounts there. */
export type ConnectedServer = McpServer & { readonly auth?: OwnerAuth }

export interface Connection {
  readonly client: Client
  /** How the server exceeded the bounds, for which its connection was closed. Null: it did not. */
  problem: string | null
  /** How many questions of an older server were refused, because it is unknown to which of many calls they belong. */
  refused: number
  /** The questions of the only call. Null: many calls share the connection. */
  readonly questions: HeardQuestions | null
}

/** Answers to questions of an older server, on a connection for one call. */
interface KnownAnswers {
  /** The answers to the first questions, in their order. */
  readonly responses: CallState["responses"]
}

interface HeardQuestions extends KnownAnswers {
  /** The first question that has no answer yet. */
  asked: Asked | null
  /** Aborted when there is such a question: the call cannot go on. */
  readonly ended: AbortSignal
}

export type Change = "changed" | "closed"

interface ServerTransport {
  readonly transport: Transport
  /** Kills a program at once, because a program that is asked to end may write for seconds. */
  readonly kill: () => void
}

/**
 * In milliseconds. A server that does not answer the first request of the newest revision in this time counts as one of an older revision. A
 * program has to be started first, and often fetched. The time leaves enough of the usual `startTimeout` to ask it as an older one.
 */
const probeTimeouts = { address: 3000, program: 8000 }

export const connect = (
  server: ConnectedServer,
  onChange: (change: Change) => void,
  answers: KnownAnswers | null = null
): Effect.Effect<Connection, ServerUnreachable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: (signal) =>
        open(server, { onChange, answers, signal, isOlder: false }).catch((error: unknown) => {
          if (endsAtProbe(error) && !signal.aborted) return open(server, { onChange, answers, signal, isOlder: true })
          throw error
        }),
      catch: (cause) => new ServerUnreachable({ cause })
    }),
    ({ client }) => Effect.ignore(Effect.promise(() => client.close())),
    { interruptible: true }
  )

/** Some older programs end when any request comes before `initialize`. They are started again. */
const endsAtProbe = (error: unknown): boolean =>
  error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed && error.message.includes("closed")

interface Opening {
  readonly onChange: (change: Change) => void
  readonly answers: KnownAnswers | null
  readonly signal: AbortSignal
  readonly isOlder: boolean
}

/** Whether the server wants other credentials, or some at all. */
export const isUnauthorized = (cause: unknown): boolean =>
  cause instanceof UnauthorizedError ||
  cause instanceof InsufficientScopeError ||
  (cause instanceof SdkHttpError && cause.data.status === 401)

const open = async (server: ConnectedServer, { answers, isOlder, onChange, signal }: Opening): Promise<Connection> => {
  const listChanged = { autoRefresh: false, debounceMs: 0, onChanged: () => onChange("changed") }
  const timeoutMs = "command" in server ? probeTimeouts.program : probeTimeouts.address
  const client = new Client(
    { name: "colloquy", version: "1.0.0" },
    {
      versionNegotiation: { mode: isOlder ? "legacy" : "auto", probe: { timeoutMs } },
      capabilities: { elicitation: { form: {} } },
      inputRequired: { autoFulfill: false },
      listChanged: { tools: listChanged }
    }
  )
  const ended = new AbortController()
  const questions: HeardQuestions | null = answers === null ? null : { ...answers, asked: null, ended: ended.signal }
  const connection: Connection = { client, problem: null, refused: 0, questions }
  let heard = 0
  client.setRequestHandler("elicitation/create", (request) => {
    const key = String(heard)
    heard += 1
    const known = questions?.responses[key]
    if (known !== undefined) return known
    connection.refused += 1
    if (questions !== null) {
      questions.asked ??= readQuestion(key, request)
      ended.abort("a person is asked first")
    }
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      "A person is asked, and the call is made again with the answer."
    )
  })
  const misbehaved: Misbehaved = (problem) => {
    if (connection.problem !== null) return
    connection.problem = problem
    kill()
    client.close().catch(() => {})
  }
  const { kill, transport } = "command" in server ? program(server) : address(server, misbehaved)
  countMessages(transport, misbehaved)
  // The client replaces this listener, and calls it from its own.
  // eslint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to listen
  transport.onerror = (error) => {
    if (isTooLarge(error)) misbehaved(tooLarge)
  }
  let isOpen = false
  // eslint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way to listen
  client.onclose = () => {
    if (isOpen) onChange("closed")
  }
  // The SDK does not look at the signal while it finds out the revision of the server.
  signal.addEventListener("abort", () => void transport.close().catch(() => {}), { once: true })
  try {
    await client.connect(transport, { signal })
  } catch (error) {
    await transport.close().catch(() => {})
    throw error
  }
  isOpen = true
  return connection
}

/** A subclass, because the SDK starts a program of its own class twice: once only to find its revision. */
class Program extends StdioClientTransport {}

const program = ({ args = [], command, cwd, env }: ProgramOptions): ServerTransport => {
  const transport = new Program({
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

/** The headers that the host has set. */
export const ownHeaders = ({ headers = {} }: AddressOptions): Array<[string, string]> =>
  Object.entries(headers).map(([name, value]) => [name, Redacted.isRedacted(value) ? Redacted.value(value) : value])

const address = (server: AddressOptions & { readonly auth?: OwnerAuth }, misbehaved: Misbehaved): ServerTransport => {
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: ownHeaders(server) },
    ...(server.auth === undefined ? {} : { authProvider: server.auth }),
    fetch: boundedFetch(misbehaved)
  })
  return { transport, kill: () => {} }
}
