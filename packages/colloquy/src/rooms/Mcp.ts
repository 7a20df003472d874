/** The tools of an MCP server as a room: `mcp({ url })`. A kernel may have several. */
import { Mcp } from "@colloquy/adapters/mcp"
import { type Room, room, type RoomTypes } from "@colloquy/core/promises"
import * as Effect from "effect/Effect"
import type { RoomNeeds } from "../Store.ts"

interface McpTypes extends RoomTypes {
  readonly event: never
}

/** What `mcp()` gives. */
export type McpRoom = Room<McpTypes, RoomNeeds>

/** The name of a server is the prefix of its tools' names. Default: the host of its address, or its command. */
export type McpOptions = McpServer & Mcp.McpSettings
type McpServer = Named<Mcp.AddressOptions> | Named<Mcp.ProgramOptions>
type Named<Server extends { readonly name: string }> = Omit<Server, "name"> & { readonly name?: string }

export const mcp = ({ longestPause, name, startTimeout, ...server }: McpOptions): McpRoom =>
  room<McpTypes>()(
    Mcp.layer([{ name: name ?? serverName(server), ...server }], {
      ...(longestPause === undefined ? {} : { longestPause }),
      ...(startTimeout === undefined ? {} : { startTimeout })
    }),
    Effect.succeed({ name: "mcp" })
  )

const serverName = (server: McpServer): string => {
  const text = "url" in server ? new URL(server.url).hostname : (server.command.split(/[/\\]/u).at(-1) ?? "mcp")
  return text.replaceAll(/[^\w-]+/gu, "_")
}
