/** The kernel without Effect: promises, async iterables, and tools from plain functions. */
export { tool, type ToolContext, type ToolOptions } from "./Tool.ts"
export type { ArgumentsOf, DescribedSchema, ToolParameters } from "./ToolParameters.ts"
