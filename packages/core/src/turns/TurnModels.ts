/**
 * The providers as turns use them. The information on a model is merged: what the host states comes first, then the provider's own list.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Catalog } from "../catalog/Catalog.ts"
import { mergeModelInfo } from "../models/ModelInfo.ts"
import { Providers } from "../models/Provider.ts"

export class TurnModels extends Context.Service<TurnModels, typeof Providers.Service>()(
  "@colloquy/core/turns/TurnModels"
) {
  static readonly layer: Layer.Layer<TurnModels, never, Providers | Catalog> = Layer.effect(
    TurnModels,
    Effect.gen(function* () {
      const providers = yield* Providers
      const catalog = yield* Catalog
      return TurnModels.of({
        ...providers,
        resolve: (provider, model) =>
          Effect.flatMapEager(providers.resolve(provider, model), (resolved) =>
            Effect.map(catalog.known(provider, model), (listed) =>
              listed === undefined ? resolved : { ...resolved, info: mergeModelInfo(listed, resolved.info) }
            )
          )
      })
    })
  )
}
