/** An MCP server that is started as a program: speaks over its standard input and output. */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { makeToolServer } from "./ToolServer.ts"

await makeToolServer().server.connect(new StdioServerTransport())
