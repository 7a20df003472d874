/**
 * A store was reached and refuses the content, now and later: a number beyond its range, a name too long for its index. A retry cannot
 * help; other content can. It is a defect, because known refusals are made before a store is called. `contentRefused` finds it in a cause,
 * for code that must continue all the same (a settlement).
 */
import * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"

export class ContentRefused extends Schema.TaggedError<ContentRefused>()("ContentRefused", {
  operation: Schema.String,
  /** The store's own code for the problem, such as an SQLSTATE. It contains nothing of the content. */
  code: Schema.String
}) {
  override get message() {
    return `The store refused what ${this.operation} was given (${this.code}). Nothing was stored; the same content will be refused again.`
  }
}

export const contentRefused = (cause: Cause.Cause<unknown>): ContentRefused | undefined =>
  cause.reasons
    .filter(Cause.isDieReason)
    .map(({ defect }) => defect)
    .find((defect) => defect instanceof ContentRefused)
