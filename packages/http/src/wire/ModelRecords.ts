/** Entries of the catalogue as the service answers with them. Null means not known, and neither yes nor no. */
import { ModelType } from "@colloquy/core/adapters"
import * as Schema from "effect/Schema"
import { Timestamp } from "./Fields.ts"

const text = Schema.NullOr(Schema.String)
const integer = Schema.NullOr(Schema.Int)
const price = Schema.NullOr(Schema.Finite)
const known = Schema.NullOr(Schema.Boolean)

const entry = {
  /** The complete id, with a provider prefix where the provider has such. */
  name: Schema.String,
  provider: Schema.String,
  model_type: ModelType,
  display_name: text,
  context_limit: integer,
  max_output_tokens: integer,
  supports_tools: known,
  supports_json_output: known,
  supports_thinking: known,
  supports_vision: known,
  supports_pdf_input: known,
  supports_audio_input: known,
  supports_video_input: known,
  supports_audio_output: known,
  supports_video_output: known,
  thinking_controls: Schema.NullOr(
    Schema.Struct({ efforts: Schema.Array(Schema.String), budget: Schema.Boolean, style: text })
  ),
  embedding_dimensions: integer,
  input_cost_per_1m_tokens: price,
  output_cost_per_1m_tokens: price,
  /** When the provider's list was fetched; null for a model that only the host knows. */
  last_updated: Schema.NullOr(Timestamp)
}

const video = {
  id: Schema.String,
  architecture: Schema.NullOr(Schema.JsonObject),
  supported_durations: Schema.Json,
  supported_resolutions: Schema.Json,
  supported_aspect_ratios: Schema.Json,
  supported_sizes: Schema.Json,
  supported_frame_images: Schema.Json,
  generate_audio: known,
  seed: known,
  upscale_factor: Schema.NullOr(Schema.JsonObject),
  creativity: Schema.NullOr(Schema.Array(Schema.Json)),
  pricing_skus: Schema.JsonObject,
  allowed_passthrough_parameters: Schema.Json
}

/** A model of videos, as the API tells of it. */
export const VideoModel = Schema.Struct({ ...entry, ...video, supports_video_output: Schema.Boolean }).annotate({
  identifier: "VideoModel"
})
export type VideoModel = typeof VideoModel.Type

/** A model of pictures in the catalogue. */
export const ImageModel = Schema.Struct({
  ...entry,
  id: Schema.String,
  architecture: video.architecture,
  supported_parameters: Schema.Json
}).annotate({ identifier: "ImageModel" })
export type ImageModel = typeof ImageModel.Type

/** A model for voice sessions in the catalogue. */
export const RealtimeModel = Schema.Struct({
  ...entry,
  model_type: Schema.Literal("realtime"),
  realtime_capabilities: Schema.NullOr(Schema.JsonObject)
}).annotate({ identifier: "RealtimeModel" })
export type RealtimeModel = typeof RealtimeModel.Type

/** What every model of the catalogue has. */
export const PlainModel = Schema.Struct(entry).annotate({ identifier: "Model" })
export type PlainModel = typeof PlainModel.Type

/** The kinds with fields of their own come first: an entry is written as the first kind that fits. */
export const Model = Schema.Union([VideoModel, ImageModel, RealtimeModel, PlainModel])
export type Model = typeof Model.Type

const total = Schema.Int

/** A page of models. */
export const ModelList = Schema.Struct({ models: Schema.Array(Model), total }).annotate({ identifier: "ModelList" })
/** A page of video models. */
export const VideoModelList = Schema.Struct({ models: Schema.Array(VideoModel), total }).annotate({
  identifier: "VideoModelList"
})

/** The providers of the server. */
export const ProviderList = Schema.Struct({ providers: Schema.Array(Schema.String), total }).annotate({
  identifier: "ProviderList"
})

/** A model as one upstream serves it. */
const UpstreamOffer = Schema.Struct({
  model_name: Schema.String,
  variant: text,
  context_limit: integer,
  max_output_tokens: integer,
  input_cost_per_1m_tokens: price,
  output_cost_per_1m_tokens: price
}).annotate({ identifier: "UpstreamOffer" })

/** `slug` is what `router.providers` and `router.ignore` of a message take. */
const UpstreamProvider = Schema.Struct({
  name: Schema.String,
  slug: Schema.String,
  provider: Schema.String,
  models: Schema.Array(UpstreamOffer)
}).annotate({ identifier: "UpstreamProvider" })
/** One upstream of a router. */
export type UpstreamProvider = typeof UpstreamProvider.Type

/** The upstreams of a router. */
export const UpstreamProviderList = Schema.Struct({ providers: Schema.Array(UpstreamProvider), total }).annotate({
  identifier: "UpstreamProviderList"
})

/** What is left on the account of the owner. */
export const Balance = Schema.Struct({ balance_usd: price }).annotate({ identifier: "Balance" })

const UsageRow = Schema.Struct({
  date: Schema.String.annotate({ format: "date" }),
  model: Schema.String,
  /** What it was spent for: `chat`, `search`, `image`, `video`, … */
  purpose: Schema.String,
  /** Null where no provider gives a price. */
  amount_deducted_usd: price
}).annotate({ identifier: "UsageRow" })
/** One row of what was used. */
export type UsageRow = typeof UsageRow.Type

/** A page of what was used. */
export const RecentUsage = Schema.Struct({
  data: Schema.Array(UsageRow),
  page: Schema.Int,
  page_size: Schema.Int,
  total,
  total_pages: Schema.Int
}).annotate({ identifier: "RecentUsage" })
