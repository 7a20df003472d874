/** The parts of a prompt that can never be left out are larger than the model's window. */
import * as Schema from "effect/Schema"

export class ContextTooLong extends Schema.TaggedError<ContextTooLong>()("ContextTooLong", {
  needed: Schema.Int,
  available: Schema.Int,
  model: Schema.String,
  /** True where outputs of tools are what came, and no message. */
  ofOutputs: Schema.optionalKey(Schema.Boolean)
}) {
  override get message() {
    return (
      `The system prompt, the tools and ${this.ofOutputs === true ? "this turn with its tool outputs" : "this message"} need about ${this.needed} tokens; ` +
      `${this.model} leaves ${this.available} for them. Shorten them or choose a model with a larger window.`
    )
  }
}
