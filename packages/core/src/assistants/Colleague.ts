/** Another assistant of the same owner, as an assistant knows it: to ask it for help, or to hand the conversation over to it. */
import * as Schema from "effect/Schema"
import { AssistantId } from "../primitives/Ids.ts"
import { ToolName } from "../tools/ToolDefinition.ts"

export const Colleague = Schema.Struct({
  assistantId: AssistantId,
  /** The name of the tool with which the model asks it; of a handoff: what follows `hand_off_to_`. */
  name: ToolName,
  /** What it is good for, in words for the model. */
  description: Schema.String
})
export type Colleague = typeof Colleague.Type

/** The most helpers of one assistant, and the most handoffs. */
export const mostColleagues = 32

/** How the names of handoff tools begin. */
export const handoffPrefix = "hand_off_to_"

/** The name under which the model calls a helper: 1 to 64 characters, as for any tool. */
export const helperName = ToolName

/** With its prefix, the name of a handoff has at most the 64 characters of a tool's name. */
export const handoffName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,52}$/u, { expected: "1 to 52 characters of A-Z, a-z, 0-9, _ and -" })
)
