/** The catalogue over HTTP: decode, ask, encode. */
import { Catalog } from "@colloquy/core"
import { type CatalogFilter, type ModelType } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import { compact, readPage } from "../wire/Fields.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { modelToWire, videoToWire } from "../encoding/EncodeModels.ts"

interface Page {
  readonly skip?: number
  readonly limit?: number
}

export const layer = HttpApiBuilder.group(
  Api,
  "models",
  Effect.fnUntraced(function* (handlers) {
    const catalog = yield* Catalog
    const list = (filter: CatalogFilter, page: Page) =>
      Effect.map(catalog.list(filter, readPage(page)), ({ models, total }) => ({
        models: models.map(modelToWire),
        total
      }))
    const listModels = (modelType: ModelType, { provider, ...page }: Page & { readonly provider?: string }) =>
      list(compact({ modelType, provider }), page)
    const providers = (modelType?: ModelType) =>
      Effect.map(catalog.providers(modelType), (found) => ({ providers: found, total: found.length }))
    const find = (name: string, modelType?: ModelType) => Effect.mapError(catalog.find(name, modelType), toWireError)

    return handlers
      .handle("list", ({ query: { max_context, min_context, model_type, provider, supports_tools, ...page } }) =>
        list(
          compact({
            modelType: model_type,
            provider,
            supportsTools: supports_tools,
            minContext: min_context,
            maxContext: max_context
          }),
          page
        )
      )
      .handle("providers", () => providers())
      .handle("ofProvider", ({ params, query }) => list({ provider: params.provider }, query))
      .handle("embeddings", ({ query }) => listModels("embedding", query))
      .handle("embeddingProviders", () => providers("embedding"))
      .handle("embedding", ({ params }) => Effect.map(find(params.model_name, "embedding"), modelToWire))
      .handle("images", ({ query }) => listModels("image", query))
      .handle("videos", ({ query: { provider, ...page } }) =>
        Effect.map(catalog.list(compact({ modelType: "video" as const, provider }), readPage(page)), (found) => ({
          models: found.models.map(videoToWire),
          total: found.total
        }))
      )
      .handle("video", ({ params }) => Effect.map(find(params.model_name, "video"), videoToWire))
      .handle("get", ({ params }) => Effect.map(find(params.model_name), modelToWire))
  })
)
