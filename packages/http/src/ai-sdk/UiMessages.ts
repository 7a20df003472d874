/** A stored thread as the messages that a chat begins with: `useChat({ id: thread.thread_id, messages: uiMessages(thread) })`. Pure. */
import type { UIMessage } from "ai"
import type { StoredMessage, Thread } from "../wire/Records.ts"
import { inputOf, type TurnMetadata } from "./UiChunks.ts"

export const uiMessages = (thread: Thread): Array<UIMessage<TurnMetadata>> =>
  thread.messages.map((message) => ({
    id: message.message_id,
    role: message.role === "user" ? "user" : "assistant",
    parts: partsOf(message),
    ...(message.run_id === null
      ? {}
      : { metadata: { threadId: thread.thread_id, assistantId: thread.assistant_id, runId: message.run_id } })
  }))

type Parts = UIMessage["parts"]

const partsOf = ({ content, generated_media, metadata_, tool_calls }: StoredMessage): Parts => {
  const parts: Parts = []
  if (content !== null && content !== "") parts.push({ type: "text", text: content, state: "done" })
  for (const { mime_type, url } of generated_media ?? []) parts.push({ type: "file", url, mediaType: mime_type })
  for (const { title, url } of sourcesIn(metadata_)) parts.push({ type: "source-url", sourceId: url, url, title })
  for (const call of tool_calls ?? []) {
    parts.push({
      type: "dynamic-tool",
      toolName: call.function.name,
      toolCallId: call.id,
      state: "input-available",
      input: inputOf(call.function.arguments)
    })
  }
  return parts
}

/** Pages that the answer rests on. */
const sourcesIn = (
  metadata: StoredMessage["metadata_"]
): ReadonlyArray<{ readonly url: string; readonly title: string }> => {
  const sources = metadata?.["sources"]
  if (!Array.isArray(sources)) return []
  return sources.flatMap((source: unknown) => {
    if (typeof source !== "object" || source === null || !("url" in source) || typeof source.url !== "string") return []
    const title = "title" in source && typeof source.title === "string" ? source.title : source.url
    return [{ url: source.url, title }]
  })
}
