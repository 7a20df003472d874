/** The tools of a server as hosted tools: which of them are offered, and under which conditions they run. */
import type { HostedTool } from "@colloquy/core"
import { argumentCheck } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { Connection } from "./Connection.ts"
import type { McpServer } from "./McpServer.ts"
import { completed } from "./Elicitation.ts"
import { fits, type OfferedTool, offeredTools } from "./McpTools.ts"
import { readList, textField } from "./ServerLists.ts"
import { sharedTools } from "./SharedContent.ts"
import { callTool } from "./ToolCalls.ts"

/** The largest number of tools of one server. Further tools are left out, with a warning in the log. */
const mostTools = 128

/** `among` is the number of servers, which share the room for tools in a model's window. */
export type FollowedServer = McpServer & { readonly among: number }

export const listTools = Effect.fnUntraced(function* (server: McpServer, connection: Connection) {
  if (connection.client.getServerCapabilities()?.tools === undefined) return []
  const isWanted = (entry: unknown) => server.tools?.(textField(entry, "name")) ?? true
  const { found, hasMore } = yield* readList(connection, "tools", mostTools, isWanted)
  if (hasMore)
    yield* Effect.logWarning(
      `The MCP server ${server.name} has more than ${mostTools} tools, or 32 pages of them. Only the first ones are offered; select others with the option \`tools\`.`
    )
  // Programs get no headers, and older revisions have none for arguments.
  const hasHeaders = "url" in server && connection.client.getProtocolEra() === "modern"
  const { leftOut, tools } = offeredTools(server.name, found, hasHeaders)
  if (leftOut > 0)
    yield* Effect.logWarning(
      `${leftOut} tools of the MCP server ${server.name} are not offered, because their parameters or headers are malformed or too large, or all definitions together are.`
    )
  return tools
})

export const serverTools = (
  server: FollowedServer,
  connection: Connection,
  tools: ReadonlyArray<OfferedTool>
): ReadonlyArray<HostedTool> => [
  ...tools.map((tool) =>
    hostedTool(server, tool, tool.upTo, (args, call) => callTool(server, connection, tool, args, call))
  ),
  ...sharedTools(server, connection)
    .filter(({ name }) => server.tools?.(name) ?? true)
    .map((tool) => hostedTool(server, tool, tools.at(-1)?.upTo ?? 0, tool.run))
]

export const hostedTool = (
  server: FollowedServer,
  { definition, name }: Pick<OfferedTool, "definition" | "name">,
  upTo: number,
  run: HostedTool["run"]
): HostedTool => ({
  definition,
  yields: true,
  offered: ({ contextLimit }) => fits(upTo, contextLimit, server.among),
  ...(needsApproval(server, name) ? { needsApproval: true, check: argumentCheck(definition.parameters) } : {}),
  checkAnswer: (schema, answer) => argumentCheck(schema)(completed(schema, answer)),
  ...(server.timeout === undefined ? {} : { timeout: server.timeout }),
  run
})

const needsApproval = ({ approval = [] }: McpServer, name: string): boolean =>
  approval === true || approval.includes(name)
