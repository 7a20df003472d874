/**
 * The grant of an owner at a server (the tokens, and the registration of this client there), and an authorization that has begun. Both are
 * secrets of the owner, and are encrypted here before they are stored.
 */
import { Principal, type StoreUnavailable } from "@colloquy/core"
import { SealedSecretStore } from "@colloquy/core/wings"
import {
  auth,
  type AuthResult,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  UnauthorizedError
} from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { makeSeal } from "../postgres/SealedText.ts"
import type { OwnerAuth } from "./Connection.ts"
import type { OwnedServer } from "./McpServer.ts"

const text = Schema.optionalKey(Schema.String)
const Tokens = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.String,
  refresh_token: text,
  scope: text,
  id_token: text,
  expires_in: Schema.optionalKey(Schema.Finite),
  issuer: text,
  /** Milliseconds since 1970. */
  expires_at: Schema.optionalKey(Schema.Finite)
})
const Client = Schema.Struct({
  client_id: Schema.String,
  client_secret: text,
  issuer: text
})

const Grant = Schema.Struct({
  tokens: Schema.optionalKey(Tokens),
  client: Schema.optionalKey(Client),
  /** The scopes that a call needed and the tokens did not have. */
  needed: text
})
export type Grant = typeof Grant.Type

/** An authorization that has begun. The browser must come back with this `state`, and before `until`. */
const Begun = Schema.Struct({
  state: Schema.String,
  verifier: Schema.String,
  until: Schema.Finite,
  url: Schema.String,
  /** The idempotency key of the request that has begun it. A repeated request gets the same address. */
  key: text,
  /** The authorization server at which it has begun. The code is sent to no other server. */
  issuer: text,
  resourceMetadataUrl: text
})
export type Begun = typeof Begun.Type

const readTokens = Schema.decodeUnknownSync(Tokens)
const readClient = Schema.decodeUnknownSync(Client)

type Kept<A> = Effect.Effect<A, StoreUnavailable, Principal>

/** The grants of one host. */
export interface Grants {
  readonly find: (server: OwnedServer) => Kept<Grant>
  readonly put: (server: OwnedServer, grant: Grant) => Kept<void>
  readonly remove: (server: OwnedServer) => Kept<boolean>
  readonly findBegun: (server: OwnedServer) => Kept<Begun | null>
  readonly putBegun: (server: OwnedServer, begun: Begun) => Kept<void>
  /** Returns true only for the first call. */
  readonly takeBegun: (server: OwnedServer) => Kept<boolean>
  /** Makes a text that only this host can write and read, and that nobody can guess. */
  readonly writeState: (begins: StateOwner) => Effect.Effect<string>
  readonly readState: (state: string) => Effect.Effect<StateOwner | null>
}

export interface StateOwner {
  readonly owner: string
  readonly server: string
}

const State = Schema.fromJsonString(Schema.Struct({ owner: Schema.String, server: Schema.String, at: Schema.String }))
const encodeState = Schema.encodeSync(State)
const decodeState = Schema.decodeUnknownOption(State)

/** The largest length of a state, which contains the owner's name. A longer text is not read. */
const longestState = 4096

/** The colon tells these names from those of providers' keys, which have none. */
const grantName = ({ name }: OwnedServer): string => `mcp:${name}`
const begunName = ({ name }: OwnedServer): string => `mcp-begun:${name}`

export const makeGrants = Effect.fnUntraced(function* (
  secret: Redacted.Redacted<string>,
  earlierSecrets: ReadonlyArray<Redacted.Redacted<string>>
) {
  const store = yield* SealedSecretStore
  const seal = yield* makeSeal(secret, earlierSecrets)
  /** Null: it was sealed under another secret, or for another owner. */
  const opened = (sealed: Uint8Array, context: string) =>
    seal.open(sealed, context).pipe(
      Effect.map(({ text: found }) => Redacted.value(found)),
      Effect.catchDefect(() => Effect.succeed(null))
    )
  const sealingContext = (name: string) => Principal.useSync(({ ownerId }) => JSON.stringify([ownerId, name]))

  const makeKept = <A>(schema: Schema.Codec<A, Schema.Json>) => {
    const inText = Schema.fromJsonString(schema)
    const decode = Schema.decodeUnknownOption(inText)
    const encode = Schema.encodeSync(inText)
    return {
      find: Effect.fnUntraced(function* (name: string) {
        const sealed = yield* store.find(name)
        return sealed === null ? null : Option.getOrNull(decode(yield* opened(sealed, yield* sealingContext(name))))
      }),
      put: Effect.fnUntraced(function* (name: string, value: A) {
        yield* store.put(name, yield* seal.seal(Redacted.make(encode(value)), yield* sealingContext(name)))
      })
    }
  }
  const grants = makeKept(Grant)
  const begun = makeKept(Begun)

  const made: Grants = {
    find: (server) => Effect.map(grants.find(grantName(server)), (found) => found ?? {}),
    put: (server, grant) => grants.put(grantName(server), grant),
    remove: (server) => store.remove(grantName(server)),
    findBegun: (server) => begun.find(begunName(server)),
    putBegun: (server, each) => begun.put(begunName(server), each),
    takeBegun: (server) => store.remove(begunName(server)),
    writeState: (begins) =>
      Effect.map(
        seal.seal(Redacted.make(encodeState({ ...begins, at: globalThis.crypto.randomUUID() })), "state"),
        (sealed) => Buffer.from(sealed).toString("base64url")
      ),
    readState: (state) =>
      state.length > longestState
        ? Effect.succeed(null)
        : Effect.map(opened(Buffer.from(state, "base64url"), "state"), (found) => Option.getOrNull(decodeState(found)))
  }
  return made
})

/** A grant while the SDK works on it. */
export interface OpenGrant {
  readonly provider: OAuthClientProvider
  /** Lets the next authorization ask for this scope too. */
  readonly needs: (scope: string) => Promise<void>
  /**
   * The address that the owner has to open in a browser, with the data that are stored until the owner comes back. Null: there is nothing
   * to open.
   */
  readonly begun: () => Omit<Begun, "state" | "until"> | null
}

interface Keeping {
  /** The state of an authorization that begins or ends. */
  readonly state: string
  readonly begun: Begun | null
  readonly now: () => number
  /** The grant as it is stored now: another process may have refreshed the tokens. */
  readonly load: () => Promise<Grant>
  readonly keep: (grant: Grant) => Promise<void>
}

export const openGrant = (
  { oauth }: OwnedServer,
  found: Grant,
  { begun, keep, load, now, state }: Keeping
): OpenGrant => {
  let grant = found
  let url: string | null = null
  let verifier = begun?.verifier ?? ""
  let discovered: Pick<Begun, "issuer" | "resourceMetadataUrl"> = {}
  const change = (next: Grant): Promise<void> => {
    grant = next
    return keep(next)
  }
  const redirectUrl = typeof oauth.redirectUrl === "function" ? oauth.redirectUrl() : oauth.redirectUrl
  const clientMetadata = {
    client_name: oauth.clientName ?? "Colloquy",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    ...(oauth.scope === undefined ? {} : { scope: oauth.scope })
  }
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata,
    state: () => state,
    clientInformation: () => {
      const { client } = oauth
      if (client === undefined) return grant.client
      const secret = client.secret === undefined ? {} : { client_secret: Redacted.value(client.secret) }
      return { client_id: client.id, ...secret }
    },
    saveClientInformation: (client) => change({ ...grant, client: readClient(client) }),
    tokens: async () => {
      const { tokens } = await load()
      if (tokens === undefined) return undefined
      grant = { ...grant, tokens }
      return tokens
    },
    saveTokens: (given) => {
      const tokens = readTokens(given)
      const { expires_in: seconds } = tokens
      const end = seconds === undefined ? {} : { expires_at: now() + seconds * 1000 }
      return change({ ...grant, tokens: { ...tokens, ...end } })
    },
    redirectToAuthorization: ({ href }) => {
      url = href
    },
    saveCodeVerifier: (made) => {
      verifier = made
    },
    saveDiscoveryState: ({ authorizationServerMetadata, authorizationServerUrl, resourceMetadataUrl }) => {
      const issuer = authorizationServerMetadata?.issuer ?? authorizationServerUrl
      discovered = { issuer, ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }) }
    },
    discoveryState: () => {
      const { issuer, resourceMetadataUrl } = begun ?? {}
      if (issuer === undefined) return undefined
      return { authorizationServerUrl: issuer, ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }) }
    },
    codeVerifier: () => verifier,
    invalidateCredentials: async (scope) => {
      const stored = await load()
      // Another process was faster, and has new tokens.
      if (stored.tokens?.access_token !== grant.tokens?.access_token) return void (grant = { ...grant, ...stored })
      const { client, needed, tokens } = grant
      // A wrong code says nothing about the tokens that the owner has.
      const keepsTokens = begun !== null || (scope !== "all" && scope !== "tokens")
      const keepsClient = scope !== "all" && scope !== "client"
      await change({
        ...(keepsClient && client !== undefined ? { client } : {}),
        ...(keepsTokens && tokens !== undefined ? { tokens } : {}),
        ...(needed === undefined ? {} : { needed })
      })
    }
  }
  return {
    provider,
    needs: (scope) => change({ ...grant, needed: allScopes(grant.needed, scope) ?? scope }),
    begun: () => (url === null ? null : { url, verifier, ...discovered })
  }
}

/** Each of these scopes once; undefined: none is known. */
export const allScopes = (...scopes: ReadonlyArray<string | undefined>): string | undefined => {
  const names = new Set(scopes.flatMap((scope = "") => scope.split(" ").filter((name) => name !== "")))
  return names.size === 0 ? undefined : [...names].join(" ")
}

/** What a server says about its authorization when it refuses a request. */
export const readChallenge = (response: Response) => {
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
  return {
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    ...(scope === undefined ? {} : { scope })
  }
}

/** The tokens for requests. When several requests are refused at the same time, the tokens are refreshed once. */
export const authorizing = ({ needs, provider }: OpenGrant): OwnerAuth => {
  let refreshing: Promise<AuthResult> | null = null
  return {
    needs,
    token: async () => (await provider.tokens())?.access_token,
    onUnauthorized: async ({ fetchFn, response, serverUrl }) => {
      refreshing ??= auth(provider, { serverUrl, fetchFn, ...readChallenge(response) }).finally(() => {
        refreshing = null
      })
      if ((await refreshing) !== "AUTHORIZED") throw new UnauthorizedError("The access has ended.")
    }
  }
}
