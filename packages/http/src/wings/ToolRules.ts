/** Rules for the list of tools of bodies that are no message: an assistant's, and one that comes with tool outputs. */
import { notAvailable } from "../bodies/RawFields.ts"
import { absentTools } from "./SearchWing.ts"
import { repeatedToolNames } from "../wire/Tools.ts"
import { isRecord } from "../wire/Json.ts"
import type { BodyRules } from "../bodies/RequestBody.ts"

export const toolRules: BodyRules = ({ value }, { installed }) => {
  const { handoffs, helpers, tools } = isRecord(value) ? value : {}
  return [
    ...repeatedToolNames(tools),
    ...absentTools(tools, installed),
    ...(installed.has("helpers")
      ? []
      : Object.entries({ helpers, handoffs }).flatMap(([field, list]) =>
          Array.isArray(list) && list.length > 0 ? [notAvailable([field], "Asking other assistants")] : []
        ))
  ]
}
