export * as Mcp from "./Mcp.ts"
