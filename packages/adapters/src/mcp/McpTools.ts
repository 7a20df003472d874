/** Converts tools of an MCP server to definitions of the kernel, and their results to text for a model. Pure functions. */
import type { ToolDefinition } from "@colloquy/core"
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** Longer names and descriptions are cut. */
const longest = { name: 64, description: 4000 }

/** `server_tool`, with only those characters that every model accepts. */
const toolName = (server: string, tool: string): string =>
  `${server}_${tool}`.replaceAll(/[^A-Za-z0-9_-]/gu, "_").slice(0, longest.name)

export const definitionOf = (server: string, tool: Tool): ToolDefinition => ({
  name: toolName(server, tool.name),
  description: (tool.description ?? tool.title ?? tool.name).slice(0, longest.description),
  parameters: Option.getOrNull(asJsonObject(tool.inputSchema))
})

const asJsonObject = Schema.decodeUnknownOption(Schema.JsonObject)

/** The text of a result. Content of other types is only named, because the result of a hosted tool is text. */
export const resultText = (result: CallToolResult): string => {
  const parts = result.content.map(partText)
  if (parts.length > 0) return parts.join("\n")
  return result.structuredContent === undefined ? "" : JSON.stringify(result.structuredContent)
}

const partText = (part: CallToolResult["content"][number]): string => {
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
