/**
 * `MCP_SERVERS`: the servers whose tools are offered to models, in the form of other MCP clients' configuration (`{"files": {"command":
 * "npx", "args": […]}}`), as JSON or as the path of a file. Loaded only if it is set.
 */
import type { Mcp } from "@colloquy/adapters/mcp"
import type { HostedTools, TurnParts } from "@colloquy/core"
import type { SealedSecretStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { isAddress } from "./Addresses.ts"
import { readJsonOrFile } from "./JsonOrFile.ts"

export const mcpForm =
  'a JSON object such as {"files": {"command": "npx", "args": ["…"]}, "search": {"url": "https://…"}}, or a file with one'

const isName = (name: string): boolean => /^[A-Za-z0-9_-]{1,32}$/u.test(name)
const Texts = Schema.Record(Schema.String, Schema.String)
const common = {
  /** Names of the offered tools; absent: all. */
  tools: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Names of the tools whose calls wait for an approval; true: all. */
  approval: Schema.optionalKey(Schema.Union([Schema.Literal(true), Schema.Array(Schema.String)])),
  timeout_seconds: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum: 3600 })))
}
const Program = Schema.Struct({
  ...common,
  command: Schema.NonEmptyString,
  args: Schema.optionalKey(Schema.Array(Schema.String)),
  env: Schema.optionalKey(Texts),
  cwd: Schema.optionalKey(Schema.String)
})
const httpAddress = Schema.String.check(Schema.makeFilter(isAddress(/^https?:\/\/[^\s/]\S*$/u)))
const Address = Schema.Struct({
  ...common,
  url: httpAddress,
  headers: Schema.optionalKey(Texts),
  /** Each owner has an account there. */
  oauth: Schema.optionalKey(
    Schema.Union([
      Schema.Literal(true),
      Schema.Struct({
        client_id: Schema.optionalKey(Schema.NonEmptyString),
        client_secret: Schema.optionalKey(Schema.NonEmptyString),
        scope: Schema.optionalKey(Schema.NonEmptyString),
        client_name: Schema.optionalKey(Schema.NonEmptyString),
        redirect_url: Schema.optionalKey(httpAddress)
      })
    ])
  )
})
const Servers = Schema.Record(Schema.String, Schema.Union([Program, Address]))
const decode = Schema.decodeUnknownOption(Servers)

/** A file may have them under `mcpServers`, as other clients do. */
const parsed = (text: string): unknown => {
  const json = readJsonOrFile(text)
  return typeof json === "object" && json !== null && "mcpServers" in json ? json.mcpServers : json
}

/** A server as its setting names it. The address to which an owner's browser returns is known only when the server listens. */
export type NamedServer = Mcp.McpServer & { readonly oauth?: (callback: () => string) => Mcp.OwnedServer["oauth"] }

/** None: the value is invalid. The reason is not printed, because the value may contain keys. */
export const readMcpServers = (text: string): Option.Option<ReadonlyArray<NamedServer>> => {
  try {
    const servers = Option.filter(decode(parsed(text)), (all) => Object.keys(all).every(isName))
    return Option.map(servers, (all) => Object.entries(all).map(([name, each]) => readServer(name, each)))
  } catch {
    return Option.none()
  }
}

const readServer = (name: string, server: (typeof Servers.Type)[string]): NamedServer => {
  const { approval, timeout_seconds: seconds, tools, ...transport } = server
  const own = {
    name,
    ...(approval === undefined ? {} : { approval }),
    ...(tools === undefined ? {} : { tools: (tool: string) => tools.includes(tool) }),
    ...(seconds === undefined ? {} : { timeout: `${seconds} seconds` as const })
  }
  if ("command" in transport) return { ...own, ...transport }
  const { headers = {}, oauth, url } = transport
  const secret = Object.entries(headers).map(([header, value]) => [header, Redacted.make(value)] as const)
  const found = { ...own, url, headers: Object.fromEntries(secret) }
  return oauth === undefined
    ? found
    : { ...found, oauth: (callback) => readOAuth(oauth === true ? {} : oauth, callback) }
}

const readOAuth = (
  given: Exclude<NonNullable<(typeof Address.Type)["oauth"]>, true>,
  callback: () => string
): Mcp.OwnedServer["oauth"] => ({
  redirectUrl: given.redirect_url ?? callback,
  ...(given.scope === undefined ? {} : { scope: given.scope }),
  ...(given.client_name === undefined ? {} : { clientName: given.client_name }),
  ...(given.client_id === undefined
    ? {}
    : {
        client: {
          id: given.client_id,
          ...(given.client_secret === undefined ? {} : { secret: Redacted.make(given.client_secret) })
        }
      })
})

export interface AccountSettings {
  /** Encrypts the tokens of owners. */
  readonly secret: Redacted.Redacted<string>
  readonly earlierSecrets: ReadonlyArray<Redacted.Redacted<string>>
  /** The address to which an owner's browser returns. */
  readonly callback: () => string
}

/** The servers whose tools all owners use. */
export const mcpLayer = (servers: ReadonlyArray<NamedServer>): Layer.Layer<never, never, HostedTools> => {
  const shared = servers.filter(({ oauth }) => oauth === undefined)
  return shared.length === 0 ? Layer.empty : Layer.unwrap(Effect.map(loadMcp, ({ Mcp: mcp }) => mcp.layer(shared)))
}

/** The servers at which each owner has an account. Without such servers, the endpoints for these accounts say so. */
export const accountsLayer = (
  servers: ReadonlyArray<NamedServer>,
  { callback, ...settings }: AccountSettings
): Layer.Layer<never, never, SealedSecretStore | TurnParts> => {
  const owned = servers.flatMap((server) =>
    server.oauth === undefined || "command" in server ? [] : [{ ...server, oauth: server.oauth(callback) }]
  )
  return owned.length === 0
    ? Layer.empty
    : Layer.unwrap(Effect.map(loadMcp, ({ Mcp: mcp }) => mcp.layerForOwners(owned, settings)))
}

const loadMcp = Effect.promise(() => import("@colloquy/adapters/mcp"))
