/**
 * How a model writes its answer: settings that an assistant has and a message may change, one by one. A driver sends those that its vendor
 * takes for the model; the turn tells the others (`IgnoredOptions`).
 */
import * as Schema from "effect/Schema"

const optional = Schema.optionalKey

/** How a call of a tool is wanted: `required` is any one, a name is that one. It holds for the first model call of a run. */
export const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.Struct({ name: Schema.String })
])
export type ToolChoice = typeof ToolChoice.Type

const fraction = (maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum }))

export const Sampling = Schema.Struct({
  temperature: optional(fraction(2)),
  topP: optional(fraction(1)),
  maxOutputTokens: optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  /** The answer ends before the first of these texts. */
  stop: optional(Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1), Schema.isMaxLength(8))),
  seed: optional(Schema.Int),
  parallelToolCalls: optional(Schema.Boolean)
})
/** What goes with every model call. */
export type Sampling = typeof Sampling.Type

export const ModelOptions = Schema.Struct({
  ...Sampling.fields,
  toolChoice: optional(ToolChoice),
  /** The most model calls of a run. The last one is asked without tools. */
  maxSteps: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64 })))
})
export type ModelOptions = typeof ModelOptions.Type

/** The options of a turn: those of the message before those of the assistant, one by one. */
export const joinedOptions = (ofAssistant: ModelOptions | null, ofMessage: ModelOptions | undefined): ModelOptions => ({
  ...ofAssistant,
  ...ofMessage
})
