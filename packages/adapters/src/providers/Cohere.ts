/** Cohere, for embeddings. A host registers it with `Cohere.provider({ apiKey })`; the protocol is in `protocols/CohereEmbeddings`. */
import type { ModelInfo, Provider } from "@colloquy/core"
import { checkedUrl } from "../protocols/Address.ts"
import type { ApiKey } from "../protocols/ApiKey.ts"
import * as CohereEmbeddings from "../protocols/CohereEmbeddings.ts"
import type { EmbeddingLimits } from "../protocols/Embeddings.ts"
import type { TransportSettings } from "../protocols/Transport.ts"
import { lookUp } from "../protocols/Wire.ts"

/** The key, the address and the models of Cohere. */
export interface CohereSettings extends TransportSettings {
  /** The name under which the provider is registered. Default: `cohere`. */
  readonly id?: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: ApiKey
  /** The address without the version. Default: `https://api.cohere.com`. */
  readonly baseUrl?: string
  readonly headers?: { readonly [name: string]: string }
  /** The length of vectors and the prices, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** The limits of one request. */
  readonly limits?: Partial<EmbeddingLimits>
}

/** Cohere as a provider of embedding models. */
export const provider = (settings: CohereSettings = {}): Provider => {
  const describe = (model: string) => lookUp(settings.models ?? {}, model)
  return {
    id: settings.id ?? "cohere",
    embedding: CohereEmbeddings.driver({
      ...settings,
      baseUrl: checkedUrl(settings.baseUrl) ?? "https://api.cohere.com",
      ownDimensions: (model) => describe(model)?.embeddingDimensions
    }),
    describe
  }
}
