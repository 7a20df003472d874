/**
 * Search on the web: a tool that the model may use in this turn, asked for by `web_search` or as a tool of the list. The sources of an answer
 * stand in its metadata.
 */
import { sourcesIn } from "@colloquy/core/web-search"
import { isServiceTool } from "../wire/Tools.ts"
import { isOneOf } from "./Fields.ts"
import type { AskedField, RawFields, Wing } from "./Wing.ts"

const title = "Web search"

const asked = ({ tools, web_search }: RawFields): ReadonlyArray<AskedField> => [
  ...(isOneOf(web_search, "Auto") ? [{ path: ["web_search"], title }] : []),
  ...(Array.isArray(tools)
    ? tools.flatMap((tool: unknown, index) => (isServiceTool(tool) ? [{ path: ["tools", index], title }] : []))
    : [])
]

export const searchWing: Wing = {
  part: "search",
  message: {
    asked,
    options: () => ({ mode: "Auto" }),
    place: () => ["web_search"]
  },
  fields: ({ answer }) => {
    const sources = sourcesIn(answer)
    return sources.length === 0 ? {} : { metadata_: { sources: sources.map((source) => ({ ...source })) } }
  }
}
