/** An effect that is handed on and never run here. */
import type { Inspectable } from "effect/Inspectable"
import type { Pipeable } from "effect/Pipeable"

export interface Effect<out Value, out Failure = never, out Needs = never> extends Pipeable, Inspectable {
  readonly "~effect/Effect": {
    readonly _A: (_: never) => Value
    readonly _E: (_: never) => Failure
    readonly _R: (_: never) => Needs
  }
  [Symbol.iterator](): { next(...given: ReadonlyArray<unknown>): IteratorResult<Effect<Value, Failure, Needs>, Value> }
}
