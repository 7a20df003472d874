/** Voyage, for embeddings. A host registers it with `Voyage.provider({ apiKey })`; the protocol is that of `protocols/OpenAiEmbeddings`. */
import type { ModelInfo, Provider } from "@colloquy/core"
import { checkedUrl } from "../protocols/Address.ts"
import type { ApiKey } from "../protocols/ApiKey.ts"
import type { EmbeddingLimits } from "../protocols/Embeddings.ts"
import * as OpenAiEmbeddings from "../protocols/OpenAiEmbeddings.ts"
import type { TransportSettings } from "../protocols/Transport.ts"
import { lookUp } from "../protocols/Wire.ts"

/** The key, the address and the models of Voyage. */
export interface VoyageSettings extends TransportSettings {
  /** The name under which the provider is registered. Default: `voyage`. */
  readonly id?: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: ApiKey
  readonly baseUrl?: string
  readonly headers?: { readonly [name: string]: string }
  /** The length of vectors and the prices, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** The limits of one request. */
  readonly limits?: Partial<EmbeddingLimits>
}

/** Voyage as a provider of embedding models. */
export const provider = (settings: VoyageSettings = {}): Provider => {
  const describe = (model: string) => lookUp(settings.models ?? {}, model)
  return {
    id: settings.id ?? "voyage",
    embedding: OpenAiEmbeddings.driver({
      ...settings,
      baseUrl: checkedUrl(settings.baseUrl) ?? "https://api.voyageai.com/v1",
      dialect,
      ownDimensions: (model) => describe(model)?.embeddingDimensions
    }),
    describe
  }
}

/** `maxCharacters` follows from the smallest token limit of the vendor's models. */
const dialect: OpenAiEmbeddings.EmbeddingDialect = {
  ...OpenAiEmbeddings.plainEmbeddings,
  limits: { maxTexts: 128, maxCharacters: 100_000 },
  dimensionsField: "output_dimension",
  inputTypes: { document: "document", query: "query" }
}
