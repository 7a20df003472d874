/**
 * The summary of the oldest messages of a thread, for a model whose window does not contain them. The inspection of a run shows
 * it. A summary is replaced only by one that covers more messages.
 */
import * as Schema from "effect/Schema"
import { MessageId } from "../primitives/Ids.ts"

export const ThreadSummary = Schema.Struct({
  text: Schema.String,
  /** The sequence of the last message that the summary covers. */
  throughSequence: Schema.Int,
  /** The id that this message had; absent in summaries of older versions. */
  throughId: Schema.optionalKey(MessageId),
  /** Size of the text, by the host's token counter at the time of writing. */
  tokens: Schema.Int
})
export type ThreadSummary = typeof ThreadSummary.Type
