/**
 * What a model read and said, as attributes of the span of its call, for hosts that ask for content. Pictures and other files are named by their
 * types alone. Without a tracer, or without the host's wish, a step passes through as it is.
 */
import * as Effect from "effect/Effect"
import { genAi, SpanContent } from "../primitives/GenAi.ts"
import type { ChatEvent } from "./ChatEvent.ts"
import type { ChatMessage, ChatRequest, ContentPart } from "./ChatRequest.ts"

/** Around the call, inside its span. `call` gets what every event is to be told to as well; null: nothing is kept. */
export const withContent = <E>(
  request: ChatRequest,
  call: (noting: ((event: ChatEvent) => void) | null) => Effect.Effect<void, E>
): Effect.Effect<void, E> =>
  Effect.withFiber((fiber) => {
    if (fiber.cache.tracer === undefined || !fiber.getRef(SpanContent)) return call(null)
    const said: Said = { text: "", calls: [], reason: "error" }
    return Effect.annotateCurrentSpan(asked(request)).pipe(
      Effect.andThen(call((event) => note(said, event))),
      Effect.onExit(() => Effect.annotateCurrentSpan(genAi.outputMessages, JSON.stringify([answer(said)])))
    )
  })

interface Said {
  text: string
  readonly calls: Array<{ readonly id: string; readonly name: string; readonly arguments: string }>
  reason: string
}

const note = (said: Said, event: ChatEvent): void => {
  if (event._tag === "TextDelta") said.text += event.text
  if (event._tag === "ToolCallReady") said.calls.push(event.call)
  if (event._tag === "Finished") said.reason = event.reason
}

const asked = ({ messages, system, tools }: ChatRequest) => ({
  ...(system === null ? {} : { [genAi.system]: JSON.stringify([words(system)]) }),
  [genAi.inputMessages]: JSON.stringify(messages.map(message)),
  ...(tools.length === 0
    ? {}
    : { [genAi.toolDefinitions]: JSON.stringify(tools.map((tool) => ({ type: "function", ...tool }))) })
})

const words = (content: string) => ({ type: "text", content })

const part = (each: ContentPart) =>
  each.type === "text"
    ? words(each.text)
    : { type: each.type, mime_type: each.mediaType, ...("url" in each.source ? { uri: each.source.url } : {}) }

const callPart = ({ arguments: args, id, name }: Said["calls"][number]) => ({
  type: "tool_call",
  id,
  name,
  arguments: args
})

const message = (each: ChatMessage) => {
  if (each.role === "user") return { role: each.role, parts: each.content.map(part) }
  if (each.role === "tool")
    return { role: each.role, parts: [{ type: "tool_call_response", id: each.toolCallId, response: each.output }] }
  return { role: each.role, parts: [words(each.content), ...each.toolCalls.map(callPart)] }
}

const answer = ({ calls, reason, text }: Said) => ({
  role: "assistant",
  parts: [...(text === "" ? [] : [words(text)]), ...calls.map(callPart)],
  finish_reason: reason
})
