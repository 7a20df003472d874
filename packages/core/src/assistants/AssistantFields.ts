/** The fields of an assistant's record, as they follow from a request and from each other. Pure. */
import * as Effect from "effect/Effect"
import type { AssistantId } from "../primitives/Ids.ts"
import { type Provider, usualDimensions } from "../models/Provider.ts"
import { longestName } from "../models/ReportedFigures.ts"
import { type Assistant, type AssistantPatch, EmbeddingModelFixed } from "./Assistant.ts"

import type { NewAssistant } from "./Assistants.ts"

/**
 * The embedding model of a new assistant. Its provider and model are stored with the assistant from the beginning, because stored vectors
 * depend on them. What the request does not name is the host's choice, or what is usual for the provider and the model that it names.
 */
export const embeddingFor = (
  host: Assistant["embedding"],
  providers: ReadonlyArray<Provider>,
  asked: Partial<Assistant["embedding"]> = {}
): Assistant["embedding"] => {
  const first = providers.find(({ defaultEmbedding, embedding }) => embedding && defaultEmbedding)
  const provider = asked.provider ?? host.provider ?? (host.model === null ? first?.id : null) ?? null
  const own = providers.find(({ id }) => id === provider)
  const hostModel = provider === host.provider ? host.model : null
  const model = asked.model ?? hostModel ?? own?.defaultEmbedding?.model ?? null
  const usual = model === hostModel ? null : usualDimensions(own, model)
  return { provider, model, dimensions: asked.dimensions ?? usual ?? host.dimensions }
}

/** The whole record of a new assistant, made from a request. */
export const newAssistant = (
  id: AssistantId,
  request: Omit<NewAssistant, "embedding"> & Pick<Assistant, "embedding">,
  at: Date
): Assistant => ({
  id,
  name: request.name,
  description: null,
  systemPrompt: null,
  ...instructions(request),
  provider: request.provider ?? null,
  model: request.model ?? null,
  tools: request.tools ?? null,
  modelOptions: request.modelOptions ?? null,
  searchLimit: request.searchLimit ?? 10,
  embedding: request.embedding,
  factExtractionPrompt: request.factExtractionPrompt ?? null,
  memoryUpdatePrompt: request.memoryUpdatePrompt ?? null,
  metadata: request.metadata ?? null,
  helpers: request.helpers ?? [],
  handoffs: request.handoffs ?? [],
  version: 1,
  createdAt: at,
  updatedAt: at
})

/** `description` and `systemPrompt` begin as one text, unless both are given. */
const instructions = (
  given: AssistantPatch
): { readonly description?: string | null; readonly systemPrompt?: string | null } => {
  const { description = given.systemPrompt, systemPrompt = given.description } = given
  return description === undefined || systemPrompt === undefined ? {} : { description, systemPrompt }
}

export const trimmedNames = ({ embedding, model, name, provider }: Partial<NewAssistant>) => ({
  name,
  provider,
  model,
  embeddingProvider: embedding?.provider,
  embeddingModel: embedding?.model
})

const namesOne = ({ description, systemPrompt }: AssistantPatch): boolean =>
  (description === undefined) !== (systemPrompt === undefined)

/** When a patch changes only one of the two texts, the other one follows while both are equal. Once they differ, it stays. */
export const following = (before: Assistant, patch: AssistantPatch): ReturnType<typeof instructions> =>
  namesOne(patch) && before.description === before.systemPrompt ? instructions(patch) : {}

/** Cut by characters, as names are counted, so that none is cut in half. */
export const nameOfCopy = (name: string): string =>
  `${Array.from(name)
    .slice(0, longestName - suffix.length)
    .join("")}${suffix}`

const suffix = " Copy"

export const refuseOtherEmbedding = (assistant: Assistant, embedding: Partial<Assistant["embedding"]>) => {
  const fields = (["provider", "model", "dimensions"] as const).filter(
    (field) => embedding[field] !== undefined && embedding[field] !== assistant.embedding[field]
  )
  return fields.length === 0 ? Effect.void : Effect.fail(new EmbeddingModelFixed({ fields }))
}
