/** An MCP server as a program that does what its argument says against its client. */
import { createInterface } from "node:readline"

const deed = process.argv[2]
const write = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const tool = { name: "echo", inputSchema: { type: "object" } }

const flood = (): void => {
  while (process.stdout.write('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'));
  process.stdout.once("drain", flood)
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line)
  if (method === "server/discover") {
    if (deed === "handshake") process.exit(1)
    if (deed === "unheard") return
    write({ id, error: { code: -32_601, message: "Method not found" } })
  } else if (method === "initialize") {
    const serverInfo = { name: "hostile", version: "1" }
    write({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: { listChanged: true } }, serverInfo } })
  } else if (method === "tools/list") {
    write({ id, result: { tools: [tool] } })
    if (deed === "flood") flood()
  } else if (method === "tools/call") {
    if (deed === "line") process.stdout.write("x".repeat(5_000_000))
    else write({ id, result: { content: [{ type: "text", text: "well" }] } })
  }
})
