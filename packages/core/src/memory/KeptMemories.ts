/** The supplement of this part with an answer, for code that shows it. A separate module, so that reading it imports nothing else. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Marks } from "../turns/Citations.ts"
import { asList, asObject, type JsonRecord, type KeptTexts } from "../threads/RecalledTexts.ts"

/** A recalled memory as it is told, kept with the answer and shown. `cited` is null unless citations were requested. */
export const RetrievedMemory = Schema.Struct({
  id: Schema.String,
  memory: Schema.String,
  score: Schema.Finite,
  cited: Schema.NullOr(Schema.Boolean)
})
export type RetrievedMemory = typeof RetrievedMemory.Type

/** The supplement of this part with an answer. */
export const KeptMemories = Schema.Struct({
  retrieved: Schema.Array(RetrievedMemory),
  /** If true, memories are learned from the run when it is COMPLETED: the operation has the id of the run. */
  learns: Schema.Boolean,
  /** Set when the model was asked to cite memories. */
  marks: Schema.optionalKey(Marks)
})
export type KeptMemories = typeof KeptMemories.Type

/** Reads what a message keeps about its memories. */
export const readKept = (value: unknown): KeptMemories | null => Option.getOrNull(decodeKept(value))
const decodeKept = Schema.decodeUnknownOption(KeptMemories)

/**
 * What is kept with an answer (`retrieved`) and told to the reader (`memories`), without the texts of memories that are gone. Their entries
 * stay, because citations in the answer count them.
 */
export const shownMemories: KeptTexts["shown"] = (kept, exists) => {
  const value = asObject(kept)
  if (value === null) return null
  const shown = (field: string) =>
    field in value
      ? { [field]: asList(value[field]).map((each) => (isThere(each, exists) ? each : { ...each, memory: "" })) }
      : {}
  return { ...value, ...shown("retrieved"), ...shown("memories") }
}

const isThere = ({ id }: JsonRecord, exists: (source: string) => boolean): boolean =>
  typeof id === "string" && exists(id)
