/** The verdicts of a review, and the failure of a part that reviews. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { ReviewedPiece, Review, Verdict } from "./Review.ts"

/** A part stopped the answer. */
export class ReviewStopped extends Schema.TaggedError<ReviewStopped>()("ReviewStopped", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** An answer could not be reviewed, so the rest of it is not told. */
export class ReviewFailed extends Schema.TaggedError<ReviewFailed>()("ReviewFailed", { isLate: Schema.Boolean }) {
  override get message() {
    return this.isLate
      ? "The answer was not checked in time, so the rest of it is withheld. Send the message again."
      : "The answer could not be checked, so the rest of it is withheld. The operator of the server finds the cause in the log."
  }
}

/** The review of a part, which never fails: a fault of the part is a verdict. */
export interface BoundReview {
  readonly by: Review["by"]
  readonly judge: (piece: ReviewedPiece) => Effect.Effect<Verdict | ReviewFailed, never, Principal>
}
