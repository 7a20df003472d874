/**
 * What is said of the documents of a thread and its assistant where no excerpt is searched: a typed turn gets it. The wing `documents` gives
 * it (`documentSummaries`); a host may give its own.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"

export interface DocumentPlace {
  readonly assistantId: AssistantId
  readonly threadId: ThreadId
}

export interface DocumentSummary {
  readonly filename: string
  readonly summary: string
}

/** What cannot be found out is left out: a turn does not fail for want of summaries. */
export type ReadSummaries = (place: DocumentPlace) => Effect.Effect<ReadonlyArray<DocumentSummary>, never, Principal>

export const DocumentSummaries = Context.Reference<ReadSummaries>("@colloquy/core/prompts/DocumentSummaries", {
  defaultValue: () => () => Effect.succeed([])
})
