/**
 * Resources and prompts of a server as two more tools: `files_resources` lists them or reads one, `files_prompts` lists them or fills one
 * in. Their results are text for the model, like the output of any tool.
 */
import { HostedToolFailed } from "@colloquy/core"
import type { ToolDefinition } from "@colloquy/core"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Connection } from "./Connection.ts"
import type { McpServer } from "./McpServer.ts"
import { asSentence, contentText, toolName } from "./McpTools.ts"
import { readList, textField } from "./ServerLists.ts"
import { ask } from "./ToolCalls.ts"

/**
 * The most entries of a list that the model reads, the most characters of an entry, and the most characters of a resource or prompt. The
 * kernel then cuts the text to its own limit.
 */
const most = { entries: 200, line: 400, text: 200_000 }

export interface SharedTool {
  /** The name by which the host selects the tool, as it does for the server's own tools. */
  readonly name: "resources" | "prompts"
  readonly definition: ToolDefinition & { readonly parameters: Schema.JsonObject }
  readonly run: (args: Schema.JsonObject) => Effect.Effect<string, HostedToolFailed>
}

/** The tools for the kinds of content that the server offers. */
export const sharedTools = (server: McpServer, connection: Connection): ReadonlyArray<SharedTool> => {
  const { prompts, resources } = connection.client.getServerCapabilities() ?? {}
  return [
    ...(resources === undefined ? [] : [resourcesTool(server, connection)]),
    ...(prompts === undefined ? [] : [promptsTool(server, connection)])
  ]
}

const readText = (args: Schema.JsonObject, field: string): string => textField(args, field).trim()

const resourcesTool = (server: McpServer, connection: Connection): SharedTool => ({
  name: "resources",
  definition: {
    name: toolName(server.name, "resources"),
    description: `Lists the resources of ${server.name}, or reads one of them by its uri.`,
    parameters: {
      type: "object",
      properties: { uri: { type: "string", description: "The resource to read. Absent: the list." } }
    }
  },
  run: (args) => {
    const uri = readText(args, "uri")
    if (uri === "") return listed(connection, "resources", (entry) => line(entry, "uri", ["name", "mimeType"]))
    return Effect.map(
      ask(server, connection, (signal) => connection.client.readResource({ uri }, { signal, cacheMode: "bypass" })),
      ({ contents }) => bounded(contents.slice(0, most.entries).map(resourceText))
    )
  }
})

const resourceText = (resource: {
  readonly uri: string
  readonly text?: unknown
  readonly mimeType?: unknown
}): string =>
  typeof resource.text === "string"
    ? resource.text
    : `[file ${asSentence(resource.uri)}${typeof resource.mimeType === "string" ? ` of type ${asSentence(resource.mimeType)}` : ""}, not shown]`

const promptsTool = (server: McpServer, connection: Connection): SharedTool => ({
  name: "prompts",
  definition: {
    name: toolName(server.name, "prompts"),
    description: `Lists the prompts of ${server.name}, which are instructions for common tasks, or fills in one of them by its name.`,
    parameters: {
      type: "object",
      properties: {
        name: { type: "string", description: "The prompt to fill in. Absent: the list." },
        arguments: {
          type: "object",
          additionalProperties: { type: "string" },
          description: "What it is filled in with."
        }
      }
    }
  },
  run: (args) => {
    const name = readText(args, "name")
    if (name === "") return listed(connection, "prompts", promptLine)
    return Effect.map(
      ask(server, connection, (signal) =>
        connection.client.getPrompt({ name, arguments: readTexts(args["arguments"]) }, { signal })
      ),
      ({ messages }) =>
        bounded(messages.slice(0, most.entries).map(({ content, role }) => `${role}: ${contentText(content)}`))
    )
  }
})

const readTexts = (given: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(typeof given === "object" && given !== null ? given : {}).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value)
    ])
  )

const promptLine = (entry: unknown): string => {
  const args = typeof entry === "object" && entry !== null && "arguments" in entry ? entry.arguments : []
  const names = (Array.isArray(args) ? args : []).map((each) => textField(each, "name")).filter((name) => name !== "")
  const needs = names.length === 0 ? "" : ` (arguments: ${names.join(", ")})`
  return asSentence(`${line(entry, "name", ["title"])}${needs}`).slice(0, most.line)
}

const line = (entry: unknown, first: string, more: ReadonlyArray<string>): string => {
  const rest = [...more, "description"].map((field) => textField(entry, field)).filter((text) => text !== "")
  return asSentence([textField(entry, first), ...rest].join(", ")).slice(0, most.line)
}

const listed = (connection: Connection, kind: "resources" | "prompts", show: (entry: unknown) => string) =>
  readList(connection, kind, most.entries).pipe(
    Effect.mapError(() => new HostedToolFailed({ message: `the list of ${kind} cannot be read.` })),
    Effect.map(({ found, hasMore }) => {
      if (found.length === 0) return `There are no ${kind}.`
      return bounded([...found.map(show), ...(hasMore ? ["(There are more, which are not listed.)"] : [])])
    })
  )

const bounded = (parts: ReadonlyArray<string>): string => parts.join("\n").slice(0, most.text)
