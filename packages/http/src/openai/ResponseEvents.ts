/** The events of a streamed response, made of those of its run. Each is numbered; the first and the last hold the whole record. */
import { isTerminal, type TurnEvent } from "@colloquy/core"
import {
  begun,
  type Beginning,
  callItem,
  cutBy,
  messageItem,
  outputItems,
  responseRecord,
  type ResponseParts,
  textPart
} from "./ResponseRecord.ts"
import { responseAnnotations } from "./Annotations.ts"
import { writeItemId } from "./Ids.ts"

type End = Extract<TurnEvent, { readonly _tag: "RunEnded" | "ToolSubmitRequired" | "RunFailed" | "RunCancelled" }>

export class ResponseEvents {
  /** The last event has been seen: nothing is left to cancel. */
  hasEnded = false
  private readonly beginning: Beginning
  private number = 0
  private parts: ResponseParts
  private messageId = ""
  /** The text of the open message so far. Null: no message is open. */
  private text: string | null = null

  /** `createdAt` is the time of a response that ends before its run begins. */
  constructor(beginning: Beginning, createdAt: Date) {
    this.beginning = beginning
    this.parts = begun(beginning, "", createdAt, "in_progress")
  }

  readonly encode = (events: ReadonlyArray<TurnEvent>): string => events.map((event) => this.take(event)).join("")

  private take(event: TurnEvent): string {
    if (isTerminal(event)) this.hasEnded = true
    switch (event._tag) {
      case "RunStarted":
      case "RunContinuing":
        this.messageId = event.messageId
        this.parts = begun(this.beginning, `${event.provider}/${event.model}`, new Date(event.at), "in_progress")
        return this.whole("response.created") + this.whole("response.in_progress")
      case "TextDelta":
        return this.opened() + this.delta(event.text)
      case "ToolSubmitRequired":
      case "RunEnded":
      case "RunFailed":
      case "RunCancelled":
        return this.end(event)
      default:
        return ""
    }
  }

  private tell(type: string, fields: object): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields, sequence_number: this.number++ })}\n\n`
  }

  private whole(type: string): string {
    return this.tell(type, { response: responseRecord(this.parts) })
  }

  private get position() {
    return { item_id: writeItemId("msg", this.messageId), output_index: 0, content_index: 0 }
  }

  private opened(): string {
    if (this.text !== null) return ""
    this.text = ""
    return (
      this.tell("response.output_item.added", {
        output_index: 0,
        item: messageItem(this.messageId, null, "in_progress")
      }) + this.tell("response.content_part.added", { ...this.position, part: textPart("") })
    )
  }

  private delta(text: string): string {
    this.text = (this.text ?? "") + text
    return this.tell("response.output_text.delta", { ...this.position, delta: text, logprobs: [] })
  }

  /** The text of the end event is the valid one: markers that name nothing are removed from it. */
  private closed(status: "completed" | "incomplete", { content: text, supplements = {} }: End): string {
    if (this.text === null) return ""
    const annotations = responseAnnotations(supplements)
    const added = annotations.map((annotation, annotation_index) =>
      this.tell("response.output_text.annotation.added", { ...this.position, annotation_index, annotation })
    )
    return (
      added.join("") +
      this.tell("response.output_text.done", { ...this.position, text, logprobs: [] }) +
      this.tell("response.content_part.done", { ...this.position, part: textPart(text, annotations) }) +
      this.tell("response.output_item.done", {
        output_index: 0,
        item: messageItem(this.messageId, text, status, annotations)
      })
    )
  }

  private calls(event: End): string {
    if (event._tag !== "ToolSubmitRequired") return ""
    const first = this.text === null ? 0 : 1
    return event.toolCalls
      .filter(({ approval }) => approval === undefined)
      .map((call, index) => {
        const position = { item_id: writeItemId("fc", this.messageId, index), output_index: first + index }
        const item = (status: string, text: string) =>
          callItem(this.messageId, { ...call, arguments: text }, index, status)
        return (
          this.tell("response.output_item.added", {
            output_index: position.output_index,
            item: item("in_progress", "")
          }) +
          this.tell("response.function_call_arguments.delta", { ...position, delta: call.arguments }) +
          this.tell("response.function_call_arguments.done", {
            ...position,
            name: call.name,
            arguments: call.arguments
          }) +
          this.tell("response.output_item.done", {
            output_index: position.output_index,
            item: item("completed", call.arguments)
          })
        )
      })
      .join("")
  }

  private end(event: End): string {
    const isDone = event._tag === "RunEnded" || event._tag === "ToolSubmitRequired"
    const calls = event._tag === "ToolSubmitRequired" ? event.toolCalls : []
    const cut = event._tag === "RunEnded" ? cutBy(event.stopReason ?? null) : cutBy(null, calls)
    const status = isDone && cut === null ? "completed" : "incomplete"
    this.parts = { ...this.parts, model: `${event.provider}/${event.model}` }
    // A message that waits for its thread may end before its run begins.
    const created = this.number === 0 ? this.whole("response.created") : ""
    this.parts = {
      ...this.parts,
      status: isDone ? status : event._tag === "RunFailed" ? "failed" : "cancelled",
      cut,
      fault: event._tag === "RunFailed" ? { code: event.code, message: event.error, retryable: event.retryable } : null,
      output: outputItems(event.messageId, event.content, calls, status, event.supplements ?? null),
      usage: event.usage
    }
    const type =
      status === "completed"
        ? "response.completed"
        : event._tag === "RunFailed"
          ? "response.failed"
          : "response.incomplete"
    return created + this.closed(status, event) + this.calls(event) + this.whole(type)
  }
}
