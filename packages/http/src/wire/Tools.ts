/** Tool definitions, calls and outputs as they travel, and the way to the kernel's own. */
import type { ToolCall as KernelToolCall, ToolDefinition } from "@colloquy/core"
import { type OpenCall, type Question as KernelQuestion, ToolName } from "@colloquy/core/adapters"
import * as Schema from "effect/Schema"
import { isRecord } from "./Json.ts"
import type { ValidationError } from "./Errors.ts"
import { maybe } from "./Fields.ts"

const FunctionTool = Schema.Struct({
  type: Schema.Literal("function"),
  function: Schema.Struct({
    name: ToolName,
    description: maybe(Schema.String),
    /** JSON Schema; every keyword goes to the model as it is. */
    parameters: maybe(Schema.JsonObject),
    strict: maybe(Schema.Boolean)
  })
}).annotate({ identifier: "FunctionTool" })

/** A tool of the service itself. In a list it has only its name. */
const ServiceTool = Schema.Struct({ type: Schema.Literal("web_search") }).annotate({ identifier: "ServiceTool" })

export const Tool = Schema.Union([FunctionTool, ServiceTool]).annotate({ identifier: "Tool" })
export type Tool = typeof Tool.Type

export const ToolCall = Schema.Struct({
  id: Schema.String,
  type: Schema.Literal("function"),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
}).annotate({ identifier: "ToolCall" })
export type ToolCall = typeof ToolCall.Type

/**
 * The question that a tool asks a person in the middle of its call. The answer, an object that fits the schema, goes into the `arguments`
 * of an approval.
 */
export const Question = Schema.Struct({
  message: Schema.String,
  schema: Schema.JsonObject
}).annotate({ identifier: "Question" })

/** A call that is answered from outside: by the client's tool, or by a person who approves or rejects it. */
export const OpenToolCall = Schema.Struct({
  ...ToolCall.fields,
  kind: Schema.Literals(["client", "approval"]),
  question: Schema.optionalKey(Question),
  /** The run of a helper that waits for the call; absent: the run of the message. */
  helper_thread_id: Schema.optionalKey(Schema.String),
  helper_run_id: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "OpenToolCall" })
export type OpenToolCall = typeof OpenToolCall.Type

export const toolFromWire = (tool: Tool): ToolDefinition => {
  if (tool.type !== "function") return { name: tool.type, description: null, parameters: null, hosted: true }
  const { description, name, parameters, strict } = tool.function
  return {
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    ...(typeof strict === "boolean" ? { strict } : {})
  }
}

export const toolToWire = ({ description, hosted, name, parameters, strict }: ToolDefinition): Tool =>
  hosted === true && name === "web_search"
    ? { type: name }
    : { type: "function", function: { name, description, parameters, ...(strict === undefined ? {} : { strict }) } }

export const toolCallToWire = (call: KernelToolCall): ToolCall => ({
  id: call.id,
  type: "function",
  function: { name: call.name, arguments: call.arguments }
})

export const questionToWire = (question: KernelQuestion | undefined) =>
  question === undefined ? {} : { question: { message: question.message, schema: question.schema } }

export const openCallToWire = (call: OpenCall): OpenToolCall => ({
  ...toolCallToWire(call),
  kind: call.approval === undefined ? "client" : "approval",
  ...questionToWire(call.approval?.question),
  ...(call.of === undefined ? {} : { helper_thread_id: call.of.threadId, helper_run_id: call.of.runId })
})

/** Names that stand twice in a list, whatever else is wrong with it. */
export const repeatedToolNames = (tools: unknown): ReadonlyArray<ValidationError> => {
  if (!Array.isArray(tools)) return []
  const seen = new Set<string>()
  return tools.flatMap((tool: unknown, index) => {
    const name = readToolName(tool)
    if (name === undefined || seen.size < seen.add(name).size) return []
    const loc = ["body", "tools", index, ...(isServiceTool(tool) ? ["type"] : ["function", "name"])]
    return [{ loc, msg: `The name "${name}" is already taken by an earlier tool of the list`, type: "name_taken" }]
  })
}

/** Whether an entry of a list of tools, as it came, is a tool of the service. */
export const isServiceTool = (tool: unknown): boolean => isRecord(tool) && tool["type"] === "web_search"

const readToolName = (tool: unknown): string | undefined => {
  if (isServiceTool(tool)) return "web_search"
  const definition = isRecord(tool) ? tool["function"] : undefined
  const name = isRecord(definition) ? definition["name"] : undefined
  return typeof name === "string" ? name : undefined
}
