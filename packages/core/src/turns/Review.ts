/** The types of a review of answers (`TurnPart.review`): the pieces that a part is shown, and its verdicts. */
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"

/** How a part reviews the answers of one leg. */
export interface Review {
  /**
   * How much is held back. `sentence`: a piece ends with a sentence or a line. `whole`: a piece is all that a model writes until it calls a
   * tool or ends. The pieces do not depend on how the provider splits its text, within a model call or over several: an answer that a provider
   * interrupts is one text with what follows. A value that is neither ends the run as `review_failed`.
   */
  readonly by: "sentence" | "whole"
  readonly judge: (piece: ReviewedPiece) => Effect.Effect<Verdict, unknown, Principal>
}

/** A piece of an answer that nobody has read yet. */
export interface ReviewedPiece {
  readonly text: string
  /** The text that this part has let pass before in this leg, of the same assistant. */
  readonly before: string
  /** The tool whose arguments (JSON) `text` is; the call is told when they have passed. Null: `text` is what the reader sees. */
  readonly tool: string | null
}

/**
 * `Pass`: the piece is told as it is. `Change`: `text` is told in its place. `Stop`: neither the piece nor anything after it is told; the
 * run fails as `review_stopped`, with `reason` as its message and what was told before as its partial answer. `Replace`: `text` is told
 * instead of the piece and of everything after it, and the run completes. Where the answer has to be one JSON value, `text` must be one that fits.
 */
export type Verdict =
  | { readonly _tag: "Pass" }
  | { readonly _tag: "Change"; readonly text: string }
  | { readonly _tag: "Stop"; readonly reason: string }
  | { readonly _tag: "Replace"; readonly text: string }
