/** One question to a chat model and its whole answer as text, with the retries and the time limits of every conversation. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { noUsage, type Usage } from "../primitives/Usage.ts"
import type { ChatDriver } from "./ChatDriver.ts"
import { converse, defaultChatPolicy } from "./ChatModel.ts"
import type { ChatRequest, OutputForm } from "./ChatRequest.ts"
import { ModelError } from "./ModelError.ts"
import { estimateTokens } from "./EstimateTokens.ts"

/** The provider, model and key of a question. */
export type CompletionTarget = Pick<ChatRequest, "provider" | "model" | "info" | "apiKey" | "conversationId">

export interface CompletionPolicy {
  readonly retries: number
  readonly longestRetryPause: Duration.Input
  /** Time limit of the first word. The whole answer may take five times as long. */
  readonly timeout: Duration.Input
}

export interface Completion {
  readonly text: string
  readonly model: string | null
  readonly usage: Usage
}

export interface Question {
  readonly system: string
  readonly prompt: string
  readonly jsonOutput: boolean
  /** For providers that can hold a model to a schema. What the others write may be anything. */
  readonly output?: OutputForm
}

export const complete = (
  chat: ChatDriver,
  request: CompletionTarget,
  { jsonOutput, output, prompt, system }: Question,
  settings: CompletionPolicy
): Effect.Effect<Completion, ModelError> =>
  Effect.suspend(() => {
    const { provider, model, info, apiKey, conversationId } = request
    const asked: ChatRequest = {
      provider,
      model,
      info,
      apiKey,
      conversationId,
      system,
      tools: [],
      toolChoice: "none",
      messages: [{ role: "user", content: [{ type: "text", text: prompt }] }],
      thinking: null,
      routing: null,
      jsonOutput,
      ...(output === undefined ? {} : { output }),
      maxOutputTokens: null
    }
    const heard = { text: "", model: null as string | null, usage: null as Usage | null, isFiltered: false }
    const listener = {
      pause: () => {},
      hear: (event: Parameters<Parameters<typeof converse>[3]["hear"]>[0]) => {
        if (event._tag === "TextDelta") heard.text += event.text
        else if (event._tag === "Usage") heard.usage = event.usage
        else if (event._tag === "Finished") {
          heard.model = event.model
          heard.isFiltered = event.reason === "filtered"
        }
      }
    }
    return Effect.flatMap(converse(chat, asked, completionPolicy(settings), listener), () => {
      const usage = heard.usage ?? estimate(system + prompt, heard.text)
      return heard.isFiltered
        ? Effect.fail(new ModelError({ reason: "refused", provider, model, usage }))
        : Effect.succeed({ text: heard.text, model: heard.model, usage })
    })
  })

const completionPolicy = ({ retries, longestRetryPause, timeout }: CompletionPolicy) => ({
  ...defaultChatPolicy,
  retries,
  longestRetryPause,
  firstEventTimeout: timeout,
  stepTimeout: Duration.times(Duration.fromInputUnsafe(timeout), 5),
  maxOutputCharacters: 200_000
})

const estimate = (asked: string, said: string): Usage => ({
  ...noUsage,
  inputTokens: estimateTokens(asked),
  outputTokens: estimateTokens(said),
  estimated: true
})
