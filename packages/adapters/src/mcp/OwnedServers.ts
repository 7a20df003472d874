/**
 * Servers at which each owner has an account: their tools are offered in the turns of an owner who has granted access, with the tokens of that
 * owner. Another owner's turn has one tool in their place, which tells that access is missing.
 */
import {
  type HostedTool,
  HostedToolFailed,
  Principal,
  type StoreUnavailable,
  ToolDefinition,
  TurnParts
} from "@colloquy/core"
import { auth, type AuthProvider } from "@modelcontextprotocol/client"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { boundedFetch } from "./Bounds.ts"
import { connect, type Connection, isUnauthorized, type ServerUnreachable } from "./Connection.ts"
import {
  authorizing,
  findGrant,
  type Grant,
  type OpenGrant,
  openGrant,
  putGrant,
  removeGrant,
  type SecretStore
} from "./Grants.ts"
import type { OwnedServer } from "./McpServer.ts"
import { asSentence, type OfferedTool, toolName } from "./McpTools.ts"
import { hostedTool, listTools } from "./ServerTools.ts"
import { callTool, unreachable } from "./ToolCalls.ts"

/** An authorization could not begin or end. The message says why, and never has a token or a code in it. */
export class McpAuthorizationFailed extends Schema.TaggedError<McpAuthorizationFailed>()("McpAuthorizationFailed", {
  message: Schema.String
}) {}

/** What an authorization server sends back to the host's address after an owner has agreed. */
export interface AuthorizationCallback {
  /** As the browser brought them to `redirectUrl`, without the encoding of the address. */
  readonly state: string
  readonly code: string
  readonly iss?: string | undefined
}

/** How owners grant access to servers. Each call is for the principal of the context. */
export class McpAuthorizations extends Context.Service<
  McpAuthorizations,
  {
    /** The address to which the owner's browser is sent. */
    readonly begin: (
      server: string
    ) => Effect.Effect<{ readonly url: string }, McpAuthorizationFailed | StoreUnavailable, Principal>
    /** What the browser brought back. Refused unless the same owner has begun it, within ten minutes; each once. */
    readonly finish: (
      callback: AuthorizationCallback
    ) => Effect.Effect<{ readonly server: string }, McpAuthorizationFailed | StoreUnavailable, Principal>
    /** The servers, and whether the owner has granted access. */
    readonly list: Effect.Effect<
      ReadonlyArray<{ readonly server: string; readonly isGranted: boolean }>,
      StoreUnavailable,
      Principal
    >
    /** Forgets the tokens. False: there were none. */
    readonly forget: (server: string) => Effect.Effect<boolean, McpAuthorizationFailed | StoreUnavailable, Principal>
  }
>()("@colloquy/adapters/mcp/McpAuthorizations") {}

/** The owner has granted nothing, or the server takes the tokens no more. */
class AccessMissing extends Schema.TaggedError<AccessMissing>()("AccessMissing", {}) {}

const PlannedTool = Schema.Struct({
  name: Schema.String,
  definition: Schema.Struct({ ...ToolDefinition.fields, parameters: Schema.JsonObject }),
  upTo: Schema.Int
})
const Plan = Schema.Struct({
  servers: Schema.Array(
    Schema.Struct({ name: Schema.String, isGranted: Schema.Boolean, tools: Schema.Array(PlannedTool) })
  )
})
type Plan = typeof Plan.Type

/** How long a turn waits for a server before its first word. A server that is later is left out of the turn. */
const connectTimeout = "5 seconds"

/** How long an authorization may take in the browser. */
const longestAuthorization = Duration.minutes(10)

interface Owned {
  readonly server: OwnedServer & { readonly auth: AuthProvider }
  readonly connection: Connection
  readonly tools: ReadonlyArray<OfferedTool>
}

/** Servers with `oauth`. Tokens are kept by `tokens`, for example the `ProviderKeyVault` of the Postgres store. */
export const layerForOwners = (
  servers: ReadonlyArray<OwnedServer>,
  { tokens: store }: { readonly tokens: SecretStore }
): Layer.Layer<McpAuthorizations, never, TurnParts> =>
  Layer.effect(
    McpAuthorizations,
    Effect.gen(function* () {
      const parts = yield* TurnParts

      /** The grant of the principal, as the SDK works on it. */
      const open = Effect.fnUntraced(function* (server: OwnedServer, found: Grant, state: string) {
        const now = yield* Clock.currentTimeMillis
        const run = Effect.runPromiseWith(yield* Effect.context<Principal>())
        return openGrant(server, found, {
          state,
          until: now + Duration.toMillis(longestAuthorization),
          load: () => run(findGrant(store, server)),
          keep: (grant) => run(putGrant(store, server, grant))
        })
      })

      const connectFor = Effect.fnUntraced(function* (server: OwnedServer, key: string) {
        const grant = yield* findGrant(store, server)
        if (grant.tokens === undefined) return yield* new AccessMissing()
        const own = { ...server, auth: authorizing(yield* open(server, grant, "")) }
        const forget = Effect.runForkWith(Context.empty())
        const connection = yield* connect(own, () => void forget(RcMap.invalidate(opened, key)))
        return { server: own, connection, tools: yield* listTools(own, connection) }
      })

      const opened: RcMap.RcMap<string, Owned, AccessMissing | ServerUnreachable | StoreUnavailable> =
        yield* RcMap.make({
          lookup: (
            key: string
          ): Effect.Effect<Owned, AccessMissing | ServerUnreachable | StoreUnavailable, Scope.Scope> => {
            const [owner, name] = decodeKey(key)
            const server = servers.find((each) => each.name === name)
            return server === undefined
              ? Effect.fail(new AccessMissing())
              : connectFor(server, key).pipe(Effect.mapError(withoutAccess), Principal.provide(owner))
          },
          idleTimeToLive: "5 minutes"
        })

      const ownKey = (name: string) => Principal.useSync(({ ownerId }) => encodeKey([ownerId, name]))
      const owned = (name: string) => Effect.flatMap(ownKey(name), (key) => RcMap.get(opened, key))

      /** Null: the server is away. */
      const planServer = ({ name }: OwnedServer) =>
        Effect.map(owned(name), ({ tools }) => ({ name, isGranted: true, tools })).pipe(
          Effect.scoped,
          Effect.timeoutOrElse({ duration: connectTimeout, orElse: () => Effect.succeed(null) }),
          Effect.catchTags({
            AccessMissing: () => Effect.succeed({ name, isGranted: false, tools: [] }),
            ServerUnreachable: ({ cause }) =>
              Effect.as(
                Effect.logWarning(
                  `The MCP server ${name} cannot be reached: ${cause instanceof Error ? asSentence(cause.message) : "no reason is known"}`
                ),
                null
              )
          })
        )

      const call =
        (name: string, tool: OfferedTool): HostedTool["run"] =>
        (args, from) =>
          Effect.flatMap(owned(name), ({ connection, server }) => callTool(server, connection, tool, args, from)).pipe(
            Effect.scoped,
            Effect.catchTags({
              AccessMissing: () => Effect.fail(new HostedToolFailed({ message: missing(name) })),
              ServerUnreachable: () => Effect.fail(new HostedToolFailed({ message: unreachable(name) })),
              StoreUnavailable: () => Effect.fail(new HostedToolFailed({ message: unreachable(name) }))
            })
          )

      const tools = (plan: Plan): ReadonlyArray<HostedTool> =>
        plan.servers.flatMap(({ isGranted, name, tools: offered }) => {
          const server = servers.find((each) => each.name === name)
          if (server === undefined) return []
          if (!isGranted) return [accessTool(server)]
          return offered.map((tool) =>
            hostedTool({ ...server, among: servers.length }, tool, tool.upTo, call(name, tool))
          )
        })

      yield* parts.register<Plan>({
        name: "mcp",
        plan: Plan,
        concerns: () => servers.length > 0,
        decide: () =>
          Effect.map(Effect.forEach(servers, planServer, { concurrency: "unbounded" }), (planned) => ({
            plan: { servers: planned.filter((each) => each !== null) }
          })),
        session: (plan) => Effect.succeed({ instructions: null, tools: tools(plan) }),
        tools
      })

      const find = (name: string) => {
        const server = servers.find((each) => each.name === name)
        return server === undefined
          ? Effect.fail(
              new McpAuthorizationFailed({ message: `There is no server ${name} to which access can be granted.` })
            )
          : Effect.succeed(server)
      }

      const authorize = (
        server: OwnedServer,
        grant: OpenGrant,
        callback: Omit<AuthorizationCallback, "state"> | null
      ) =>
        Effect.tryPromise({
          try: () =>
            auth(grant.provider, {
              serverUrl: server.url,
              fetchFn: boundedFetch(() => {}),
              ...(callback === null
                ? { forceReauthorization: true }
                : { authorizationCode: callback.code, ...(callback.iss === undefined ? {} : { iss: callback.iss }) })
            }),
          catch: (error) =>
            new McpAuthorizationFailed({
              message: `The authorization at ${server.name} failed: ${error instanceof Error ? asSentence(error.message) : "no reason is known"}`
            })
        })

      return McpAuthorizations.of({
        begin: Effect.fnUntraced(function* (name) {
          const server = yield* find(name)
          const state = `${yield* randomText}.${name}`
          const grant = yield* open(server, yield* findGrant(store, server), state)
          yield* authorize(server, grant, null)
          const address = grant.address()
          if (address === null)
            return yield* new McpAuthorizationFailed({ message: `${name} did not say where access is granted.` })
          yield* putGrant(store, server, grant.now())
          return { url: address.href }
        }),

        finish: Effect.fnUntraced(function* ({ state, ...callback }) {
          const refused = new McpAuthorizationFailed({
            message:
              "This authorization was not begun by this owner, or not within the last ten minutes. Begin it again."
          })
          const server = servers.find(({ name }) => name === state.slice(state.indexOf(".") + 1))
          if (server === undefined) return yield* refused
          const { begun, ...grant } = yield* findGrant(store, server)
          if (begun?.state !== state || begun.until < (yield* Clock.currentTimeMillis)) return yield* refused
          // What was begun ends once, also when the exchange fails.
          yield* putGrant(store, server, grant)
          yield* authorize(server, yield* open(server, { ...grant, begun }, state), callback)
          yield* Effect.flatMap(ownKey(server.name), (key) => RcMap.invalidate(opened, key))
          return { server: server.name }
        }),

        list: Effect.forEach(servers, (server) =>
          Effect.map(findGrant(store, server), ({ tokens }) => ({
            server: server.name,
            isGranted: tokens !== undefined
          }))
        ),

        forget: Effect.fnUntraced(function* (name) {
          const server = yield* find(name)
          yield* Effect.flatMap(ownKey(name), (key) => RcMap.invalidate(opened, key))
          return yield* removeGrant(store, server)
        })
      })
    })
  )

const Key = Schema.fromJsonString(Schema.Tuple([Schema.String, Schema.String]))
const encodeKey = Schema.encodeSync(Key)
const decodeKey = Schema.decodeSync(Key)

/** A server that takes the tokens no more is one without access. */
const withoutAccess = (error: AccessMissing | ServerUnreachable | StoreUnavailable) =>
  error._tag === "ServerUnreachable" && isUnauthorized(error.cause) ? new AccessMissing() : error

const randomText = Effect.sync(() => {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(32))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
})

const missing = (name: string): string =>
  `this user has not granted access to ${name}, or the access has ended. Tell the user to grant it, and continue without this tool.`

/** Stands in the place of the tools that the owner would have. */
const accessTool = ({ name }: OwnedServer): HostedTool => ({
  definition: {
    name: toolName(name, "access"),
    description: `The tools of ${name} need access that this user has not granted yet. Tells what to do about it.`,
    parameters: { type: "object", properties: {} }
  },
  run: () => Effect.fail(new HostedToolFailed({ message: missing(name) }))
})
