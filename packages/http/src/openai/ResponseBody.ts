/** The body of `POST /v1/responses`, and the conversation in its input. Pure. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { maybe } from "../wire/Fields.ts"
import { ResponsePart, userItemFrom, onlyText } from "./Content.ts"
import { invalid, type OpenAiError } from "./Errors.ts"
import { responseSettings } from "./Options.ts"
import type { Media } from "./Request.ts"
import { ResponseTool } from "./Tools.ts"
import type { Conversation, ReadItem } from "./Transcript.ts"

const content = Schema.Union([Schema.String, Schema.Array(ResponsePart)])

const Message = Schema.Struct({
  type: Schema.optionalKey(Schema.Literal("message")),
  role: Schema.Literals(["user", "assistant", "system", "developer"]),
  content
})

const FunctionCall = Schema.Struct({
  type: Schema.Literal("function_call"),
  call_id: Schema.String,
  name: Schema.String,
  arguments: Schema.String
})

const FunctionCallOutput = Schema.Struct({
  type: Schema.Literal("function_call_output"),
  call_id: Schema.String,
  output: content
})

/** Thoughts of a model. The kernel keeps them itself, so as input they are ignored. */
const Reasoning = Schema.Struct({ type: Schema.Literal("reasoning") })

const InputItem = Schema.Union([Message, FunctionCall, FunctionCallOutput, Reasoning])
type InputItem = typeof InputItem.Type

export const InputItems = Schema.Array(InputItem)

/** An object of pairs of text, as OpenAI has it. */
const Pairs = Schema.Record(Schema.String, Schema.String)

export const ResponseBody = Schema.Struct({
  model: maybe(Schema.String.check(Schema.isMinLength(1))),
  input: maybe(Schema.Union([Schema.String, InputItems])),
  instructions: maybe(Schema.String),
  previous_response_id: maybe(Schema.String),
  conversation: maybe(Schema.Union([Schema.String, Schema.Struct({ id: Schema.String })])),
  store: maybe(Schema.Boolean),
  background: maybe(Schema.Boolean),
  stream: maybe(Schema.Boolean),
  stream_options: maybe(Schema.Unknown),
  tools: maybe(Schema.Array(ResponseTool)),
  ...responseSettings,
  text: maybe(
    Schema.Struct({
      format: maybe(
        Schema.Struct({
          type: Schema.Literals(["text", "json_object", "json_schema"]),
          name: maybe(Schema.String),
          schema: maybe(Schema.JsonObject)
        })
      )
    })
  ),
  reasoning: maybe(Schema.Struct({ effort: maybe(Schema.String) })),
  metadata: maybe(Pairs)
})
export type ResponseBody = typeof ResponseBody.Type

export const conversationIn = (
  input: ResponseBody["input"],
  media: Media,
  field: "input" | "items" = "input"
): Result.Result<Conversation, OpenAiError> => {
  if (typeof input === "string") {
    const item = { role: "user", content: [{ type: "text", text: input }] } as const
    return Result.succeed({ developer: [], items: [{ item, param: field }] })
  }
  const developer: Array<string> = []
  const items: Array<ReadItem> = []
  for (const [index, each] of (input ?? []).entries()) {
    const read = itemFrom(each, `${field}[${index}]`, media)
    if (Result.isFailure(read)) return Result.fail(read.failure)
    if (typeof read.success === "string") developer.push(read.success)
    else if (read.success !== null) items.push(read.success)
  }
  return Result.succeed({ developer, items })
}

/** A text is what the developer says. Null: nothing that a model reads. */
const itemFrom = (
  each: InputItem,
  param: string,
  media: Media
): Result.Result<ReadItem | string | null, OpenAiError> => {
  if (each.type === "function_call") {
    const call = { id: each.call_id, name: each.name, arguments: each.arguments }
    return Result.succeed({ item: { role: "assistant", content: "", toolCalls: [call] }, param })
  }
  if (each.type === "function_call_output") {
    if (hasFiles(each.output)) return Result.fail(invalid("The output of a tool is text here.", `${param}.output`))
    const item = { role: "tool", toolCallId: each.call_id, toolName: "", output: onlyText(each.output) } as const
    return Result.succeed({ item, param: `${param}.call_id` })
  }
  if (each.type === "reasoning") return Result.succeed(null)
  switch (each.role) {
    case "system":
    case "developer":
      return Result.succeed(onlyText(each.content))
    case "assistant":
      return Result.succeed({
        item: { role: "assistant", content: onlyText(each.content), toolCalls: [] },
        param
      })
    case "user":
      return Result.map(userItemFrom(each.content, `${param}.content`, media), (item) => ({ item, param }))
  }
}

const hasFiles = (parts: string | ReadonlyArray<typeof ResponsePart.Type>): boolean =>
  typeof parts !== "string" && parts.some((part) => !("text" in part) && !("refusal" in part))
