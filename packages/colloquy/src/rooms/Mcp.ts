/**
 * The tools of an MCP server as a room: `mcp({ url })`. With `oauth` each owner has an account there, and the kernel has `toolAccess`. A
 * kernel may have several.
 */
import { Mcp } from "@colloquy/adapters/mcp"
import { Principal } from "@colloquy/core"
import { type CallOptions, type Room, room, type RoomTypes, type RunCall } from "@colloquy/core/promises"
import {
  type AccessCallback,
  KeptAccess,
  type ServerAccess,
  ToolAccess,
  toolAccessPartName
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { hidden, type Secret } from "../Secret.ts"
import type { RoomNeeds } from "../Store.ts"

export type { AccessCallback, ServerAccess } from "@colloquy/core/wings"

interface McpTypes extends RoomTypes {
  readonly event: never
}

/** What `mcp()` gives. */
export type McpRoom = Room<McpTypes, RoomNeeds>

/** The name of a server is the prefix of its tools' names. Default: the host of its address, or its command. */
export type McpOptions = McpServer & Mcp.McpSettings
type McpServer = Named<Mcp.AddressOptions> | Named<Mcp.ProgramOptions>
type Named<Server extends { readonly name: string }> = Omit<Server, "name"> & { readonly name?: string }

/** How owners grant access to their accounts at a server. */
export interface McpOAuth extends Omit<Mcp.OwnedServer["oauth"], "client"> {
  /** Encrypts the tokens of owners in the store. All processes of a service need the same one. */
  readonly secret: Secret
  /** Secrets of before, for what is still encrypted under them. */
  readonly earlierSecrets?: ReadonlyArray<Secret>
  /** A registration that the host has at the server. Absent: this client registers itself. */
  readonly client?: { readonly id: string; readonly secret?: Secret }
}

/** A server at which each owner has an account. */
export interface McpAccountOptions extends Named<Mcp.AddressOptions> {
  readonly oauth: McpOAuth
}

/** The calls of `toolAccess`. */
export interface ToolAccessCalls {
  /** The address to which the owner's browser is sent. */
  readonly begin: (server: string, options?: CallOptions) => Promise<{ readonly url: string; readonly expiresAt: Date }>
  /** What the browser of the owner brought back to `redirectUrl`. Another owner's is refused. */
  readonly finish: (callback: AccessCallback, options?: CallOptions) => Promise<{ readonly server: string }>
  readonly list: (options?: CallOptions) => Promise<ReadonlyArray<ServerAccess>>
  readonly get: (server: string, options?: CallOptions) => Promise<ServerAccess>
  /** Forgets the tokens. False: there were none. */
  readonly forget: (server: string, options?: CallOptions) => Promise<boolean>
}

interface McpAccountTypes extends RoomTypes {
  readonly calls: { readonly toolAccess: ToolAccessCalls }
  /** The servers that the model wanted to use, and to which this owner has to grant access. */
  readonly reply: { readonly toolAccessRequired: ReadonlyArray<string> }
  readonly event: never
}

/** What `mcp()` gives with `oauth`. */
export type McpAccountRoom = Room<McpAccountTypes, RoomNeeds>

export function mcp(options: McpAccountOptions): McpAccountRoom
export function mcp(options: McpOptions): McpRoom
export function mcp(options: McpOptions | McpAccountOptions): McpRoom | McpAccountRoom {
  return "oauth" in options ? withAccounts(options) : withoutAccounts(options)
}

const withoutAccounts = ({ longestPause, name, startTimeout, ...server }: McpOptions): McpRoom =>
  room<McpTypes>()(
    Mcp.layer([{ name: name ?? serverName(server), ...server }], {
      ...(longestPause === undefined ? {} : { longestPause }),
      ...(startTimeout === undefined ? {} : { startTimeout })
    }),
    Effect.succeed({ name: "mcp" })
  )

const withAccounts = ({ name, oauth, ...server }: McpAccountOptions): McpAccountRoom => {
  const { client, earlierSecrets = [], secret, ...rest } = oauth
  const registered =
    client === undefined
      ? {}
      : { client: { id: client.id, ...(client.secret === undefined ? {} : { secret: hidden(client.secret) }) } }
  return room<McpAccountTypes>()(
    Mcp.layerForOwners([{ name: name ?? serverName(server), ...server, oauth: { ...rest, ...registered } }], {
      secret: hidden(secret),
      earlierSecrets: earlierSecrets.map(hidden)
    }),
    Effect.map(ToolAccess, (access) => ({
      name: toolAccessPartName,
      calls: (run: RunCall) => ({ toolAccess: calls(access, run) }),
      reply: ({ supplements }) =>
        Effect.succeed({
          toolAccessRequired: Option.match(readKept(supplements[toolAccessPartName]), {
            onNone: () => [],
            onSome: ({ required }) => required
          })
        })
    }))
  )
}

const readKept = Schema.decodeUnknownOption(KeptAccess)

const calls = (access: typeof ToolAccess.Service, run: RunCall): ToolAccessCalls => ({
  begin: (server, options) => run(() => access.begin(server), options),
  finish: (callback, options) => run(() => Principal.use(({ ownerId }) => access.finish(callback, ownerId)), options),
  list: (options) => run(() => access.list, options),
  get: (server, options) => run(() => access.get(server), options),
  forget: (server, options) => run(() => access.forget(server), options)
})

const serverName = (server: McpServer): string => {
  const text = "url" in server ? new URL(server.url).hostname : (server.command.split(/[/\\]/u).at(-1) ?? "mcp")
  return text.replaceAll(/[^\w-]+/gu, "_")
}
