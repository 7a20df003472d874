/**
 * The words of a scripted conversation. A script is a list of steps, one for each call of the model; a step is a list of beats: what the
 * model says, which tools it calls, where it pauses or fails. `ScriptedModel` plays it.
 */
import type { ChatRequest, FinishReason, ModelErrorReason, Usage } from "@colloquy/core"
import type * as Schema from "effect/Schema"

export type Beat =
  | { readonly _tag: "Text"; readonly deltas: ReadonlyArray<string> }
  | { readonly _tag: "Reasoning"; readonly deltas: ReadonlyArray<string> }
  | { readonly _tag: "ToolCall"; readonly id: string | null; readonly name: string; readonly arguments: string }
  | { readonly _tag: "Usage"; readonly usage: Partial<Usage> }
  | { readonly _tag: "ProviderData"; readonly data: Schema.Json }
  | { readonly _tag: "Finish"; readonly reason: FinishReason; readonly model: string | null }
  | { readonly _tag: "Fail"; readonly reason: ModelErrorReason; readonly retryAfterMillis: number | null }
  | { readonly _tag: "Cut" }
  | { readonly _tag: "Silence" }
  | { readonly _tag: "Pause"; readonly name: string }
  | { readonly _tag: "Expect"; readonly check: (request: ChatRequest) => void }

/** One call of the model. */
export type ScriptStep = Beat | ReadonlyArray<Beat>

/** Says a text; given several, each is a delta of its own. */
export const say = (...deltas: ReadonlyArray<string>): Beat => ({ _tag: "Text", deltas })

/** Thinks aloud. */
export const reason = (...deltas: ReadonlyArray<string>): Beat => ({ _tag: "Reasoning", deltas })

/** Calls a tool. Arguments that are a string go as they are, so that a script can write broken JSON. */
export const callTool = (name: string, args: Schema.JsonObject | string = {}, id: string | null = null): Beat => ({
  _tag: "ToolCall",
  id,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args)
})

/** Reports usage; what is not given is zero. A step without it reports ten tokens in and one out for each delta. */
export const uses = (usage: Partial<Usage>): Beat => ({ _tag: "Usage", usage })

/** Data that the provider wants back with this answer. */
export const remembers = (data: Schema.Json): Beat => ({ _tag: "ProviderData", data })

/** Ends the step in another way than by having said everything. */
export const finish = (reason: FinishReason, model: string | null = null): Beat => ({ _tag: "Finish", reason, model })

/** Fails, as a provider would. */
export const fail = (reason: ModelErrorReason, options: { readonly retryAfterMillis?: number } = {}): Beat => ({
  _tag: "Fail",
  reason,
  retryAfterMillis: options.retryAfterMillis ?? null
})

/** The stream ends before the answer does. */
export const cut: Beat = { _tag: "Cut" }

/** The model says nothing more and never ends. */
export const silence: Beat = { _tag: "Silence" }

/** Waits until the test releases the name. */
export const pause = (name = "pause"): Beat => ({ _tag: "Pause", name })

/** Looks at what the model is asked. A check that throws fails the script. */
export const expect = (check: (request: ChatRequest) => void): Beat => ({ _tag: "Expect", check })
