/** Converts tools of an MCP server to definitions of the kernel, and their results to text for a model. Pure functions. */
import type { ToolDefinition } from "@colloquy/core"
import type { CallToolResult } from "@modelcontextprotocol/client"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { hasUsableHeaders } from "./ParameterHeaders.ts"
import { isUsableSchema } from "../protocols/UsableSchema.ts"

/**
 * The most characters of a name, a description and parameters. Longer names and descriptions are cut; a tool with longer parameters is left
 * out, because a part of a schema is no valid schema.
 */
const longest = { name: 64, description: 4000, parameters: 16_000 }

/** The most characters of all definitions of one server. */
const mostInAll = 64_000

/** The most contents of a result that are read. The others are only counted. */
const mostContents = 1_000

/** `server_tool`, with only those characters that every model accepts. */
export const toolName = (server: string, tool: string): string =>
  `${server}_${tool}`.replaceAll(/[^A-Za-z0-9_-]/gu, "_").slice(0, longest.name)

export interface OfferedTool {
  /** The name of the tool at the server. */
  readonly name: string
  readonly definition: ToolDefinition & { readonly parameters: Schema.JsonObject }
  /** The number of characters of this definition and of those before it. */
  readonly upTo: number
}

const decodeTool = Schema.decodeUnknownOption(
  Schema.Struct({
    name: Schema.NonEmptyString,
    title: Schema.optionalKey(Schema.String),
    description: Schema.optionalKey(Schema.String),
    inputSchema: Schema.Unknown
  })
)

/** The definition for models. Null: this tool cannot be offered to any model. */
const toolDefinition = (server: string, listed: unknown, hasHeaders: boolean) => {
  const tool = Option.getOrNull(decodeTool(listed))
  if (tool === null || !isUsableSchema(tool.inputSchema)) return null
  const parameters = Option.getOrNull(asJsonObject(tool.inputSchema))
  const size = JSON.stringify(parameters).length
  if (parameters === null || size > longest.parameters || (hasHeaders && !hasUsableHeaders(parameters))) return null
  const description = (tool.description ?? tool.title ?? tool.name).slice(0, longest.description)
  return {
    name: tool.name,
    definition: { name: toolName(server, tool.name), description, parameters },
    size: size + description.length + longest.name
  }
}

/** The tools of a server as models are offered them, and how many were left out because they are malformed or too large. */
export const offeredTools = (server: string, listed: ReadonlyArray<unknown>, hasHeaders: boolean) => {
  const tools: Array<OfferedTool> = []
  let upTo = 0
  for (const each of listed) {
    const found = toolDefinition(server, each, hasHeaders)
    if (found === null || upTo + found.size > mostInAll) continue
    upTo += found.size
    tools.push({ name: found.name, definition: found.definition, upTo })
  }
  return { tools, leftOut: listed.length - tools.length }
}

/**
 * Whether definitions of so many characters leave enough of the window for the conversation. All `servers` share a quarter of the window.
 */
export const fits = (characters: number, contextLimit: number | null, servers: number): boolean =>
  characters / 3 <= (contextLimit ?? 32_000) / 4 / servers

/** A server's sentence for a log or a model: one line of bounded length. */
export const asSentence = (text: string): string =>
  text
    .slice(0, 1000)
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .trim()

const asJsonObject = Schema.decodeUnknownOption(Schema.JsonObject)

/** The text of a result. Content of other types is only named, because the result of a hosted tool is text. */
export const resultText = (result: CallToolResult): string => {
  const parts = result.content.slice(0, mostContents).map(contentText)
  const more = result.content.length - parts.length
  if (more > 0) parts.push(`[${more} more contents were left out]`)
  if (parts.length > 0) return parts.join("\n")
  return result.structuredContent === undefined ? "" : JSON.stringify(result.structuredContent)
}

export const contentText = (part: CallToolResult["content"][number]): string => {
  switch (part.type) {
    case "text":
      return part.text
    case "image":
    case "audio":
      return `[${part.type} of type ${part.mimeType}, not shown]`
    case "resource_link":
      return `[${part.name}: ${part.uri}]`
    case "resource":
      return "text" in part.resource ? part.resource.text : `[file ${part.resource.uri}, not shown]`
  }
}
