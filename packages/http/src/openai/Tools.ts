/** Tools of a request, in the two forms that OpenAI has for them, as the kernel's definitions. Pure. */
import type { ToolDefinition } from "@colloquy/core"
import { ToolName } from "@colloquy/core/adapters"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { maybe } from "../wire/Fields.ts"
import { invalid, type OpenAiError } from "./Errors.ts"

const definition = {
  name: ToolName,
  description: maybe(Schema.String),
  parameters: maybe(Schema.JsonObject),
  strict: maybe(Schema.Boolean)
}

export const ChatTool = Schema.Union([
  Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct(definition) }),
  Schema.Struct({ type: Schema.Literal("custom") })
])

const FunctionTool = Schema.Struct({ type: Schema.Literal("function"), ...definition })

/** Tools of OpenAI's own servers have types of their own; those that are not known here are refused in words. */
export const ResponseTool = Schema.Union([FunctionTool, Schema.Struct({ type: Schema.String })])

type Definition = Omit<typeof FunctionTool.Type, "type">

/** The tools of a request. */
export interface AskedTools {
  readonly tools: ReadonlyArray<ToolDefinition>
  readonly webSearch: boolean
}

const definitionFrom = ({ description, name, parameters, strict }: Definition): ToolDefinition => ({
  name,
  description: description ?? null,
  parameters: parameters ?? null,
  ...(typeof strict === "boolean" ? { strict } : {})
})

const isWebSearch = (type: string): boolean => /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/u.test(type)

const unsupported = (type: string, index: number) =>
  invalid(
    `The tool type "${type.slice(0, 64)}" is not supported here. Send functions${type === "custom" ? "" : ", or web_search"}.`,
    `tools[${index}].type`,
    "unsupported_tool"
  )

type AnyTool = typeof ChatTool.Type | typeof ResponseTool.Type

export const askedTools = (given: ReadonlyArray<AnyTool>): Result.Result<AskedTools, OpenAiError> => {
  const tools: Array<ToolDefinition> = []
  let webSearch = false
  for (const [index, tool] of given.entries()) {
    const found = "function" in tool ? tool.function : "name" in tool ? tool : null
    if (found === null) {
      if (!isWebSearch(tool.type)) return Result.fail(unsupported(tool.type, index))
      webSearch = true
      continue
    }
    if (tools.some(({ name }) => name === found.name)) {
      const problem = `The name "${found.name}" is already taken by an earlier tool of the list.`
      return Result.fail(invalid(problem, `tools[${index}]`))
    }
    tools.push(definitionFrom(found))
  }
  return Result.succeed({ tools, webSearch })
}
