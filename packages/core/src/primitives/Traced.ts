/**
 * Spans that are made only when the fiber has a tracer other than Effect's default, because a span costs a good part of a turn's time even
 * if nothing collects it. Used instead of `Effect.fn` and `Effect.withSpan` throughout the kernel and its adapters.
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

/** `Effect.fnUntraced`, with a span of this name when there is a tracer. */
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
