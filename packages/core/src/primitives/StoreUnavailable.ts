/**
 * The one infrastructure fault that every storage port may report: the store cannot be reached, or did not answer in time.
 * Nothing can be said about whether the operation took effect. Every other storage fault is a defect at the adapter's edge
 * (`ContentRefused`, when the store was reached and will never take what it was given).
 */
import * as Schema from "effect/Schema"

export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()("StoreUnavailable", {
  operation: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message() {
    return `The store could not be reached during ${this.operation}. Try again; check that the database is up.`
  }
}
