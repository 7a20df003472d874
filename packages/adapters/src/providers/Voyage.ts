/** Voyage, for embeddings. A host registers it with `Voyage.provider({ apiKey })`; its wire is a dialect of `protocols/OpenAiEmbeddings`. */
import type { ModelInfo, Provider } from "@colloquy/core"
import type { ApiKey } from "../protocols/ApiKey.ts"
import type { EmbeddingLimits } from "../protocols/Embeddings.ts"
import * as OpenAiEmbeddings from "../protocols/OpenAiEmbeddings.ts"
import type { TransportSettings } from "../protocols/Transport.ts"
import { lookUp } from "../protocols/Wire.ts"

export interface VoyageSettings extends TransportSettings {
  /** The name under which the provider is registered. Default: `voyage`. */
  readonly id?: string
  /** May be absent where every customer brings his own. */
  readonly apiKey?: ApiKey
  readonly baseUrl?: string
  readonly headers?: { readonly [name: string]: string }
  /** The length of vectors and the prices, by model name. */
  readonly models?: { readonly [name: string]: Partial<ModelInfo> }
  /** What one request may hold. */
  readonly limits?: Partial<EmbeddingLimits>
}

export const provider = (settings: VoyageSettings = {}): Provider => {
  const describe = (model: string) => lookUp(settings.models ?? {}, model)
  return {
    id: settings.id ?? "voyage",
    embedding: OpenAiEmbeddings.driver({
      ...settings,
      baseUrl: settings.baseUrl ?? "https://api.voyageai.com/v1",
      dialect,
      ownDimensions: (model) => describe(model)?.embeddingDimensions
    }),
    describe
  }
}

/** The smallest of the limits on tokens that its models have decides how much goes into one request. */
const dialect: OpenAiEmbeddings.EmbeddingDialect = {
  ...OpenAiEmbeddings.plainEmbeddings,
  limits: { maxTexts: 128, maxCharacters: 100_000 },
  dimensionsField: "output_dimension",
  inputTypes: { document: "document", query: "query" }
}
