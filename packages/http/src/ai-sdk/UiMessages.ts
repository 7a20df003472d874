/**
 * A stored thread as the messages that a chat begins with: `useChat({ id: thread.thread_id, messages: uiMessages(thread) })`. Pure. All that
 * one run has answered is one message, as it is when it comes as a stream.
 */
import type { DynamicToolUIPart, UIMessage } from "ai"
import type { StoredMessage, Thread } from "../wire/Records.ts"
import { documentParts, pageParts } from "./Sources.ts"
import { parsedArguments, type TurnMetadata } from "./UiChunks.ts"

export const uiMessages = (thread: Thread): Array<UIMessage<TurnMetadata>> => {
  const messages: Array<UIMessage<TurnMetadata>> = []
  for (const message of thread.messages) {
    const last = messages.at(-1)
    const parts = message.role === "user" ? questionParts(message) : answerParts(message)
    if (message.role === "assistant" && last?.role === "assistant" && last.metadata?.runId === message.run_id) {
      // Each answer of a run names the excerpts of the whole run.
      const names = new Set(parts.flatMap((part) => (part.type === "source-document" ? [part.sourceId] : [])))
      last.parts = last.parts.filter((part) => part.type !== "source-document" || !names.has(part.sourceId))
      last.parts.push(...parts)
      if (last.metadata !== undefined) last.metadata = { ...last.metadata, ...turnMetadata(thread, message) }
      continue
    }
    const metadata = turnMetadata(thread, message)
    messages.push({
      id: message.message_id,
      role: message.role,
      parts,
      ...(metadata === undefined ? {} : { metadata })
    })
  }
  return messages
}

type Parts = UIMessage["parts"]

const turnMetadata = (thread: Thread, message: StoredMessage): TurnMetadata | undefined =>
  message.run_id === null
    ? undefined
    : {
        threadId: thread.thread_id,
        assistantId: thread.assistant_id,
        runId: message.run_id,
        ...(message.model_name === null ? {} : { model: message.model_name }),
        ...(message.input_tokens === null ? {} : { inputTokens: message.input_tokens }),
        ...(message.output_tokens === null ? {} : { outputTokens: message.output_tokens })
      }

const textParts = ({ content }: StoredMessage): Parts =>
  content === null || content === "" ? [] : [{ type: "text", text: content, state: "done" }]

/** The words, and the files that came with them. */
const questionParts = (message: StoredMessage): Parts => [
  ...textParts(message),
  ...(message.attachments ?? []).map(({ filename, mime_type, url }) => ({
    type: "file" as const,
    url,
    filename,
    mediaType: mime_type ?? "application/octet-stream"
  }))
]

const answerParts = (message: StoredMessage): Parts => [
  { type: "step-start" },
  ...hostedParts(message.metadata_),
  ...textParts(message),
  ...(message.generated_media ?? []).map(({ mime_type, url }) => ({
    type: "file" as const,
    url,
    mediaType: mime_type
  })),
  ...documentParts(message),
  ...pageParts(message.metadata_),
  ...callParts(message)
]

/** Calls of the client's tools and calls that need an approval: answered, waiting, or left behind by the conversation. */
const callParts = ({ metadata_, status, tool_calls }: StoredMessage): Parts => {
  const outputs = recordsIn(metadata_, "tool_outputs")
  return (tool_calls ?? []).map((call) => {
    const { arguments: text, name } = call.function
    const shown = { type: "dynamic-tool" as const, toolName: name, toolCallId: call.id, input: parsedArguments(text) }
    const found = outputs.find(({ tool_call_id }) => tool_call_id === call.id)
    if (found?.["decision"] !== undefined) return decidedPart(shown, found)
    if (found !== undefined)
      return { ...shown, state: "output-available" as const, output: parsedArguments(textIn(found["output"])) }
    if (status === "REQUIRES_ACTION" && call.kind === "approval")
      return { ...shown, state: "approval-requested" as const, approval: { id: call.id } }
    return status === "REQUIRES_ACTION"
      ? { ...shown, state: "input-available" as const }
      : { ...shown, state: "output-error" as const, errorText: "It was not answered: the conversation went on." }
  })
}

const decidedPart = (
  shown: Pick<DynamicToolUIPart, "toolCallId" | "toolName" | "type"> & { readonly input: unknown },
  { decision, output, reason }: Readonly<Record<string, unknown>>
): Parts[number] => {
  const approval = { id: shown.toolCallId, ...(typeof reason === "string" ? { reason } : {}) }
  if (decision === "reject") return { ...shown, state: "output-denied", approval: { ...approval, approved: false } }
  const approved = { ...approval, approved: true as const }
  return typeof output === "string"
    ? {
        ...shown,
        state: "output-available",
        output: parsedArguments(output),
        approval: approved,
        providerExecuted: true
      }
    : { ...shown, state: "approval-responded", approval: approved }
}

/** Calls that the server has run itself. */
const hostedParts = (metadata: StoredMessage["metadata_"]): Parts =>
  recordsIn(metadata, "hosted_calls").map((call) => ({
    type: "dynamic-tool",
    toolName: textIn(call["tool_name"]),
    toolCallId: textIn(call["tool_call_id"]),
    input: parsedArguments(textIn(call["arguments"])),
    state: "output-available",
    output: parsedArguments(textIn(call["output"])),
    providerExecuted: true
  }))

const recordsIn = (
  metadata: StoredMessage["metadata_"],
  field: string
): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  const found = metadata?.[field]
  return Array.isArray(found) ? found.filter(isRecord) : []
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const textIn = (value: unknown): string => (typeof value === "string" ? value : "")
