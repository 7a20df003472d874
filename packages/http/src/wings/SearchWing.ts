/**
 * Search on the web: a tool that the model may use in this turn, asked for by `web_search` or as a tool of the list. The sources of an answer
 * stand in its metadata.
 */
import { sourcesIn } from "@colloquy/core/wings"
import { isServiceTool } from "../wire/Tools.ts"
import type { ValidationError } from "../wire/Errors.ts"
import { isOneOf, notAvailable, type Installed, type RawFields } from "../bodies/RawFields.ts"
import type { AskedField, Wing } from "./Wing.ts"

const part = "search"
const title = "Web search"

const asked = ({ tools, web_search }: RawFields): ReadonlyArray<AskedField> => [
  ...(isOneOf(web_search, "Auto") ? [{ path: ["web_search"], title }] : []),
  ...askedTools(tools)
]

const askedTools = (tools: unknown): ReadonlyArray<AskedField> =>
  Array.isArray(tools)
    ? tools.flatMap((tool: unknown, index) => (isServiceTool(tool) ? [{ path: ["tools", index], title }] : []))
    : []

/** The tools of this room in a list that no message holds: an assistant's, or one that comes with tool outputs. */
export const absentTools = (tools: unknown, installed: Installed): ReadonlyArray<ValidationError> =>
  installed.has(part) ? [] : askedTools(tools).map((each) => notAvailable(each.path, each.title))

export const searchWing: Wing = {
  part,
  message: {
    concerns: ["tools", "web_search"],
    asked,
    needsModel: true,
    options: () => ({ mode: "Auto" }),
    bodyPath: () => ["web_search"]
  },
  fields: ({ answer }) => {
    const sources = sourcesIn(answer)
    return sources.length === 0 ? {} : { metadata_: { sources: sources.map((source) => ({ ...source })) } }
  }
}
