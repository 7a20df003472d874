/**
 * What a scripted voice model does, beat by beat: `ScriptedRealtime.make([hear("Hello?"), say("Hello."), callTool("get_time", {})])`.
 * `hear` waits for the client's audio, `callTool` for the outputs; the others play at once.
 */
import type { Usage } from "@colloquy/core"
import type * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"

export type VoiceBeat =
  | { readonly _tag: "Hear"; readonly transcript: string | null }
  | { readonly _tag: "Read"; readonly text: string }
  | { readonly _tag: "Say"; readonly text: string; readonly audio: Uint8Array; readonly usage: Partial<Usage> }
  | { readonly _tag: "CallTool"; readonly name: string; readonly arguments: string; readonly id: string | null }
  | { readonly _tag: "CancelTool"; readonly id: string }
  | { readonly _tag: "Interrupt"; readonly heard: number }
  | { readonly _tag: "Fail"; readonly reason: string }
  | { readonly _tag: "Close"; readonly reason: string }
  | { readonly _tag: "Refuse"; readonly reason: string }
  | { readonly _tag: "Pause"; readonly duration: Duration.Input }
  | { readonly _tag: "Hang" }

/** Waits for audio of the client, and understands it as this. Null: it cannot be transcribed. */
export const hear = (transcript: string | null): VoiceBeat => ({ _tag: "Hear", transcript })

/** Waits for a text frame with exactly this text. */
export const read = (text: string): VoiceBeat => ({ _tag: "Read", text })

/** One whole answer: transcript, audio (a tenth of a second of silence for each word unless given), usage. */
export const say = (
  text: string,
  options: { readonly audio?: Uint8Array; readonly usage?: Partial<Usage> } = {}
): VoiceBeat => ({
  _tag: "Say",
  text,
  audio: options.audio ?? new Uint8Array(4800 * text.split(/\s+/u).length),
  usage: { inputTokens: 10, outputTokens: text.split(/\s+/u).length, costUsd: 0.001, ...options.usage }
})

/** An answer that calls a tool, and waits until its output is there. */
export const callTool = (name: string, args: Schema.JsonObject, id: string | null = null): VoiceBeat => ({
  _tag: "CallTool",
  name,
  arguments: JSON.stringify(args),
  id
})

/** Nobody waits for this call any more. It does not wait for the outputs of the call before it. */
export const cancelTool = (id: string): VoiceBeat => ({ _tag: "CancelTool", id })

/** The user speaks while the last answer is played; `heard` is the part of it, from 0 to 1, that was played. */
export const interrupt = (heard = 1): VoiceBeat => ({ _tag: "Interrupt", heard })

/** Reports an error, and goes on. */
export const fail = (reason: string): VoiceBeat => ({ _tag: "Fail", reason })

/** The vendor closes the connection. */
export const close = (reason: string): VoiceBeat => ({ _tag: "Close", reason })

/** As the first beat: the vendor does not take the connection. */
export const refuse = (reason: string): VoiceBeat => ({ _tag: "Refuse", reason })

/** Waits for a while, by the clock of the test. */
export const pause = (duration: Duration.Input): VoiceBeat => ({ _tag: "Pause", duration })

/** As the last beat: the model says nothing more, however long the session lasts. */
export const hang: VoiceBeat = { _tag: "Hang" }
