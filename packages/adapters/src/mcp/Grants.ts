/**
 * What an owner has granted at a server: the tokens, the registration of this client there, and an authorization that has begun. It is kept
 * as one secret of the owner, encrypted by the store.
 */
import type { Principal, StoreUnavailable } from "@colloquy/core"
import {
  auth,
  type AuthProvider,
  type AuthResult,
  type OAuthClientProvider,
  UnauthorizedError
} from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { OwnedServer } from "./McpServer.ts"

/** Port: secrets of owners by name. `ProviderKeyVault` of the Postgres store is one, which keeps them encrypted. */
export interface SecretStore {
  /** The principal's own secret, or null; never that of another owner. */
  readonly find: (name: string) => Effect.Effect<Redacted.Redacted<string> | null, StoreUnavailable, Principal>
  /** Replaces an earlier one. It is for the store to encrypt it. */
  readonly put: (name: string, secret: Redacted.Redacted<string>) => Effect.Effect<void, StoreUnavailable, Principal>
  /** False: there was none. */
  readonly remove: (name: string) => Effect.Effect<boolean, StoreUnavailable, Principal>
}

const text = Schema.optionalKey(Schema.String)
const Tokens = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.String,
  refresh_token: text,
  scope: text,
  id_token: text,
  expires_in: Schema.optionalKey(Schema.Finite),
  issuer: text
})
const Client = Schema.Struct({
  client_id: Schema.String,
  client_secret: text,
  issuer: text
})

const Grant = Schema.Struct({
  tokens: Schema.optionalKey(Tokens),
  client: Schema.optionalKey(Client),
  /** An authorization that has begun: what comes back from the browser must have this state, within this time. */
  begun: Schema.optionalKey(
    Schema.Struct({
      state: Schema.String,
      verifier: Schema.String,
      until: Schema.Finite,
      /** Where it has begun: the code is given to no other server. */
      issuer: text,
      resourceMetadataUrl: text
    })
  )
})
export type Grant = typeof Grant.Type

const GrantText = Schema.fromJsonString(Grant)
const decodeGrant = Schema.decodeUnknownOption(GrantText)
const encodeGrant = Schema.encodeSync(GrantText)
const readTokens = Schema.decodeUnknownSync(Tokens)
const readClient = Schema.decodeUnknownSync(Client)

/** Keys of providers have no colon in their names. */
const secretName = ({ name }: OwnedServer): string => `mcp:${name}`

export const findGrant = (store: SecretStore, server: OwnedServer): Effect.Effect<Grant, StoreUnavailable, Principal> =>
  Effect.map(store.find(secretName(server)), (secret) =>
    secret === null ? {} : Option.getOrElse(decodeGrant(Redacted.value(secret)), () => ({}))
  )

export const putGrant = (store: SecretStore, server: OwnedServer, grant: Grant) =>
  store.put(secretName(server), Redacted.make(encodeGrant(grant)))

export const removeGrant = (store: SecretStore, server: OwnedServer) => store.remove(secretName(server))

/** A grant under work by the SDK. */
export interface OpenGrant {
  readonly provider: OAuthClientProvider
  readonly now: () => Grant
  /** Where the owner has to go in a browser; null: nowhere. */
  readonly address: () => URL | null
}

interface Keeping {
  readonly state: string
  readonly until: number
  /** The grant as it is stored now: another process may have refreshed the tokens. */
  readonly load: () => Promise<Grant>
  readonly keep: (grant: Grant) => Promise<void>
}

export const openGrant = ({ oauth }: OwnedServer, found: Grant, { keep, load, state, until }: Keeping): OpenGrant => {
  let grant = found
  let address: URL | null = null
  let place: { issuer?: string; resourceMetadataUrl?: string } = {}
  const change = (next: Grant): Promise<void> => {
    grant = next
    return keep(next)
  }
  const clientMetadata = {
    client_name: oauth.clientName ?? "Colloquy",
    redirect_uris: [oauth.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    ...(oauth.scope === undefined ? {} : { scope: oauth.scope })
  }
  const provider: OAuthClientProvider = {
    redirectUrl: oauth.redirectUrl,
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
    saveTokens: (tokens) => {
      const { begun: _, ...rest } = grant
      return change({ ...rest, tokens: readTokens(tokens) })
    },
    redirectToAuthorization: (url) => {
      address = url
    },
    saveCodeVerifier: (verifier) => {
      grant = { ...grant, begun: { state, verifier, until, ...place } }
    },
    saveDiscoveryState: ({ authorizationServerMetadata, authorizationServerUrl, resourceMetadataUrl }) => {
      const issuer = authorizationServerMetadata?.issuer ?? authorizationServerUrl
      place = { issuer, ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }) }
    },
    discoveryState: () => {
      const { issuer, resourceMetadataUrl } = grant.begun ?? {}
      if (issuer === undefined) return undefined
      return { authorizationServerUrl: issuer, ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }) }
    },
    codeVerifier: () => grant.begun?.verifier ?? "",
    invalidateCredentials: async (scope) => {
      const stored = await load()
      // Another process was faster, and has new tokens.
      if (stored.tokens?.access_token !== grant.tokens?.access_token) return void (grant = { ...grant, ...stored })
      const { begun, client, tokens } = grant
      // A wrong code says nothing about the tokens that the owner has.
      const keepsTokens = begun !== undefined || (scope !== "all" && scope !== "tokens")
      const keepsClient = scope !== "all" && scope !== "client"
      await change({
        ...(keepsClient && client !== undefined ? { client } : {}),
        ...(keepsTokens && tokens !== undefined ? { tokens } : {})
      })
    }
  }
  return { provider, now: () => grant, address: () => address }
}

/** The tokens for requests. Requests that are refused at the same time refresh them once. */
export const authorizing = ({ provider }: OpenGrant): AuthProvider => {
  let refreshing: Promise<AuthResult> | null = null
  return {
    token: async () => (await provider.tokens())?.access_token,
    onUnauthorized: async ({ fetchFn, serverUrl }) => {
      refreshing ??= auth(provider, { serverUrl, fetchFn }).finally(() => {
        refreshing = null
      })
      if ((await refreshing) !== "AUTHORIZED") throw new UnauthorizedError("The access has ended.")
    }
  }
}
