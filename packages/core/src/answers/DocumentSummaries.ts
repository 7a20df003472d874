/** What a typed turn is told of the documents of its thread and its assistant. The wing that keeps documents replaces the reference. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { AnswerContext } from "./AnswerContext.ts"

export interface DocumentPlace {
  readonly assistantId: AssistantId
  readonly threadId: ThreadId
}

/** What cannot be found out is left out: a turn does not fail for want of summaries. */
export type ReadSummaries = (
  place: DocumentPlace
) => Effect.Effect<NonNullable<AnswerContext["documentSummaries"]>, never, Principal>

export const DocumentSummaries = Context.Reference<ReadSummaries>("@colloquy/core/answers/DocumentSummaries", {
  defaultValue: () => () => Effect.succeed([])
})
