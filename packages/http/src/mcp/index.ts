/** An owner's assistants, threads and documents for clients of MCP: `webHandler({ kernel, wings: [mcp] })` serves `POST /mcp`. */
export { mcp } from "./Routes.ts"
