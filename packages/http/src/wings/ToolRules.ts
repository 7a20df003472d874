/** Rules for the list of tools of bodies that are no message: an assistant's, and one that comes with tool outputs. */
import { absentTools } from "./SearchWing.ts"
import { repeatedToolNames } from "../wire/Tools.ts"
import { isRecord } from "../wire/Json.ts"
import type { BodyRules } from "../bodies/RequestBody.ts"

export const toolRules: BodyRules = ({ value }, { installed }) => {
  const tools = isRecord(value) ? value["tools"] : undefined
  return [...repeatedToolNames(tools), ...absentTools(tools, installed)]
}
