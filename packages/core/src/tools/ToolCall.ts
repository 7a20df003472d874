/** A model's request to run a tool, and the answer to it. Arguments stay the text that the model wrote. */
import * as Schema from "effect/Schema"

export const ToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** JSON text as the model wrote it; `{}` if it wrote nothing. */
  arguments: Schema.String
})
export type ToolCall = typeof ToolCall.Type

/** What a client submits for one open call. */
export const ToolOutput = Schema.Struct({ toolCallId: Schema.String, output: Schema.String })
export type ToolOutput = typeof ToolOutput.Type

/** An answered call, stored with the message that made it. `hosted` is true if the kernel ran it. */
export const ToolResult = Schema.Struct({
  toolCallId: Schema.String,
  toolName: Schema.String,
  output: Schema.String,
  hosted: Schema.Boolean
})
export type ToolResult = typeof ToolResult.Type
