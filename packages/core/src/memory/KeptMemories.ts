/** The supplement of this part with an answer, for code that shows it. A separate module, so that reading it imports nothing else. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

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
  learns: Schema.Boolean
})
export type KeptMemories = typeof KeptMemories.Type

export const readKept = (value: unknown): KeptMemories | null => Option.getOrNull(decodeKept(value))
const decodeKept = Schema.decodeUnknownOption(KeptMemories)
