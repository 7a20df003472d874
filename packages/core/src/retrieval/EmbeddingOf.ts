/**
 * Pure: what the documents and memories of an assistant are embedded with, and what a question to them must be embedded with. An assistant
 * that was made where nothing embeds names no model, and takes the host's usual one as soon as there is one. Null where there is none, or one
 * of a provider that is not registered: everything is then found by its words.
 */
import type { Assistant } from "../assistants/Assistant.ts"
import type { EmbeddingTarget } from "../models/EmbeddingModel.ts"
import type { Provider } from "../models/Provider.ts"

export const embeddingOf = (
  { embedding }: Pick<Assistant, "embedding">,
  providers: ReadonlyArray<Provider>
): EmbeddingTarget | null => {
  if (embedding.provider === null && embedding.model === null) {
    const usual = providers.find(
      (provider) => provider.embedding !== undefined && provider.defaultEmbedding !== undefined
    )
    return usual?.defaultEmbedding === undefined ? null : { provider: usual.id, ...usual.defaultEmbedding }
  }
  const provider = providers.find(({ id }) => id === embedding.provider)
  const model = embedding.model ?? provider?.defaultEmbedding?.model
  if (provider?.embedding === undefined || model === undefined) return null
  return { provider: provider.id, model, dimensions: embedding.dimensions }
}
