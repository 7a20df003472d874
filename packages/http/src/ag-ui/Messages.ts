/** A stored thread as messages of AG-UI, with the ids that its client knows them by. Pure. */
import type { Message as StoredMessage } from "@colloquy/core"
import type { Message } from "@ag-ui/core"
import type { InputMessage } from "./RunInput.ts"

/** The field of a user message's metadata that holds the id which its client gave it. */
export const idField = "ag_ui_message_id"

/** The id by which the client knows a message. */
export const clientId = ({ id, metadata }: StoredMessage): string => {
  const given = metadata?.[idField]
  return typeof given === "string" ? given : id
}

/** The id of one message of a leg. After the results of a message's calls, the next message begins. */
export const partId = (messageId: string, index: number): string => (index === 0 ? messageId : `${messageId}-${index}`)

export const resultId = (toolCallId: string): string => `${toolCallId}-result`

export const toAgUi = (
  stored: ReadonlyArray<StoredMessage>,
  known: ReadonlyArray<InputMessage> = []
): ReadonlyArray<Message> => {
  const results = new Map(
    known.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message.id] as const] : []))
  )
  const result = ({ output, toolCallId }: { readonly output: string; readonly toolCallId: string }): Message => ({
    id: results.get(toolCallId) ?? resultId(toolCallId),
    role: "tool",
    toolCallId,
    content: output
  })
  return stored.flatMap((message) => {
    if (message.role === "user") return [{ id: clientId(message), role: "user", content: message.content ?? "" }]
    const steps =
      message.steps.length > 0
        ? message.steps
        : [{ text: message.content ?? "", toolCalls: message.toolCalls, hostedResults: [] }]
    const shown = steps.filter(({ text, toolCalls }) => text !== "" || toolCalls.length > 0)
    return [
      ...shown.flatMap(({ hostedResults, text, toolCalls }, index) => [
        assistantMessage(partId(message.id, index), text, toolCalls),
        ...hostedResults.map(result)
      ]),
      ...message.toolResults.filter(({ isPending = false }) => !isPending).map(result)
    ]
  })
}

export const assistantMessage = (
  id: string,
  content: string,
  calls: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: string }>
): Message => {
  const toolCalls = calls.map(({ arguments: args, id: callId, name }) => {
    return { id: callId, type: "function" as const, function: { name, arguments: args } }
  })
  const said = content === "" ? {} : { content }
  return { id, role: "assistant", ...said, ...(toolCalls.length === 0 ? {} : { toolCalls }) }
}
