/**
 * The contract of `RealtimeModel`, in the terms of the port. The suite calls a model only through the port, and controls the vendor behind
 * it (a server that speaks the vendor's wire) through `RealtimeVendor`.
 */
import { describe, it } from "@effect/vitest"
import { checkRealtime, type RealtimeChecks } from "./RealtimeChecks.ts"
import type { OpenVendor } from "./RealtimeListening.ts"

export type { OpenVendor, RealtimeVendor, VoicePlay } from "./RealtimeListening.ts"

/** The checks that the model cannot pass, each with its reason. */
export interface RealtimeSuiteOptions {
  /** Names of checks, each with the reason. */
  readonly cannot?: { readonly [Check in keyof RealtimeChecks]?: string }
}

/** How many milliseconds the model and its vendor may take for a step. */
const usualPatience = 5000

/** What every realtime model must do. */
export const realtimeModelSuite = (
  name: string,
  open: OpenVendor,
  { cannot = {} }: RealtimeSuiteOptions = {}
): void => {
  // Longer than the steps may take, so that the sentence comes first.
  const test = (title: string, check: keyof RealtimeChecks): void => {
    if (cannot[check] === undefined) it.live(title, () => checkRealtime(open, check, usualPatience), 60_000)
  }

  describe(`the contract of RealtimeModel: ${name}`, () => {
    test("MUST tell that it is ready before anything that the model says", "readiness")
    test(
      "MUST tell an answer from its start to its end, with its words, its audio byte by byte, and what it used",
      "answers"
    )
    test("MUST tell a call of a tool once, with its whole arguments", "calls")
    test("MUST send the outputs of tools", "outputs")
    test("MUST send instructions, tools, history and the texts of the client", "setsUp")
    test("MUST use other instructions and tools from the next answer on, or refuse them", "changes")
    test("MUST send the audio of the client in its order", "sendsAudio")
    test("MUST say once when a piece of audio was sent, and how many bytes wait", "tellsWhatIsSent")
    test("MUST send a commit of audio, or refuse it", "commits")
    test("MUST cancel an answer if it can, and refuse it otherwise", "cancels")
    test("MUST stop reading while it is paused, and lose nothing", "pauses")
    test("MUST tell once, as the last event, that the vendor has closed the connection", "closes")
    test("MUST close the connection with its scope, and tell nothing more", "endsWithScope")
    test("MUST tell nothing after its scope has closed, also in the middle of an answer", "endsInTheMiddle")
    test("MUST fail when the vendor refuses the connection, without the key", "refuses")
    test("MUST ask with the customer's own key if there is one", "asksWithKey")
  })
}
