/**
 * The catalogue of models. Names of models may hold slashes; here they are one segment, `%2F` inside, and
 * `SlashedNames.ts` lets them come as they are.
 */
import { ModelType } from "@colloquy/core/adapters"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { NotFound } from "../wire/Errors.ts"
import { BooleanWord, IntegerWord } from "../wire/Fields.ts"
import { Model, ModelList, ProviderList, VideoModel, VideoModelList } from "../wire/ModelRecords.ts"
import { described } from "./Described.ts"

const tokens = IntegerWord.check(Schema.isGreaterThanOrEqualTo(0))

/** A page of the catalogue may be far larger than other pages. */
const page = {
  skip: Schema.optionalKey(tokens),
  limit: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 15_000 })))
}

const paged = { ...page, provider: Schema.optionalKey(Schema.String) }

const filters = {
  ...paged,
  model_type: Schema.optionalKey(ModelType),
  supports_tools: Schema.optionalKey(BooleanWord),
  min_context: Schema.optionalKey(tokens),
  max_context: Schema.optionalKey(tokens)
}

const params = { model_name: Schema.String }

export const ModelsApi = HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/models", { query: filters, success: ModelList }).annotateMerge(
      described("read", "List models of every kind")
    ),
    HttpApiEndpoint.get("providers", "/models/providers", { success: ProviderList }).annotateMerge(
      described("read", "List the providers that have models")
    ),
    HttpApiEndpoint.get("ofProvider", "/models/provider/:provider", {
      params: { provider: Schema.String },
      query: page,
      success: ModelList
    }).annotateMerge(described("read", "List the models of a provider")),
    HttpApiEndpoint.get("embeddings", "/models/embedding/all", { query: paged, success: ModelList }).annotateMerge(
      described("read", "List models for embeddings")
    ),
    HttpApiEndpoint.get("embeddingProviders", "/models/embedding/providers", { success: ProviderList }).annotateMerge(
      described("read", "List the providers that have models for embeddings")
    ),
    HttpApiEndpoint.get("embedding", "/models/embedding/:model_name", {
      params,
      success: Model,
      error: NotFound
    }).annotateMerge(described("read", "Look at a model for embeddings")),
    HttpApiEndpoint.get("images", "/models/image/all", { query: paged, success: ModelList }).annotateMerge(
      described("read", "List models for images")
    ),
    HttpApiEndpoint.get("videos", "/models/video/all", { query: paged, success: VideoModelList }).annotateMerge(
      described("read", "List models for videos")
    ),
    HttpApiEndpoint.get("video", "/models/video/:model_name", {
      params,
      success: VideoModel,
      error: NotFound
    }).annotateMerge(described("read", "Look at a model for videos")),
    HttpApiEndpoint.get("get", "/models/:model_name", { params, success: Model, error: NotFound }).annotateMerge(
      described("read", "Look at a model")
    )
  )
  .annotate(OpenApi.Title, "Models")
  .annotate(OpenApi.Description, "What can answer, with limits, prices and capabilities. What is not known is null.")
