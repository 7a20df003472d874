/**
 * Summaries of the documents of a thread and its assistant, for turns that do not search excerpts (typed turns). The wing `documents`
 * provides them (`documentSummaries`); a host may provide its own.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"

/** The thread, with its assistant, whose documents are summarised for a prompt. */
export interface SummarizedThread {
  readonly assistantId: AssistantId
  readonly threadId: ThreadId
}

export interface DocumentSummary {
  readonly filename: string
  readonly summary: string
}

/** A summary that cannot be read is left out; the turn does not fail. */
export type ReadSummaries = (
  thread: SummarizedThread
) => Effect.Effect<ReadonlyArray<DocumentSummary>, never, Principal>

export const DocumentSummaries = Context.Reference<ReadSummaries>("@colloquy/core/prompts/DocumentSummaries", {
  defaultValue: () => () => Effect.succeed([])
})
