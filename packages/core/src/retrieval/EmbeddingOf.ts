/**
 * Pure: what the documents and memories of an assistant are embedded with, and what a question to them must be embedded with. Null where
 * the assistant names no model, or one of a provider that is not registered: everything is then found by its words.
 */
import type { Assistant } from "../assistants/Assistant.ts"
import type { EmbeddingTarget } from "../models/EmbeddingModel.ts"
import type { Provider } from "../models/Provider.ts"

export const embeddingOf = (
  { embedding }: Pick<Assistant, "embedding">,
  providers: ReadonlyArray<Provider>
): EmbeddingTarget | null => {
  const provider = providers.find(({ id }) => id === embedding.provider)
  const model = embedding.model ?? provider?.defaultEmbedding?.model
  if (provider?.embedding === undefined || model === undefined) return null
  return { provider: provider.id, model, dimensions: embedding.dimensions }
}
