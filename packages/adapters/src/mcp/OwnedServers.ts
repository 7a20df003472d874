/**
 * Servers at which each owner has an account: their tools are offered in the turns of an owner who has granted access, with the tokens of
 * that owner. The turn of any other owner has a single tool instead, which tells that access is missing.
 */
import {
  type HostedTool,
  HostedToolFailed,
  Principal,
  type StoreUnavailable,
  ToolDefinition,
  TurnParts
} from "@colloquy/core"
import type { HostedCall } from "@colloquy/core/adapters"
import {
  type AccessCallback,
  accessRequired,
  KeptAccess,
  type SealedSecretStore,
  type ServerAccess,
  ToolAccess,
  ToolAccessFailed,
  toolAccessPartName,
  ToolServerNotFound
} from "@colloquy/core/wings"
import { auth, type FetchLike } from "@modelcontextprotocol/client"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { boundedFetch } from "./Bounds.ts"
import {
  connect,
  type Connection,
  isUnauthorized,
  ownHeaders,
  type OwnerAuth,
  type ServerUnreachable
} from "./Connection.ts"
import {
  allScopes,
  authorizing,
  type Begun,
  readChallenge,
  type Grant,
  type Grants,
  makeGrants,
  type OpenGrant,
  openGrant
} from "./Grants.ts"
import type { OwnedServer } from "./McpServer.ts"
import { asSentence, type OfferedTool, toolName } from "./McpTools.ts"
import { hostedTool, listTools } from "./ServerTools.ts"
import { callTool, unauthorized, unreachable } from "./ToolCalls.ts"

/** The owner has not granted access, or the server no longer accepts the tokens. */
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

/** The time limit of the requests to the authorization server. */
const authorizeTimeout = "20 seconds"

/** How much time the owner has in the browser. */
const longestAuthorization = Duration.minutes(10)

interface Owned {
  readonly server: OwnedServer & { readonly auth: OwnerAuth }
  readonly connection: Connection
  readonly tools: ReadonlyArray<OfferedTool>
}

/** How the grants of owners are stored. */
export interface OwnedServerSettings {
  /** Encrypts stored tokens, and the states of authorizations. All processes of a service need the same secret. */
  readonly secret: Redacted.Redacted<string>
  /**
   * Earlier secrets, for tokens that are still encrypted under them. A token is encrypted under the present secret when it is refreshed.
   */
  readonly earlierSecrets?: ReadonlyArray<Redacted.Redacted<string>>
}

/** A server, and the grants of owners there. */
interface Held {
  readonly server: OwnedServer
  readonly grants: Grants
}

/** The servers of one kernel. Several layers form one part of its turns, and one `ToolAccess`. */
interface Shared {
  readonly held: Array<Held>
  readonly access: Effect.Effect<typeof ToolAccess.Service>
}
const kernels = new WeakMap<typeof TurnParts.Service, Shared>()

/** Offers the tools of servers with `oauth`, each owner's with the owner's tokens. */
export const layerForOwners = (
  servers: ReadonlyArray<OwnedServer>,
  { earlierSecrets = [], secret }: OwnedServerSettings
): Layer.Layer<ToolAccess, never, SealedSecretStore | TurnParts> =>
  Layer.effect(
    ToolAccess,
    Effect.gen(function* () {
      const parts = yield* TurnParts
      const grants = yield* makeGrants(secret, earlierSecrets)
      const scope = yield* Effect.scope
      const shared = yield* Effect.suspend(() => {
        const known = kernels.get(parts)
        if (known !== undefined) return Effect.succeed(known)
        const held: Array<Held> = []
        return Effect.map(Effect.cached(Scope.provide(makeAccess(held, parts), scope)), (access) => {
          const made = kernels.get(parts) ?? { held, access }
          kernels.set(parts, made)
          return made
        })
      })
      for (const server of servers) {
        if (shared.held.some((each) => each.server.name === server.name))
          return yield* Effect.die(new Error(`Two MCP servers have the name "${server.name}". Rename one.`))
        shared.held.push({ server, grants })
      }
      return yield* shared.access
    })
  )

const makeAccess = (held: ReadonlyArray<Held>, parts: typeof TurnParts.Service) =>
  Effect.gen(function* () {
    /** The grant of the principal, as the SDK works on it. */
    const open = Effect.fnUntraced(function* (
      { grants, server }: Held,
      found: Grant,
      { begun = null, state = "" }: { readonly begun?: Begun | null; readonly state?: string } = {}
    ) {
      const clock = yield* Clock.Clock
      const run = Effect.runPromiseWith(yield* Effect.context<Principal>())
      return openGrant(server, found, {
        state,
        begun,
        now: () => clock.currentTimeMillisUnsafe(),
        load: () => run(grants.find(server)),
        keep: (grant) => run(grants.put(server, grant))
      })
    })

    const connectFor = Effect.fnUntraced(function* (each: Held, key: string) {
      const { grants, server } = each
      const grant = yield* grants.find(server)
      if (grant.tokens === undefined) return yield* new AccessMissing()
      const own = { ...server, auth: authorizing(yield* open(each, grant)) }
      const forget = Effect.runForkWith(Context.empty())
      const connection = yield* connect(own, () => void forget(RcMap.invalidate(opened, key)))
      return { server: own, connection, tools: yield* listTools(own, connection) }
    })

    const opened: RcMap.RcMap<string, Owned, AccessMissing | ServerUnreachable | StoreUnavailable> = yield* RcMap.make({
      lookup: (
        key: string
      ): Effect.Effect<Owned, AccessMissing | ServerUnreachable | StoreUnavailable, Scope.Scope> => {
        const [owner, name] = decodeKey(key)
        const found = held.find(({ server }) => server.name === name)
        return found === undefined
          ? Effect.fail(new AccessMissing())
          : connectFor(found, key).pipe(Effect.mapError(withoutAccess), Principal.provide(owner))
      },
      idleTimeToLive: "5 minutes"
    })

    const ownKey = (name: string) => Principal.useSync(({ ownerId }) => encodeKey([ownerId, name]))
    const owned = (name: string) => Effect.flatMap(ownKey(name), (key) => RcMap.get(opened, key))

    /** Null: the server cannot be reached. */
    const planServer = ({ server: { name } }: Held) =>
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
          Effect.tapError((error) =>
            Effect.sync(() => {
              if (error._tag === "HostedToolFailed" && error.message === unauthorized(name)) tellMissing(name, from)
            })
          ),
          Effect.catchTags({
            AccessMissing: () => failMissing(name, from),
            ServerUnreachable: () => Effect.fail(new HostedToolFailed({ message: unreachable(name) })),
            StoreUnavailable: () => Effect.fail(new HostedToolFailed({ message: unreachable(name) }))
          })
        )

    /** A server may have several tools that models know by one name. The first one is offered. */
    const tools = (plan: Plan): ReadonlyArray<HostedTool> => {
      const all = plan.servers.flatMap(({ isGranted, name, tools: offered }) => {
        const server = held.find((each) => each.server.name === name)?.server
        if (server === undefined) return []
        if (!isGranted) return [accessTool(server)]
        return offered.map((tool) => hostedTool({ ...server, among: held.length }, tool, tool.upTo, call(name, tool)))
      })
      return [...new Map(all.toReversed().map((tool) => [tool.definition.name, tool])).values()].toReversed()
    }

    yield* parts.register<Plan>({
      name: toolAccessPartName,
      plan: Plan,
      concerns: () => held.length > 0,
      decide: () =>
        Effect.map(Effect.forEach(held, planServer, { concurrency: "unbounded" }), (planned) => ({
          plan: { servers: planned.filter((each) => each !== null) }
        })),
      session: (plan) => Effect.succeed({ instructions: null, tools: tools(plan) }),
      tools
    })

    const find = (name: string) => {
      const found = held.find(({ server }) => server.name === name)
      return found === undefined ? Effect.fail(new ToolServerNotFound({ server: name })) : Effect.succeed(found)
    }

    const authorize = ({ server }: Held, grant: OpenGrant, how: Partial<Parameters<typeof auth>[1]>) =>
      Effect.tryPromise({
        try: (signal) => auth(grant.provider, { serverUrl: server.url, fetchFn: fetchUntil(signal), ...how }),
        catch: (error) =>
          new ToolAccessFailed({
            reason: "server",
            message: `The authorization at ${server.name} failed: ${error instanceof Error ? asSentence(error.message) : "no reason is known"}`
          })
      }).pipe(
        Effect.timeoutOrElse({
          duration: authorizeTimeout,
          orElse: () =>
            Effect.fail(
              new ToolAccessFailed({ reason: "server", message: `The authorization at ${server.name} takes too long.` })
            )
        })
      )

    /** Sends a request that the server refuses. The refusal names the authorization server and the scopes. */
    const challenge = (server: OwnedServer) =>
      Effect.tryPromise(async (signal) => {
        const response = await fetchUntil(signal)(server.url, unauthorizedRequest(server))
        await response.body?.cancel()
        return readChallenge(response)
      }).pipe(
        Effect.timeout(connectTimeout),
        Effect.orElseSucceed((): ReturnType<typeof readChallenge> => ({}))
      )

    const begin = Effect.fnUntraced(function* (name: string, key?: string) {
      const each = yield* find(name)
      const { grants, server } = each
      const now = yield* Clock.currentTimeMillis
      const known = yield* grants.findBegun(server)
      if (known !== null && key !== undefined && known.key === key && known.until > now)
        return { url: known.url, expiresAt: new Date(known.until) }
      const { ownerId } = yield* Principal
      const state = yield* grants.writeState({ owner: ownerId, server: name })
      const found = yield* grants.find(server)
      const grant = yield* open(each, found, { state })
      const told = yield* challenge(server)
      const scope = allScopes(server.oauth.scope ?? told.scope, found.needed)
      yield* authorize(each, grant, { ...told, forceReauthorization: true, ...(scope === undefined ? {} : { scope }) })
      const begun = grant.begun()
      if (begun === null)
        return yield* new ToolAccessFailed({
          reason: "server",
          message: `${name} did not say where access is granted.`
        })
      const until = now + Duration.toMillis(longestAuthorization)
      yield* grants.putBegun(server, { ...begun, state, until, ...(key === undefined ? {} : { key }) })
      return { url: begun.url, expiresAt: new Date(until) }
    })

    /** Finds the host by the secret under which the state was sealed. */
    const readState = Effect.fnUntraced(function* (state: string) {
      for (const each of held) {
        const read = yield* each.grants.readState(state)
        if (read?.server === each.server.name) return { each, owner: read.owner }
      }
      return yield* stateRefused
    })

    const finishFor = Effect.fnUntraced(function* (each: Held, { code, error, iss, state }: AccessCallback) {
      const { grants, server } = each
      const begun = yield* grants.findBegun(server)
      if (begun?.state !== state || begun.until < (yield* Clock.currentTimeMillis)) return yield* stateRefused
      // The authorization ends here, also when the exchange fails.
      if (!(yield* grants.takeBegun(server))) return yield* stateRefused
      if (code === undefined) return yield* refusedThere(server.name, error)
      const grant = yield* open(each, yield* grants.find(server), { begun, state })
      yield* authorize(each, grant, { authorizationCode: code, ...(iss === undefined ? {} : { iss }) })
      yield* Effect.flatMap(ownKey(server.name), (key) => RcMap.invalidate(opened, key))
      return { server: server.name }
    })

    const access = ({ grants, server }: Held) =>
      Effect.map(grants.find(server), ({ tokens }): ServerAccess => ({
        server: server.name,
        isGranted: tokens !== undefined,
        expiresAt: tokens?.expires_at === undefined ? null : new Date(tokens.expires_at),
        isRenewed: tokens?.refresh_token !== undefined
      }))

    return ToolAccess.of({
      begin,
      finish: Effect.fnUntraced(function* (callback, asking) {
        const { each, owner } = yield* readState(callback.state)
        if (asking !== null && asking !== owner) return yield* stateRefused
        return yield* Principal.provide(owner)(finishFor(each, callback))
      }),
      list: Effect.suspend(() => Effect.forEach(held, access)),
      get: (name) => Effect.flatMap(find(name), access),
      forget: Effect.fnUntraced(function* (name) {
        const { grants, server } = yield* find(name)
        yield* Effect.flatMap(ownKey(name), (key) => RcMap.invalidate(opened, key))
        yield* grants.takeBegun(server)
        return yield* grants.remove(server)
      })
    })
  })

const fetchUntil =
  (signal: AbortSignal): FetchLike =>
  (url, init) =>
    boundedFetch(() => {})(url, { ...init, signal })

/** The first request of a client, without a token. */
const unauthorizedRequest = (server: OwnedServer): RequestInit => ({
  method: "POST",
  headers: [
    ...ownHeaders(server),
    ["content-type", "application/json"],
    ["accept", "application/json, text/event-stream"]
  ],
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
})

const stateRefused = new ToolAccessFailed({
  reason: "state",
  message: "This authorization was not begun by this owner, or not within the last ten minutes. Begin it again."
})

/** The text of an authorization server is not shown. Its error code is shown, because such codes are words of the protocol. */
const refusedThere = (server: string, error = "no code came back") =>
  new ToolAccessFailed({
    reason: "refused",
    message: `Access to ${server} was not granted${/^[a-z_ ]{1,60}$/u.test(error) ? ` (${error})` : ""}.`
  })

const Key = Schema.fromJsonString(Schema.Tuple([Schema.String, Schema.String]))
const encodeKey = Schema.encodeSync(Key)
const decodeKey = Schema.decodeSync(Key)

/** If the server refuses the stored tokens, the access counts as missing. */
const withoutAccess = (error: AccessMissing | ServerUnreachable | StoreUnavailable) =>
  error._tag === "ServerUnreachable" && isUnauthorized(error.cause) ? new AccessMissing() : error

const missing = (name: string): string =>
  `this user has not granted access to ${name}, or the access has ended. Tell the user to grant it, and continue without this tool.`

const readKept = Schema.decodeUnknownOption(KeptAccess)

/** Tells the readers of the stream and of the answer that a person has to grant access. */
const tellMissing = (server: string, { keep, kept, tell }: HostedCall): void => {
  const before = Option.match(readKept(kept()), {
    onNone: (): ReadonlyArray<string> => [],
    onSome: ({ required }) => required
  })
  if (!before.includes(server)) keep({ required: [...before, server] })
  tell({ type: accessRequired, data: { server } })
}

const failMissing = (server: string, from: HostedCall) =>
  Effect.suspend(() => {
    tellMissing(server, from)
    return Effect.fail(new HostedToolFailed({ message: missing(server) }))
  })

/** The tool that an owner without access gets instead of the server's tools. */
const accessTool = ({ name }: OwnedServer): HostedTool => ({
  definition: {
    name: toolName(name, "access"),
    description: `The tools of ${name} need access that this user has not granted yet. Tells what to do about it.`,
    parameters: { type: "object", properties: {} }
  },
  run: (_, from) => failMissing(name, from)
})
