/** An MCP server of the official SDK, with tools that answer, fail, hang, show pictures and change. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool
} from "@modelcontextprotocol/sdk/types.js"

const tool = (name: string, description: string): Tool => ({
  name,
  description,
  inputSchema: { type: "object", properties: { text: { type: "string" } } }
})

/** Two pages of the list, so that a client must ask twice. */
const pages = (more: ReadonlyArray<Tool>): ReadonlyArray<ReadonlyArray<Tool>> => [
  [tool("echo", "Says what it was told."), tool("break", "Fails."), tool("look.at", "Shows a picture.")],
  [
    tool("book", "Asks a person."),
    tool("wait", "Never answers."),
    tool("refuse", "Refuses its arguments."),
    tool("leave", "Ends the program."),
    ...more
  ]
]

export const makeToolServer = (seen = { waiting: false, cancelled: false }) => {
  const server = new Server({ name: "tools", version: "1.0.0" }, { capabilities: { tools: { listChanged: true } } })
  let more: ReadonlyArray<Tool> = []
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const page = Number(params?.cursor ?? 0)
    return { tools: [...(pages(more)[page] ?? [])], ...(page === 0 ? { nextCursor: "1" } : {}) }
  })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    switch (params.name) {
      case "echo":
        return { content: [{ type: "text", text: `You said: ${String(params.arguments?.["text"])}` }] }
      case "look.at":
        return {
          content: [
            { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
            { type: "text", text: "A tree." }
          ]
        }
      case "break":
        return { isError: true, content: [{ type: "text", text: "The disk is full." }] }
      case "wait":
        seen.waiting = true
        return new Promise<never>((_, reject) => {
          signal.addEventListener("abort", () => {
            seen.cancelled = true
            reject(new Error("cancelled"))
          })
        })
      case "book": {
        const answers = new Array<unknown>()
        const rounds = Number(params.arguments?.["text"] ?? 1)
        for (let round = 0; round < rounds; round++) {
          const requestedSchema = {
            type: "object" as const,
            properties: { seats: { type: "integer" as const } },
            required: ["seats"]
          }
          const answer = await server.elicitInput(
            { message: `How many seats? (${round})`, requestedSchema },
            { signal }
          )
          answers.push([answer.action, answer.content ?? null])
        }
        return { content: [{ type: "text", text: JSON.stringify(answers) }] }
      }
      case "leave":
        return process.exit(1)
      default:
        throw new McpError(ErrorCode.InvalidParams, "text must not be empty")
    }
  })
  return {
    server,
    offer: async (names: ReadonlyArray<string>) => {
      more = names.map((name) => tool(name, name))
      await server.sendToolListChanged()
    }
  }
}
