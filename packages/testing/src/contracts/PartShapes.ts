/**
 * What the steps of a part of turns give, as schemas, because a part may be written without types. The kernel checks some of it in a running
 * turn; the contract of parts checks all of it.
 */
import { PromptPart, ToolCall, ToolDefinition, Usage } from "@colloquy/core"
import { type ChatMessage, IgnoredOption, ProviderData, RunFault } from "@colloquy/core/adapters"
import * as Schema from "effect/Schema"

const Callable = Schema.declare((value): value is () => unknown => typeof value === "function", {
  expected: "a function"
})

/** Absent is the same as undefined here, as for the kernel; in other shapes it is not. */
export const Decision = Schema.Struct({
  plan: Schema.Unknown,
  supplement: Schema.optional(Schema.Json),
  tokens: Schema.optional(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  ignored: Schema.optional(Schema.Array(IgnoredOption)),
  answers: Schema.optional(Schema.Struct({ provider: Schema.String, model: Schema.String })),
  allowsEmptyContent: Schema.optional(Schema.Boolean),
  content: Schema.optional(Schema.String)
})

export const Heard = Schema.Struct({ content: Schema.String, supplement: Schema.optional(Schema.Json) })

/** Undefined stands for no options. */
export const Options = Schema.UndefinedOr(Schema.Json)

export const PromptParts = Schema.Array(PromptPart)

export const Answer = Schema.Struct({
  content: Schema.String.check(Schema.isNonEmpty({ expected: "words" })),
  usage: Schema.optional(Usage),
  model: Schema.optional(Schema.String),
  supplement: Schema.optional(Schema.Json)
})

export const IsKept = Schema.UndefinedOr(Schema.Boolean)

export const Hosted = Schema.Struct({ definition: ToolDefinition, run: Callable })

/** A text is the name of a tool that the vendor runs. */
export const Tools = Schema.Array(Schema.Union([Schema.String, Hosted]))

export const Share = Schema.Struct({
  tools: Schema.Array(Hosted),
  instructions: Schema.NullOr(Schema.String),
  followUps: Schema.optional(Callable)
})

export const ReviewShape = Schema.Struct({ by: Schema.Literals(["sentence", "whole"]), judge: Callable })

export const VerdictShape = Schema.Union([
  Schema.TaggedStruct("Pass", {}),
  Schema.TaggedStruct("Change", { text: Schema.String }),
  Schema.TaggedStruct("Stop", { reason: Schema.String }),
  Schema.TaggedStruct("Replace", { text: Schema.String })
])

export const Wanted = Schema.Struct({
  form: Schema.Struct({
    name: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/u)),
    schema: Schema.JsonObject
  }),
  instruction: Schema.String,
  check: Callable
})

export const Checked = Schema.Union([
  Schema.TaggedStruct("Fits", { keep: Schema.Json }),
  Schema.TaggedStruct("Repair", { words: Schema.String }),
  Schema.TaggedStruct("Unusable", { keep: Schema.Json, fault: RunFault })
])

export const Orders = Schema.Array(
  Schema.Struct({
    kind: Schema.String,
    key: Schema.String,
    payload: Schema.Json,
    sequence: Schema.optionalKey(Schema.String),
    delayMillis: Schema.optionalKey(Schema.Finite)
  })
)

const Content = Schema.Array(
  Schema.Union([
    Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
    Schema.Struct({
      type: Schema.Literals(["image", "audio", "video", "file"]),
      mediaType: Schema.String,
      filename: Schema.NullOr(Schema.String),
      source: Schema.Union([Schema.Struct({ bytes: Schema.Uint8Array }), Schema.Struct({ url: Schema.String })])
    })
  ])
)

const Messages = Schema.Array(
  Schema.Union([
    Schema.Struct({ role: Schema.Literal("user"), content: Content }),
    Schema.Struct({
      role: Schema.Literal("assistant"),
      content: Schema.String,
      toolCalls: Schema.Array(ToolCall),
      providerData: Schema.NullOr(ProviderData)
    }),
    Schema.Struct({
      role: Schema.Literal("tool"),
      toolCallId: Schema.String,
      toolName: Schema.String,
      output: Schema.String
    })
  ])
)

export const Rendered = Schema.Struct({
  content: Schema.optionalKey(Content),
  before: Schema.optionalKey(Messages),
  after: Schema.optionalKey(Messages)
})

/** What is wrong with the tool calls of a list, as the end of a sentence; null: each has its output later in the list. */
export const callFault = (messages: ReadonlyArray<ChatMessage>): string | null => {
  const open = new Set<string>()
  for (const message of messages) {
    if (message.role === "assistant") for (const { id } of message.toolCalls) open.add(id)
    if (message.role === "tool" && !open.delete(message.toolCallId))
      return `shows an output of the tool call "${message.toolCallId}" without the call before it`
  }
  const [call] = open
  return call === undefined ? null : `shows the tool call "${call}" without its output`
}
