/** What the part keeps with an answer, for those who show it. Apart from what makes it, so that reading it carries nothing else. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** As it is told, kept with the answer and shown. `cited` is null unless citations were asked for. */
export const RetrievedMemory = Schema.Struct({
  id: Schema.String,
  memory: Schema.String,
  score: Schema.Finite,
  cited: Schema.NullOr(Schema.Boolean)
})
export type RetrievedMemory = typeof RetrievedMemory.Type

/** What the part keeps with an answer. */
export const KeptMemories = Schema.Struct({
  retrieved: Schema.Array(RetrievedMemory),
  /** The run is learned from when it is COMPLETED: the operation has the id of the run. */
  learns: Schema.Boolean
})
export type KeptMemories = typeof KeptMemories.Type

export const readKept = (value: unknown): KeptMemories | null => Option.getOrNull(decodeKept(value))
const decodeKept = Schema.decodeUnknownOption(KeptMemories)
