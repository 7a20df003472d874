/**
 * The providers as turns use them. The information on a model is merged: what the host states comes first, then the provider's own list.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Catalog } from "../catalog/Catalog.ts"
import { type ModelInfo, mergeModelInfo } from "../models/ModelInfo.ts"
import { Providers, type ResolvedModel } from "../models/Provider.ts"

export class TurnModels extends Context.Service<TurnModels, typeof Providers.Service>()(
  "@colloquy/core/turns/TurnModels"
) {
  static readonly layer: Layer.Layer<TurnModels, never, Providers | Catalog> = Layer.effect(
    TurnModels,
    Effect.gen(function* () {
      const providers = yield* Providers
      const catalog = yield* Catalog
      /** By the catalogue's entry, which stays the same until its list is read again. */
      const merged = new WeakMap<ModelInfo, ResolvedModel>()
      return TurnModels.of({
        ...providers,
        resolve: (provider, model) =>
          Effect.flatMap(catalog.known(provider, model), (listed) => {
            if (listed === undefined) return providers.resolve(provider, model)
            const known = merged.get(listed)
            if (known !== undefined) return Effect.succeed(known)
            return Effect.map(providers.resolve(provider, model), (resolved) => {
              const whole = { ...resolved, info: mergeModelInfo(listed, resolved.info) }
              merged.set(listed, whole)
              return whole
            })
          })
      })
    })
  )
}
