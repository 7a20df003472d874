/**
 * What is kept of the oldest messages of a thread, for a model whose window does not hold them. Internal: it is no part of the thread that
 * clients see. A summary that reaches further replaces one that reaches less far, never the other way round.
 */
import * as Schema from "effect/Schema"

export const ThreadSummary = Schema.Struct({
  text: Schema.String,
  /** The last message that it covers. */
  throughSequence: Schema.Int,
  /** Size of the text, by the host's token counter at the time of writing. */
  tokens: Schema.Int
})
export type ThreadSummary = typeof ThreadSummary.Type
