/**
 * The one infrastructure fault that every storage port may report: the store cannot be reached, or did not answer in time. Whether the
 * operation took effect is not known. Every other fault of a store is a defect of its adapter (`ContentRefused`, when the store refuses the
 * content).
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
