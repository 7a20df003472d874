/**
 * The vocabulary of a scripted conversation. A script is a list of steps, one for each call of the model. A step is a list of beats: texts, tool
 * calls, pauses and failures of the model. `ScriptedModel` plays the script.
 */
import type { Usage } from "@colloquy/core"
import type { ChatRequest, FinishReason, ModelErrorReason } from "@colloquy/core/adapters"
import type * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"

/** One thing that a scripted model does. */
export type Beat =
  | { readonly _tag: "Text"; readonly deltas: ReadonlyArray<string> }
  | { readonly _tag: "Reasoning"; readonly deltas: ReadonlyArray<string> }
  | { readonly _tag: "ToolCall"; readonly id: string | null; readonly name: string; readonly arguments: string }
  | { readonly _tag: "Media"; readonly mediaType: string; readonly bytes: Uint8Array }
  | { readonly _tag: "Source"; readonly url: string; readonly title: string | null }
  | { readonly _tag: "Usage"; readonly usage: Partial<Usage> }
  | { readonly _tag: "ProviderData"; readonly data: Schema.Json }
  | { readonly _tag: "Finish"; readonly reason: FinishReason; readonly model: string | null }
  | { readonly _tag: "Fail"; readonly reason: ModelErrorReason; readonly retryAfterMillis: number | null }
  | { readonly _tag: "Cut" }
  | { readonly _tag: "Hang" }
  | { readonly _tag: "Pause"; readonly duration: Duration.Input }
  | { readonly _tag: "Gate"; readonly name: string }
  | { readonly _tag: "Expect"; readonly check: (request: ChatRequest) => void }

/** One call of the model: a beat, or a list of beats that may contain further lists. */
export type ScriptStep = Beat | ReadonlyArray<Beat | ReadonlyArray<Beat>>

/** Says a text. Several arguments are several deltas. */
export const say = (...deltas: ReadonlyArray<string>): Beat => ({ _tag: "Text", deltas })

/** Says a text in deltas of `size` characters. */
export const sayInChunks = (text: string, size: number): Beat => {
  const characters = Array.from(text)
  const count = Math.ceil(characters.length / size)
  return say(
    ...Array.from({ length: count }, (_, index) => characters.slice(index * size, (index + 1) * size).join(""))
  )
}

/** Emits reasoning. Several arguments are several deltas. */
export const think = (...deltas: ReadonlyArray<string>): Beat => ({ _tag: "Reasoning", deltas })

/** Calls a tool. Arguments given as a string are sent unchanged, so that a script can contain invalid JSON. */
export const callTool = (name: string, args: Schema.JsonObject | string = {}, id: string | null = null): Beat => ({
  _tag: "ToolCall",
  id,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args)
})

/** Calls several tools in one step: `callTools(["weather", { city: "Paris" }], ["time"])`. */
export const callTools = (...calls: ReadonlyArray<Parameters<typeof callTool>>): ReadonlyArray<Beat> =>
  calls.map((call) => callTool(...call))

/** Emits an image, audio or video that the model has made. */
export const draw = (mediaType: string, bytes: Uint8Array): Beat => ({ _tag: "Media", mediaType, bytes })

/** Cites a page that the vendor's own web search has found. */
export const cite = (url: string, title: string | null = null): Beat => ({ _tag: "Source", url, title })

/** Reports usage; missing fields are zero. A step without it reports ten input tokens, and one output token for each delta. */
export const uses = (usage: Partial<Usage>): Beat => ({ _tag: "Usage", usage })

/** Adds data that the provider wants back with this answer in later requests. */
export const remembers = (data: Schema.Json): Beat => ({ _tag: "ProviderData", data })

/** Ends the step with another finish reason than `stop`. */
export const finish = (reason: FinishReason, model: string | null = null): Beat => ({ _tag: "Finish", reason, model })

/** Fails like a provider. */
export const fail = (reason: ModelErrorReason, options: { readonly retryAfterMillis?: number } = {}): Beat => ({
  _tag: "Fail",
  reason,
  retryAfterMillis: options.retryAfterMillis ?? null
})

/** Ends the stream before the answer is complete. */
export const cut: Beat = { _tag: "Cut" }

/** Emits nothing more and never ends. */
export const hang: Beat = { _tag: "Hang" }

/** Waits for some time of the test's clock. */
export const pause = (duration: Duration.Input): Beat => ({ _tag: "Pause", duration })

/** Waits until the test opens the gate. In the test, `reached` waits for the model to arrive, and `release` opens the gate. */
export const gate = (name = "gate"): Beat => ({ _tag: "Gate", name })

/** Checks the request to the model. If the check throws, the script fails. */
export const expect = (check: (request: ChatRequest) => void): Beat => ({ _tag: "Expect", check })
