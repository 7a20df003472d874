/**
 * The one infrastructure fault that every storage port may report: the store cannot be reached, or did not answer in time. Whether the
 * operation took effect is not known. Every other fault of a store is a defect of its adapter (`ContentRefused`, when the store refuses the
 * content). The same fault tells a principal who is being erased, or who moves to another database, that nothing is taken.
 */
import * as Schema from "effect/Schema"

const beingErased = "Everything of this owner is being erased, so nothing new is taken. Try again afterwards."

export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()("StoreUnavailable", {
  operation: Schema.String,
  /** True: nothing of the principal is taken while everything of the principal is being erased. Nothing took effect. */
  isErasing: Schema.optionalKey(Schema.Boolean),
  /** True: the principal is moving to another database, or has moved there. Nothing took effect. */
  isMoving: Schema.optionalKey(Schema.Boolean),
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message() {
    if (this.isErasing === true) return beingErased
    if (this.isMoving === true) return "The owner is moving to another database. Try again in a moment."
    return `The store could not be reached during ${this.operation}. Try again; check that the database is up.`
  }
}
