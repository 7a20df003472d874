/**
 * A provider as the host registers it: an id, a chat driver, and information on its models. `Providers` is the registry, with the host's
 * defaults. No code of the kernel knows a provider by name.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { AnswerDriver } from "./AnswerDriver.ts"
import type { ChatDriver } from "./ChatDriver.ts"
import type { ChatRequest } from "./ChatRequest.ts"
import type { EmbeddingDriver } from "./EmbeddingDriver.ts"
import type { ImageModel } from "./ImageModel.ts"
import { describeModel, type ModelInfo } from "./ModelInfo.ts"
import type { ModelError } from "./ModelError.ts"
import type { NextTokenDriver } from "./NextTokenDriver.ts"
import type { SpeechToText } from "./SpeechToText.ts"
import type { TextToSpeech } from "./TextToSpeech.ts"
import type { Upstream } from "./Upstream.ts"
import type { VideoModel } from "./VideoModel.ts"

export interface Provider {
  /** The `llm_provider` of the wire. */
  readonly id: string
  readonly chat?: ChatDriver
  readonly embedding?: EmbeddingDriver
  /** Typed answers of its own. Without it the wing `answers` uses `nextToken` and `chat`. */
  readonly answers?: AnswerDriver
  /** For models that report how probable their tokens are. */
  readonly nextToken?: NextTokenDriver
  /** Makes pictures. Used by the wing `media`. */
  readonly image?: ImageModel
  /** Used by the wing `media`. */
  readonly video?: VideoModel
  /** Used by the wing `voice`. */
  readonly speechToText?: SpeechToText
  readonly textToSpeech?: TextToSpeech
  /** The embedding model of new assistants, if neither they nor the host name one. */
  readonly defaultEmbedding?: { readonly model: string; readonly dimensions: number }
  /** Used when a message or an assistant names this provider without a model. The host's defaults come first. */
  readonly defaultModel?: string
  /**
   * The body that the driver would send for a request: pure, and equal for equal requests. The kernel compares it with and without an
   * option to learn whether the option has an effect (`ignored_options`). Absent: every option counts as effective.
   */
  readonly wire?: (request: ChatRequest) => unknown
  /** What is known of a model by its name alone; undefined: nothing. */
  readonly describe?: (model: string) => Partial<ModelInfo> | undefined
  /** The provider's own list of models. The catalogue calls and caches it. */
  readonly listModels?: Effect.Effect<ReadonlyArray<ModelInfo>, ModelError>
  /** The upstreams of a provider that routes. The catalogue calls it and caches the result for long, because it may take many requests. */
  readonly listUpstreams?: Effect.Effect<ReadonlyArray<Upstream>, ModelError>
}

/** The usual length of the vectors that this model makes; null or undefined: the provider does not know it. */
export const usualDimensions = (provider: Provider | undefined, model: string | null): number | null | undefined =>
  provider?.defaultEmbedding?.model === model
    ? provider?.defaultEmbedding?.dimensions
    : provider?.describe?.(model ?? "")?.embeddingDimensions

/** The host registered no provider with this id. The error lists those that it did. */
export class ProviderNotFound extends Schema.TaggedError<ProviderNotFound>()("ProviderNotFound", {
  provider: Schema.String,
  registered: Schema.Array(Schema.String),
  /** Absent: conversations. */
  use: Schema.optionalKey(Schema.Literal("embeddings"))
}) {
  override get message() {
    const use = this.use ?? "conversations"
    return `There is no provider "${this.provider}" for ${use}. Registered: ${this.registered.join(", ") || "none"}.`
  }
}

export const providerNotFound = (provider: string, all: ReadonlyArray<Provider>): ProviderNotFound =>
  new ProviderNotFound({ provider, registered: all.filter(({ chat }) => chat !== undefined).map(({ id }) => id) })

export const embeddingProviderNotFound = (provider: string, all: ReadonlyArray<Provider>): ProviderNotFound =>
  new ProviderNotFound({
    provider,
    registered: all.filter(({ embedding }) => embedding !== undefined).map(({ id }) => id),
    use: "embeddings"
  })

/** A request named the provider without a model, and the provider has no default model. */
export class ModelNotNamed extends Schema.TaggedError<ModelNotNamed>()("ModelNotNamed", { provider: Schema.String }) {
  override get message() {
    return `The provider "${this.provider}" has no default model. Name a model too.`
  }
}

/** A provider and model that a turn can use. */
export interface ResolvedModel {
  readonly provider: string
  readonly model: string
  readonly info: ModelInfo
  readonly chat: ChatDriver
  readonly wire: Provider["wire"]
}

/** The providers of a host, and its default model. */
export interface ProvidersOptions {
  readonly providers: ReadonlyArray<Provider>
  /** Used when neither the message nor its assistant names a model. */
  readonly defaults: { readonly provider: string; readonly model: string }
}

/** The registered providers, and the model that is used where none is named. */
export class Providers extends Context.Service<
  Providers,
  {
    readonly all: ReadonlyArray<Provider>
    readonly defaults: ProvidersOptions["defaults"]
    readonly resolve: (provider: string, model: string) => Effect.Effect<ResolvedModel, ProviderNotFound>
  }
>()("@colloquy/core/models/Providers") {
  static readonly layer = (options: ProvidersOptions): Layer.Layer<Providers> =>
    Layer.sync(Providers, () => {
      const byId = new Map(options.providers.map((provider) => [provider.id, provider]))
      return {
        all: options.providers,
        defaults: options.defaults,
        resolve: (id, model) => {
          const provider = byId.get(id)
          if (provider?.chat === undefined) {
            return Effect.fail(providerNotFound(id, options.providers))
          }
          const info = describeModel({ ...provider.describe?.(model), name: model, provider: id, modelType: "llm" })
          return Effect.succeed({ provider: id, model, info, chat: provider.chat, wire: provider.wire })
        }
      }
    })
}
