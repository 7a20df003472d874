/**
 * Pure: all that a model of typed answers may look at, as one value. A turn gives the conversation, the system prompt and the summaries
 * of documents; a host that asks directly gives a state and nothing else, and then the model sees exactly that.
 *
 * The names inside are read by models, and by the clients' own models behind the same wire: they are those of the specification.
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

export const stateOf = ({ state, messages, systemPrompt, documentSummaries }: AnswerContext): Schema.Json => {
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

/** How a state is written where only text fits: in a prompt, and as the user's message of a turn without content. */
export const textOfState = (state: Schema.Json): string => (typeof state === "string" ? state : JSON.stringify(state))
