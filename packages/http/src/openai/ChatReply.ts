/** The answer of `POST /v1/chat/completions`: one record, or chunks while the model speaks. Pure. */
import { isTerminal, type TurnEvent, type TurnReply, type Usage } from "@colloquy/core"
import { totalTokens } from "@colloquy/core/adapters"
import type { RunId } from "@colloquy/core"
import { chatAnnotations } from "./Annotations.ts"
import { errorBody, fromFault, OpenAiError } from "./Errors.ts"
import { writeCompletionId } from "./Ids.ts"

const usageToChat = (usage: Usage) => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: totalTokens(usage),
  prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
  completion_tokens_details: { reasoning_tokens: usage.reasoningTokens }
})

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000)

interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

const callToChat = (call: Call) => ({
  id: call.id,
  type: "function",
  function: { name: call.name, arguments: call.arguments }
})

const finishReasons: Readonly<Record<string, string>> = {
  length: "length",
  filtered: "content_filter",
  tools: "tool_calls"
}

const finishReason = (reason: TurnReply["stopReason"]): string => finishReasons[reason ?? ""] ?? "stop"

export const chatReply = (reply: TurnReply) => {
  const calls = reply.toolCalls.map(callToChat)
  return {
    id: writeCompletionId(reply.runId),
    object: "chat.completion",
    created: seconds(reply.createdAt),
    model: `${reply.provider}/${reply.model}`,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: reply.content === "" && calls.length > 0 ? null : reply.content,
          refusal: null,
          annotations: chatAnnotations(reply.supplements),
          ...(calls.length === 0 ? {} : { tool_calls: calls })
        },
        logprobs: null,
        finish_reason: finishReason(reply.stopReason)
      }
    ],
    usage: usageToChat(reply.usage)
  }
}

export const cancelled = new OpenAiError({
  status: 409,
  message: "The answer was cancelled while it was written.",
  code: "cancelled",
  mayRetry: false
})

/** The error of a request whose call waits for an approval: the thread is removed with its answer, so nobody could approve the call. */
export const needsApproval = (calls: TurnReply["toolCalls"]): OpenAiError | null => {
  const names = calls.flatMap(({ approval, name }) => (approval === undefined ? [] : [name]))
  return names.length === 0
    ? null
    : new OpenAiError({
        status: 409,
        message: `The model called ${names.join(", ")}, which a person has to approve. This endpoint cannot wait for that; nothing was run.`,
        code: "approval_required",
        mayRetry: false
      })
}

/** The chunks of one stream. Calls are told whole, when it is known that the client has to run them. */
export class ChatChunks {
  /** The last event has been seen: nothing is left to cancel. */
  hasEnded = false
  private head = ""
  private readonly runId: RunId
  private readonly includesUsage: boolean

  constructor(runId: RunId, includesUsage: boolean) {
    this.runId = runId
    this.includesUsage = includesUsage
  }

  readonly encode = (events: ReadonlyArray<TurnEvent>): string => events.map((event) => this.take(event)).join("")

  private take(event: TurnEvent): string {
    if (isTerminal(event)) this.hasEnded = true
    switch (event._tag) {
      case "RunStarted":
        this.begin(`${event.provider}/${event.model}`, new Date(event.at))
        return this.choice({ role: "assistant", content: "", refusal: null })
      case "TextDelta":
        return this.choice({ content: event.text })
      case "ToolSubmitRequired": {
        const refused = needsApproval(event.toolCalls)
        if (refused !== null) return failed(refused)
        const deltas = event.toolCalls.flatMap((call, index) => [
          this.choice({ tool_calls: [{ index, ...callToChat({ ...call, arguments: "" }) }] }),
          this.choice({ tool_calls: [{ index, function: { arguments: call.arguments } }] })
        ])
        return deltas.join("") + this.end("tool_calls", event.usage)
      }
      case "RunEnded":
        return this.annotations(event) + this.end(finishReason(event.stopReason ?? null), event.usage)
      case "RunFailed":
        return failed(fromFault({ code: event.code, message: event.error, retryable: event.retryable }, false))
      case "RunCancelled":
        return failed(cancelled)
      default:
        return ""
    }
  }

  private begin(model: string, at: Date): void {
    const fields = { id: writeCompletionId(this.runId), object: "chat.completion.chunk", created: seconds(at), model }
    this.head = JSON.stringify(fields).slice(0, -1)
  }

  private choice(delta: object, finish_reason: string | null = null): string {
    const usage = this.includesUsage ? ',"usage":null' : ""
    return `data: ${this.head},"choices":[${JSON.stringify({ index: 0, delta, logprobs: null, finish_reason })}]${usage}}\n\n`
  }

  private annotations({ supplements = {} }: Extract<TurnEvent, { readonly _tag: "RunEnded" }>): string {
    const annotations = chatAnnotations(supplements)
    return annotations.length === 0 ? "" : this.choice({ annotations })
  }

  private end(reason: string, usage: Usage): string {
    const last = this.includesUsage
      ? `data: ${this.head},"choices":[],"usage":${JSON.stringify(usageToChat(usage))}}\n\n`
      : ""
    return `${this.choice({}, reason)}${last}data: [DONE]\n\n`
  }
}

const failed = (error: OpenAiError): string => `data: ${JSON.stringify({ error: errorBody(error) })}\n\n`
