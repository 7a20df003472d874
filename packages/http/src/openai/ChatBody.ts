/** The body of `POST /v1/chat/completions`, and the conversation in it. Pure. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { maybe } from "../wire/Fields.ts"
import { ChatAnswerPart, ChatTextPart, ChatUserPart, userItemFrom, onlyText } from "./Content.ts"
import type { OpenAiError } from "./Errors.ts"
import { chatSettings } from "./Options.ts"
import type { Media } from "./Request.ts"
import { ChatTool } from "./Tools.ts"
import type { Conversation, ReadItem } from "./Transcript.ts"

const words = Schema.Union([Schema.String, Schema.Array(ChatTextPart)])

const instruction = <Role extends "system" | "developer">(role: Role) =>
  Schema.Struct({ role: Schema.Literal(role), content: words })

const ChatMessage = Schema.Union([
  instruction("system"),
  instruction("developer"),
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.Union([Schema.String, Schema.Array(ChatUserPart)])
  }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: maybe(Schema.Union([Schema.String, Schema.Array(ChatAnswerPart)])),
    refusal: maybe(Schema.String),
    tool_calls: maybe(
      Schema.Array(
        Schema.Struct({
          id: Schema.String,
          type: Schema.Literal("function"),
          function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
        })
      )
    )
  }),
  Schema.Struct({ role: Schema.Literal("tool"), tool_call_id: Schema.String, content: words })
])

export const ChatBody = Schema.Struct({
  model: Schema.String.check(Schema.isMinLength(1)),
  messages: Schema.Array(ChatMessage).check(Schema.isMinLength(1)),
  stream: maybe(Schema.Boolean),
  stream_options: maybe(Schema.Struct({ include_usage: maybe(Schema.Boolean) })),
  tools: maybe(Schema.Array(ChatTool)),
  ...chatSettings,
  response_format: maybe(
    Schema.Union([
      Schema.Struct({ type: Schema.Literals(["text", "json_object"]) }),
      Schema.Struct({
        type: Schema.Literal("json_schema"),
        json_schema: Schema.Struct({ name: maybe(Schema.String), schema: maybe(Schema.JsonObject) })
      })
    ])
  ),
  reasoning_effort: maybe(Schema.String),
  metadata: maybe(Schema.JsonObject)
})
export type ChatBody = typeof ChatBody.Type

export const readConversation = ({ messages }: ChatBody, media: Media): Result.Result<Conversation, OpenAiError> => {
  const developer: Array<string> = []
  const items: Array<ReadItem> = []
  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`
    switch (message.role) {
      case "system":
      case "developer":
        developer.push(onlyText(message.content))
        break
      case "user": {
        const read = userItemFrom(message.content, `${param}.content`, media)
        if (Result.isFailure(read)) return Result.fail(read.failure)
        items.push({ item: read.success, param })
        break
      }
      case "assistant": {
        const content = onlyText(message.content) || (message.refusal ?? "")
        const toolCalls = (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }))
        items.push({ item: { role: "assistant", content, toolCalls }, param })
        break
      }
      case "tool":
        items.push({
          item: { role: "tool", toolCallId: message.tool_call_id, toolName: "", output: onlyText(message.content) },
          param: `${param}.tool_call_id`
        })
    }
  }
  return Result.succeed({ developer, items })
}
