/** Use cases of assistants: create, look at, list, update, clone, delete. Specification parts 2 and 4. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { traced, tracedFn } from "../primitives/Traced.ts"
import type { Principal } from "../access/Principal.ts"
import { AssistantId, newId } from "../primitives/Ids.ts"
import { checkNames, type NameTooLong } from "../models/NameTooLong.ts"
import { type Provider, type ProviderNotFound, providerNotFound, Providers } from "../models/Provider.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Metadata, Thread } from "../threads/Thread.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import { Removals } from "../threads/Removals.ts"
import { Threads } from "../threads/Threads.ts"
import { type Assistant, AssistantNotFound, type AssistantPatch, EmbeddingModelFixed } from "./Assistant.ts"
import { AssistantStore } from "./AssistantStore.ts"
import { makeCloning } from "./Cloning.ts"
import type { Copies } from "./Copies.ts"

export type NewAssistant = Pick<Assistant, "name"> &
  Partial<Omit<Assistant, "id" | "embedding" | "createdAt" | "updatedAt">> & {
    readonly embedding?: Partial<Assistant["embedding"]>
  }

export type AssistantUpdate = AssistantPatch & { readonly embedding?: Partial<Assistant["embedding"]> }

export interface CloneRequest {
  /** Default: the source's name with " Copy" behind it. */
  readonly name?: string
  readonly systemPrompt?: string | null
  /** Names of copiers (`documents`, `memories`) whose part stays behind. Default: everything is copied. */
  readonly without?: ReadonlyArray<string>
}

export interface ClonedAssistant {
  readonly assistant: Assistant
  /** How many of each kind were copied, by the names of the copiers: `{ documents: 3 }`. */
  readonly copied: Readonly<Record<string, number>>
}

/** What a new assistant embeds with when it does not say. Without names: the first provider that has a default. */
export const DefaultEmbedding = Context.Reference<Assistant["embedding"]>(
  "@colloquy/core/assistants/DefaultEmbedding",
  { defaultValue: () => ({ provider: null, model: null, dimensions: 3072 }) }
)

export class Assistants extends Context.Service<
  Assistants,
  {
    readonly create: (
      assistant: NewAssistant
    ) => Effect.Effect<Assistant, ProviderNotFound | NameTooLong | StoreUnavailable, Principal>
    readonly get: (id: AssistantId) => Effect.Effect<Assistant, AssistantNotFound | StoreUnavailable, Principal>
    readonly list: (page: Page, name?: string) => Effect.Effect<ReadonlyArray<Assistant>, StoreUnavailable, Principal>
    readonly update: (
      id: AssistantId,
      update: AssistantUpdate
    ) => Effect.Effect<
      Assistant,
      AssistantNotFound | EmbeddingModelFixed | ProviderNotFound | NameTooLong | StoreUnavailable,
      Principal
    >
    /**
     * Copies the configuration under a new id, and what the registered copiers copy. Threads stay with the source. The clone is seen when
     * all of it is there; one that fails half way is never seen, and what is there of it is removed.
     */
    readonly clone: (
      id: AssistantId,
      request: CloneRequest
    ) => Effect.Effect<ClonedAssistant, AssistantNotFound | StoreUnavailable, Principal>
    /** Deletes the assistant with all its threads. */
    readonly remove: (id: AssistantId) => Effect.Effect<void, AssistantNotFound | StoreUnavailable, Principal>
    readonly createThread: (
      id: AssistantId,
      metadata: Metadata | null
    ) => Effect.Effect<Thread, AssistantNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/assistants/Assistants") {
  static readonly layer: Layer.Layer<
    Assistants,
    never,
    AssistantStore | Copies | FollowUps | Threads | Providers | Removals
  > = Layer.effect(
    Assistants,
    Effect.gen(function* () {
      const store = yield* AssistantStore
      const threads = yield* Threads
      const removals = yield* Removals
      const cloning = yield* makeCloning
      const { all: providers } = yield* Providers
      const givenEmbedding = yield* DefaultEmbedding
      const defaultEmbedding = embeddingFor(givenEmbedding, providers)
      const refuseUnknownProvider = (provider: string | null | undefined) =>
        provider === null ||
        provider === undefined ||
        providers.some(({ answers, chat, id }) => id === provider && (chat !== undefined || answers !== undefined))
          ? Effect.void
          : Effect.fail(providerNotFound(provider, providers))
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

      const get = tracedFn("Assistants.get")(function* (id: AssistantId) {
        const found = yield* store.get(id)
        return Option.isSome(found) ? found.value : yield* new AssistantNotFound({ assistantId: id })
      })

      return Assistants.of({
        get,
        create: tracedFn("Assistants.create")(function* (request: NewAssistant) {
          yield* Effect.fromResult(checkNames(namesOf(request)))
          yield* refuseUnknownProvider(request.provider)
          const named = request.embedding?.provider ?? request.embedding?.model
          const embedding = { ...(named ? givenEmbedding : defaultEmbedding), ...request.embedding }
          const assistant = newAssistant(yield* newId(AssistantId), { ...request, embedding }, yield* now)
          yield* store.insert(assistant)
          return assistant
        }),
        list: (page: Page, name?: string) => store.list(page, name).pipe(traced("Assistants.list")),
        update: tracedFn("Assistants.update")(function* (id: AssistantId, { embedding, ...patch }: AssistantUpdate) {
          yield* Effect.fromResult(checkNames(namesOf(patch)))
          yield* refuseUnknownProvider(patch.provider)
          const before = embedding !== undefined || namesOne(patch) ? yield* get(id) : null
          if (embedding !== undefined && before !== null) yield* refuseOtherEmbedding(before, embedding)
          const changed = before === null ? patch : { ...patch, ...following(before, patch) }
          const updated = yield* store.update(id, changed, yield* now)
          return Option.isSome(updated) ? updated.value : yield* new AssistantNotFound({ assistantId: id })
        }),
        clone: tracedFn("Assistants.clone")(function* (id: AssistantId, request: CloneRequest) {
          const source = yield* get(id)
          const at = yield* now
          const copy: Assistant = {
            ...source,
            ...(request.systemPrompt === undefined
              ? {}
              : { systemPrompt: request.systemPrompt, ...following(source, { systemPrompt: request.systemPrompt }) }),
            id: yield* newId(AssistantId),
            name: request.name ?? `${source.name.slice(0, 250)} Copy`,
            createdAt: at,
            updatedAt: at
          }
          const copied = yield* cloning.insert(source, copy, request.without ?? [])
          return { assistant: copy, copied }
        }),
        remove: tracedFn("Assistants.remove")(function* (id: AssistantId) {
          const isRemoved = yield* removals.through({ assistantId: id }, store.remove(id))
          if (!isRemoved) return yield* new AssistantNotFound({ assistantId: id })
        }),
        createThread: tracedFn("Assistants.createThread")(function* (id: AssistantId, metadata: Metadata | null) {
          const created = yield* threads.create(id, metadata)
          return Option.isSome(created) ? created.value : yield* new AssistantNotFound({ assistantId: id })
        })
      })
    })
  )
}

/** The names stand in the assistant's record from the beginning: stored vectors depend on them. */
export const embeddingFor = (
  given: Assistant["embedding"],
  providers: ReadonlyArray<Provider>
): Assistant["embedding"] => {
  if (given.provider !== null || given.model !== null) return given
  const found = providers.find(({ defaultEmbedding, embedding }) => embedding && defaultEmbedding)
  return found?.defaultEmbedding === undefined ? given : { provider: found.id, ...found.defaultEmbedding }
}

/** A whole record from what a request gives. */
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
  searchLimit: request.searchLimit ?? 10,
  embedding: request.embedding,
  factExtractionPrompt: request.factExtractionPrompt ?? null,
  memoryUpdatePrompt: request.memoryUpdatePrompt ?? null,
  metadata: request.metadata ?? null,
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

const namesOf = ({ embedding, model, name, provider }: Partial<NewAssistant>) => ({
  name,
  provider,
  model,
  embeddingProvider: embedding?.provider,
  embeddingModel: embedding?.model
})

const namesOne = ({ description, systemPrompt }: AssistantPatch): boolean =>
  (description === undefined) !== (systemPrompt === undefined)

/** A change of one of the two: the other follows while they are equal, and stays once they have been told apart. */
const following = (before: Assistant, patch: AssistantPatch): ReturnType<typeof instructions> =>
  namesOne(patch) && before.description === before.systemPrompt ? instructions(patch) : {}

const refuseOtherEmbedding = (assistant: Assistant, embedding: Partial<Assistant["embedding"]>) => {
  const fields = (["provider", "model", "dimensions"] as const).filter(
    (field) => embedding[field] !== undefined && embedding[field] !== assistant.embedding[field]
  )
  return fields.length === 0 ? Effect.void : Effect.fail(new EmbeddingModelFixed({ fields }))
}
