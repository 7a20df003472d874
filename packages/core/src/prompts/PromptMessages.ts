/**
 * Pure: converts stored messages to the messages of a prompt: with the provider's own data for the provider that wrote it, neutral for
 * every other.
 */
import type { ChatMessage, ContentPart } from "../models/ChatRequest.ts"
import type { Message, Step } from "../threads/Message.ts"
import type { ToolCall, ToolResult } from "../tools/ToolCall.ts"

/** The output of a call that was never answered, because its run was cancelled, superseded or cut. */
const unansweredCall = "No result: the conversation went on before this call was answered."

/** The output of a call that was approved and has none, because its run ended first. */
const approvedCall = {
  notRun: "No result: the call was approved, but the conversation went on before it was run.",
  unknown: "No result: the call was approved and begun, and the server stopped before its result was known."
}

/** The model reads which arguments ran, if they are not its own. */
export const promptOutput = ({ decided, output }: ToolResult): string =>
  decided?.arguments === undefined || decided.isAnswer === true
    ? output
    : `(Who approved this call changed its arguments to ${decided.arguments}.)\n${output}`

const readable =
  ({ status }: Message) =>
  (result: ToolResult): ToolResult => {
    if (result.isPending === true)
      return { ...result, output: status === "CANCELLED" ? approvedCall.notRun : approvedCall.unknown }
    return result.decided === undefined ? result : { ...result, output: promptOutput(result) }
  }

/** What a model reads of a user's message besides its text. */
export interface RenderedMessage {
  /** Pictures, audio and files, which follow the text. */
  readonly content: ReadonlyArray<ContentPart>
  /** Separate messages before and after it. */
  readonly before: ReadonlyArray<ChatMessage>
  readonly after: ReadonlyArray<ChatMessage>
}

/** Undefined: the message has only its text. */
export type Rendered = (message: Message) => RenderedMessage | undefined

export const addMessage = (
  into: Array<ChatMessage>,
  message: Message,
  provider: string,
  rendered: Rendered,
  /** Texts that precede the user's own text. */
  before: ReadonlyArray<string>
): void => {
  if (message.role === "user") {
    const more = rendered(message)
    // Nearly all messages of users are a text and nothing else.
    if (more === undefined && before.length === 0) {
      into.push({ role: "user", content: [{ type: "text", text: message.content ?? "" }] })
      return
    }
    const texts = message.content === null || message.content === "" ? before : [...before, message.content]
    const content = [...texts.map((text) => ({ type: "text", text }) as const), ...(more?.content ?? [])]
    if (more !== undefined) into.push(...more.before)
    into.push({ role: "user", content: content.length === 0 ? [{ type: "text", text: "" }] : content })
    if (more !== undefined) into.push(...more.after)
  } else if (message.steps.length > 0) {
    for (const step of message.steps) addStep(into, step, message.toolResults.map(readable(message)), provider)
  } else if (message.content !== null) {
    into.push({ role: "assistant", content: message.content, toolCalls: [], providerData: null })
  }
}

export const addStep = (
  into: Array<ChatMessage>,
  step: Step,
  submitted: ReadonlyArray<ToolResult>,
  provider: string
): void => {
  // A step that contains only data for another provider is left out.
  if (step.text === "" && step.toolCalls.length === 0 && step.providerData?.provider !== provider) return
  into.push({ role: "assistant", content: step.text, toolCalls: step.toolCalls, providerData: step.providerData })
  const results = new Map([...submitted, ...step.hostedResults].map((result) => [result.toolCallId, result]))
  for (const call of step.toolCalls) into.push(toolMessage(call, results.get(call.id)))
}

const toolMessage = (call: ToolCall, result: ToolResult | undefined): ChatMessage => ({
  role: "tool",
  toolCallId: call.id,
  toolName: call.name,
  output: result?.output ?? unansweredCall
})

/** The text of a message, for counting. */
export const messageText = (message: ChatMessage): string => {
  switch (message.role) {
    case "user":
      return message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
    case "assistant":
      return message.content + message.toolCalls.map((call) => call.name + call.arguments).join("")
    case "tool":
      return message.output
  }
}
