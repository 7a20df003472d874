/**
 * A store was reached and will not take what it was given, now or later: a number beyond its range, a name too long for its index. Trying
 * again cannot help; writing something else can. It is a defect, because everything that is known to be refused is refused before it comes
 * to a store; `contentRefused` finds it in a cause, for those who must go on all the same (a settlement).
 */
import * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"

export class ContentRefused extends Schema.TaggedError<ContentRefused>()("ContentRefused", {
  operation: Schema.String,
  /** The store's own code for what is wrong, such as an SQLSTATE. Nothing of the content. */
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
