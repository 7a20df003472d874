/**
 * Pure: the embedding model for the documents and memories of an assistant, and for questions to them. An assistant that was created
 * without an embedding model uses the host's default as soon as there is one. Null if there is none, or if its provider is not registered:
 * then everything is searched by words.
 */
import type { Assistant } from "../assistants/Assistant.ts"
import type { EmbeddingTarget } from "../models/EmbeddingModel.ts"
import type { Provider } from "../models/Provider.ts"

/** The model that makes vectors for this assistant: its own, or the first default of the providers. Null: there is none, and search goes by words. */
export const assistantEmbedding = (
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
