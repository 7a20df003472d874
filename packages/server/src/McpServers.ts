/**
 * `MCP_SERVERS`: the servers whose tools are offered to models, in the form of other MCP clients' configuration (`{"files": {"command":
 * "npx", "args": […]}}`), as JSON or as the path of a file. Loaded only if it is set.
 */
import type { Mcp } from "@colloquy/adapters/mcp"
import type { HostedTools } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"

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
const Address = Schema.Struct({
  ...common,
  url: Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s/]\S*$/u)),
  headers: Schema.optionalKey(Texts)
})
const Servers = Schema.Record(Schema.String, Schema.Union([Program, Address]))
const decode = Schema.decodeUnknownOption(Servers)

/** A file may have them under `mcpServers`, as other clients do. */
const parsed = (text: string): unknown => {
  const json: unknown = JSON.parse(text.trimStart().startsWith("{") ? text : readFileSync(text, "utf8"))
  return typeof json === "object" && json !== null && "mcpServers" in json ? json.mcpServers : json
}

/** None: the value is invalid. The reason is not printed, because the value may contain keys. */
export const readMcpServers = (text: string): Option.Option<ReadonlyArray<Mcp.McpServer>> => {
  try {
    const servers = Option.filter(decode(parsed(text)), (all) => Object.keys(all).every(isName))
    return Option.map(servers, (all) => Object.entries(all).map(([name, each]) => readServer(name, each)))
  } catch {
    return Option.none()
  }
}

const readServer = (name: string, server: (typeof Servers.Type)[string]): Mcp.McpServer => {
  const { approval, timeout_seconds: seconds, tools, ...place } = server
  const own = {
    name,
    ...(approval === undefined ? {} : { approval }),
    ...(tools === undefined ? {} : { tools: (tool: string) => tools.includes(tool) }),
    ...(seconds === undefined ? {} : { timeout: `${seconds} seconds` as const })
  }
  if ("command" in place) return { ...own, ...place }
  const { headers = {}, url } = place
  const secret = Object.entries(headers).map(([header, value]) => [header, Redacted.make(value)] as const)
  return { ...own, url, headers: Object.fromEntries(secret) }
}

export const mcpLayer = (servers: ReadonlyArray<Mcp.McpServer>): Layer.Layer<never, never, HostedTools> =>
  servers.length === 0
    ? Layer.empty
    : Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@colloquy/adapters/mcp")),
          ({ Mcp: mcp }) => mcp.layer(servers)
        )
      )
