/**
 * Pure: all data that a model of typed answers gets, as one value. A turn gives the conversation, the system prompt and the summaries of
 * documents. A host that asks directly may give only a state; then the model gets exactly that state.
 *
 * Models read the names inside, so they are those of the wire.
 */
import type * as Schema from "effect/Schema"

export interface AnswerContext {
  /** Data of the application. */
  readonly state?: Schema.Json | null
  /** Oldest first. */
  readonly messages?: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: string }>
  readonly systemPrompt?: string | null
  readonly documentSummaries?: ReadonlyArray<{ readonly filename: string; readonly summary: string }>
}

/** What a model is told about a situation, as one JSON value. */
export const contextAsState = ({ state, messages, systemPrompt, documentSummaries }: AnswerContext): Schema.Json => {
  const surroundings = {
    ...(messages === undefined || messages.length === 0
      ? {}
      : { messages: messages.map(({ role, content }) => ({ role, content })) }),
    ...(systemPrompt === undefined || systemPrompt === null || systemPrompt === ""
      ? {}
      : { system_prompt: systemPrompt }),
    ...(documentSummaries === undefined || documentSummaries.length === 0
      ? {}
      : { document_summaries: documentSummaries.map(({ filename, summary }) => ({ filename, summary })) })
  }
  const given = state ?? null
  if (Object.keys(surroundings).length === 0) return given ?? {}
  return given === null ? surroundings : { ...surroundings, state: given }
}

/** Writes a state as text: for a prompt, and for the user's message of a turn without content. */
export const textOfState = (state: Schema.Json): string => (typeof state === "string" ? state : JSON.stringify(state))
