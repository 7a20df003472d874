/**
 * Answers that have to be one JSON value. The part of a turn that wants one says in which form, and checks what the model wrote; the loop
 * with the model asks for it, and asks once more if it cannot be used.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { OutputForm } from "../models/ChatRequest.ts"
import type { RunFault } from "../threads/Message.ts"

export interface WantedOutput {
  /** For providers that can hold a model to a schema. */
  readonly form: OutputForm
  /** For all other providers: a text that is appended to the system prompt. */
  readonly instruction: string
  /** Pure. Called with the text of an answer without calls. */
  readonly check: (text: string, asked: AskedOutput) => OutputVerdict
}

/** How the model was asked. */
export interface AskedOutput {
  /** The provider was given the form, and the model was not told the instruction. */
  readonly isNative: boolean
  /** This is the answer to the words of `Repair`. */
  readonly isRepair: boolean
}

export type OutputVerdict =
  /** `keep` is stored with the answer, as the supplement of the part. */
  | { readonly _tag: "Fits"; readonly keep: Schema.Json }
  /** The model reads these words and answers again. A second time they count as `Unusable`, so a part must not say `Repair` to a repair. */
  | { readonly _tag: "Repair"; readonly words: string }
  | { readonly _tag: "Unusable"; readonly keep: Schema.Json; readonly fault: RunFault }

/** The part that turns a JSON Schema into such answers: the wing `outputs`. */
export const outputsPartName = "outputs"

/** What that part keeps with an answer. */
export const KeptOutput = Schema.Struct({
  /** Null when the answer did not fit its schema. (A schema may ask for null, too.) */
  value: Schema.Json,
  /** `native`: the provider was given the schema. `instructed`: the model was told it in words. `repaired`: the first answer did not fit. */
  method: Schema.Literals(["native", "instructed", "repaired"])
})
export type KeptOutput = typeof KeptOutput.Type

const read = Schema.decodeUnknownOption(KeptOutput)

/** Null if the answer was not asked for as a JSON value, or was not written to its end. */
export const outputIn = (kept: unknown): KeptOutput | null => Option.getOrNull(read(kept))
