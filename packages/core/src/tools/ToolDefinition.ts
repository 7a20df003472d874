/**
 * A function that a model may call, as the model sees it. Parameters are JSON Schema from the client to the provider: the kernel checks the
 * frame (names, uniqueness) and leaves all keywords inside unchanged.
 */
import * as Schema from "effect/Schema"

/** The name of a tool, in letters that every vendor takes. */
export const ToolName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/u, { expected: "1 to 64 characters of A-Z, a-z, 0-9, _ and -" })
)

export const ToolDefinition = Schema.Struct({
  name: ToolName,
  description: Schema.NullOr(Schema.String),
  parameters: Schema.NullOr(Schema.JsonObject),
  strict: Schema.optionalKey(Schema.Boolean),
  /** True: only the name of a hosted tool, as an assistant stores it; a part of the turn provides the tool itself. */
  hosted: Schema.optionalKey(Schema.Boolean)
})
export type ToolDefinition = typeof ToolDefinition.Type

export const hostedMark = ({ hosted = false }: ToolDefinition): boolean => hosted

/** A list of tools with unique names. */
export const ToolList = Schema.Array(ToolDefinition).check(
  Schema.makeFilter((tools) => {
    const seen = new Set<string>()
    const again = tools.findIndex((tool) => seen.size === seen.add(tool.name).size)
    return again === -1
      ? undefined
      : { path: [again, "name"], issue: "this name is already taken by an earlier tool of the list" }
  })
)
export type ToolList = typeof ToolList.Type
