/**
 * What a model read and said, as attributes of the span of its call, for hosts that ask for content. Pictures and other files are named by their
 * types alone.
 */
import { genAi } from "../primitives/GenAi.ts"
import type { ChatEvent } from "./ChatEvent.ts"
import type { ChatMessage, ChatRequest, ContentPart } from "./ChatRequest.ts"
import type { ChatRecording } from "./SpanContent.ts"

/** Gives spans their content: `Layer.succeed(SpanContent, spanContent)`. */
export const spanContent = (request: ChatRequest): ChatRecording => {
  const said: Said = { text: "", calls: [], reason: "error" }
  return {
    asked: asked(request),
    hear: (event) => note(said, event),
    said: () => ({ [genAi.outputMessages]: JSON.stringify([answer(said)]) })
  }
}

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
