/**
 * In-memory stores under observation: every call of a port goes through `intercept`, which may count it, delay it, refuse it before it
 * is done or lose its answer.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { StoreUnavailable } from "@colloquy/core"
import { AssistantStore, RunStore, ThreadStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export type Intercept = <A, E, R>(
  operation: string,
  call: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | StoreUnavailable, R>

/** Decoder: the wrapped service has the operations of the one that it wraps. */
const watched = <S extends object>(port: string, service: S, intercept: Intercept): S =>
  new Proxy(service, {
    get(target, name) {
      const operation: unknown = Reflect.get(target, name)
      if (typeof operation !== "function") return operation
      return (...args: ReadonlyArray<unknown>) =>
        intercept(
          `${port}.${String(name)}`,
          Effect.suspend(() => Reflect.apply(operation, target, args))
        )
    }
  })

export const watchedStores = (state: InMemory.State, intercept: Intercept): Layer.Layer<InMemory.Stores> =>
  Layer.mergeAll(
    Layer.effect(
      AssistantStore,
      AssistantStore.useSync((store) => watched("assistants", store, intercept))
    ),
    Layer.effect(
      ThreadStore,
      ThreadStore.useSync((store) => watched("threads", store, intercept))
    ),
    Layer.effect(
      RunStore,
      RunStore.useSync((store) => watched("runs", store, intercept))
    )
  ).pipe(Layer.provideMerge(InMemory.layerFrom(state)))

/** Stores that fail as a plan says: `lose` after the operation was done, `refuse` before it. */
export const faultyStores = (
  state: InMemory.State,
  fault: (operation: string, nth: number) => "refuse" | "lose" | null
): Layer.Layer<InMemory.Stores> => {
  const counts = new Map<string, number>()
  return watchedStores(state, (operation, call) =>
    Effect.suspend(() => {
      const nth = (counts.get(operation) ?? 0) + 1
      counts.set(operation, nth)
      const away = new StoreUnavailable({ operation })
      switch (fault(operation, nth)) {
        case "refuse":
          return Effect.fail(away)
        case "lose":
          return Effect.andThen(call, Effect.fail(away))
        default:
          return call
      }
    })
  )
}

/** Stores that take their time, before and after each operation, so that callers overtake each other. */
export const slowStores = (state: InMemory.State): Layer.Layer<InMemory.Stores> =>
  watchedStores(state, (_, call) =>
    Effect.andThen(
      Effect.yieldNow,
      Effect.tap(call, () => Effect.yieldNow)
    )
  )
