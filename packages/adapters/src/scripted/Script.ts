/**
 * The words of a scripted conversation. A script is a list of steps, one for each call of the model; a step is a list of beats: what the
 * model says, which tools it calls, where it pauses or fails. `ScriptedModel` plays it.
 */
import type { Usage } from "@colloquy/core"
import type { ChatRequest, FinishReason, ModelErrorReason } from "@colloquy/core/adapters"
import type * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"

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

/** One call of the model: a beat, or several with lists of beats among them. */
export type ScriptStep = Beat | ReadonlyArray<Beat | ReadonlyArray<Beat>>

/** Says a text; given several, each is a delta of its own. */
export const say = (...deltas: ReadonlyArray<string>): Beat => ({ _tag: "Text", deltas })

/** Says a text in deltas of so many characters each. */
export const sayInChunks = (text: string, size: number): Beat => {
  const characters = Array.from(text)
  const count = Math.ceil(characters.length / size)
  return say(
    ...Array.from({ length: count }, (_, index) => characters.slice(index * size, (index + 1) * size).join(""))
  )
}

/** Thinks aloud. */
export const think = (...deltas: ReadonlyArray<string>): Beat => ({ _tag: "Reasoning", deltas })

/** Calls a tool. Arguments that are a string go as they are, so that a script can write broken JSON. */
export const callTool = (name: string, args: Schema.JsonObject | string = {}, id: string | null = null): Beat => ({
  _tag: "ToolCall",
  id,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args)
})

/** Calls several tools in one step: `callTools(["weather", { city: "Paris" }], ["time"])`. */
export const callTools = (...calls: ReadonlyArray<Parameters<typeof callTool>>): ReadonlyArray<Beat> =>
  calls.map((call) => callTool(...call))

/** Gives a picture, sound or clip that it made by itself. */
export const draw = (mediaType: string, bytes: Uint8Array): Beat => ({ _tag: "Media", mediaType, bytes })

/** Cites a page that its vendor's own search has found. */
export const cite = (url: string, title: string | null = null): Beat => ({ _tag: "Source", url, title })

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
export const hang: Beat = { _tag: "Hang" }

/** Waits for a while, by the clock of the test. */
export const pause = (duration: Duration.Input): Beat => ({ _tag: "Pause", duration })

/** Waits until the test opens the gate: `reached` tells it that the model stands there, `release` lets it pass. */
export const gate = (name = "gate"): Beat => ({ _tag: "Gate", name })

/** Looks at what the model is asked. A check that throws fails the script. */
export const expect = (check: (request: ChatRequest) => void): Beat => ({ _tag: "Expect", check })
