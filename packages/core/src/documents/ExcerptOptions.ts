/** How one turn finds excerpts of documents, where the settings of its assistant and of the host are not to count. */
import * as Schema from "effect/Schema"
import { SearchLimit } from "../assistants/Assistant.ts"

export const ExcerptOptions = Schema.Struct({
  /** In the place of the assistant's. */
  searchLimit: Schema.optionalKey(SearchLimit),
  /** In the place of the host's setting; `none`: nothing is searched. */
  excerpts: Schema.optionalKey(Schema.Literals(["recall", "tool", "none"]))
})
export type ExcerptOptions = typeof ExcerptOptions.Type

/** The tool with which a model searches documents itself. */
export const searchToolName = "search_documents"
