/**
 * Spans for those who trace. A span costs a turn a good part of its time even when nothing collects it, so none is made unless the fiber has
 * a tracer other than Effect's default. Used in place of `Effect.fn` and `Effect.withSpan` throughout the kernel and its adapters.
 */
import * as Effect from "effect/Effect"
import type * as Tracer from "effect/Tracer"

export const traced =
  (name: string, options?: Tracer.SpanOptionsNoTrace) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) =>
      fiber.cache.tracer === undefined
        ? effect
        : Effect.useSpan(name, { ...options }, (span) =>
            Effect.withParentSpan(effect, span, { captureStackTrace: false })
          )
    )

/** `Effect.fnUntraced`, and a span of this name for those who trace. */
export const tracedFn = (name: string): Effect.fn.Untraced => {
  const define = (...definition: ReadonlyArray<unknown>) => {
    const body: (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown, unknown> = Reflect.apply(
      Effect.fnUntraced,
      undefined,
      definition
    )
    const spanned = traced(name)
    return (...args: ReadonlyArray<unknown>) => spanned(body(...args))
  }
  return define
}
