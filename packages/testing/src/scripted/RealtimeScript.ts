/**
 * The steps (beats) of a scripted voice model: `ScriptedRealtime.make([[hear("Hello?"), say("Hello."), callTool("get_time", {})]])`. `hear` waits
 * for audio of the client, `callTool` waits for the outputs; the others are played immediately.
 */
import type { Usage } from "@colloquy/core"
import type * as Duration from "effect/Duration"
import type * as Schema from "effect/Schema"

/** One thing that a scripted voice does. */
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

/** Waits for audio of the client and transcribes it as the given text. Null: the transcription fails. */
export const hear = (transcript: string | null): VoiceBeat => ({ _tag: "Hear", transcript })

/** Waits for a text frame with exactly this text. */
export const read = (text: string): VoiceBeat => ({ _tag: "Read", text })

/** One whole response: a transcript, audio (by default a tenth of a second of silence for each word), and usage. */
export const say = (
  text: string,
  options: { readonly audio?: Uint8Array; readonly usage?: Partial<Usage> } = {}
): VoiceBeat => ({
  _tag: "Say",
  text,
  audio: options.audio ?? new Uint8Array(4800 * text.split(/\s+/u).length),
  usage: { inputTokens: 10, outputTokens: text.split(/\s+/u).length, costUsd: 0.001, ...options.usage }
})

/** A response that calls a tool. The next beat waits until the client has sent the output. */
export const callTool = (name: string, args: Schema.JsonObject, id: string | null = null): VoiceBeat => ({
  _tag: "CallTool",
  name,
  arguments: JSON.stringify(args),
  id
})

/** The vendor cancels a call. This beat does not wait for the output of the previous call. */
export const cancelTool = (id: string): VoiceBeat => ({ _tag: "CancelTool", id })

/** The user interrupts the last response; `heard` is the played part of it, from 0 to 1. */
export const interrupt = (heard = 1): VoiceBeat => ({ _tag: "Interrupt", heard })

/** The vendor reports an error, and the session continues. */
export const fail = (reason: string): VoiceBeat => ({ _tag: "Fail", reason })

/** The vendor closes the connection. */
export const close = (reason: string): VoiceBeat => ({ _tag: "Close", reason })

/** The vendor refuses the connection. Must be the first beat. */
export const refuse = (reason: string): VoiceBeat => ({ _tag: "Refuse", reason })

/** Waits for some time of the test's clock. */
export const pause = (duration: Duration.Input): VoiceBeat => ({ _tag: "Pause", duration })

/** The model says nothing more until the session ends. Must be the last beat. */
export const hang: VoiceBeat = { _tag: "Hang" }
