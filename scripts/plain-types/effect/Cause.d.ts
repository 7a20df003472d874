/** What the kernel's errors are besides errors: Effect takes them as effects that fail with them. */
import type { Effect } from "effect/Effect"

export interface YieldableError extends Error, Effect<never, YieldableError> {
  readonly "~effect/Effect": Effect<never, this>["~effect/Effect"]
  [Symbol.iterator](): EffectIterator<never, this>
}

interface EffectIterator<Value, Failure> {
  next(...given: ReadonlyArray<unknown>): IteratorResult<Effect<Value, Failure>, Value>
}
