/** Checks arguments against the JSON Schema of a tool, for tools that come with nothing else. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { type CheckedSchema, checkedSchema } from "./CheckedSchema.ts"
import type { HostedTool } from "./HostedTool.ts"

/** The schema is read at the first check. Of a schema that cannot be checked wholly, nothing is checked. */
export const argumentCheck = (parameters: Schema.JsonObject): NonNullable<HostedTool["check"]> => {
  let read: Result.Result<CheckedSchema, unknown> | undefined
  return (args) =>
    Effect.sync(() => {
      read ??= checkedSchema(parameters)
      return Result.isSuccess(read) ? read.success.findProblems(args) : []
    })
}
