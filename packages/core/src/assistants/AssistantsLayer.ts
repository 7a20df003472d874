/** The use cases of assistants, implemented over their store. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { AuditLog } from "../access/AuditLog.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import { AssistantId, newId } from "../primitives/Ids.ts"
import { checkNames } from "../models/NameTooLong.ts"
import { embeddingProviderNotFound, providerNotFound, Providers } from "../models/Provider.ts"
import type { Page } from "../primitives/Page.ts"
import type { Metadata } from "../threads/Thread.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import { Removals } from "../threads/Removals.ts"
import { Threads } from "../threads/Threads.ts"
import { type Assistant, AssistantNotFound } from "./Assistant.ts"
import { AssistantStore } from "./AssistantStore.ts"
import { makeCloning } from "./Cloning.ts"
import type { Copies } from "./Copies.ts"

import {
  embeddingFor,
  fieldsOf,
  following,
  nameOfCopy,
  namesOf,
  newAssistant,
  refuseOtherEmbedding
} from "./AssistantFields.ts"
import {
  Assistants,
  type AssistantUpdate,
  type CloneRequest,
  DefaultEmbedding,
  type NewAssistant
} from "./Assistants.ts"

export const assistantsLayer: Layer.Layer<
  Assistants,
  never,
  AssistantStore | Copies | FollowUps | Threads | Providers | Removals
> = Layer.effect(
  Assistants,
  Effect.gen(function* () {
    const store = yield* AssistantStore
    const audit = yield* AuditLog.make
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
    const refuseUnknownEmbedding = (provider: string | null | undefined) =>
      provider === null ||
      provider === undefined ||
      providers.some(({ embedding, id }) => id === provider && embedding !== undefined)
        ? Effect.void
        : Effect.fail(embeddingProviderNotFound(provider, providers))
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
        yield* refuseUnknownEmbedding(request.embedding?.provider)
        const named = request.embedding?.provider ?? request.embedding?.model
        const embedding = { ...(named ? givenEmbedding : defaultEmbedding), ...request.embedding }
        const assistant = newAssistant(yield* newId(AssistantId), { ...request, embedding }, yield* now)
        yield* audit.record("assistant_created", assistant.id)
        yield* store.insert(assistant)
        return assistant
      }),
      list: (page: Page, name?: string) => store.list(page, name).pipe(traced("Assistants.list")),
      update: tracedFn("Assistants.update")(function* (id: AssistantId, { embedding, ...patch }: AssistantUpdate) {
        yield* Effect.fromResult(checkNames(namesOf(patch)))
        yield* refuseUnknownProvider(patch.provider)
        const before = yield* get(id)
        if (embedding !== undefined) yield* refuseOtherEmbedding(before, embedding)
        const changed = { ...patch, ...following(before, patch) }
        yield* audit.record("assistant_updated", id, fieldsOf(changed))
        const updated = yield* store.update(id, changed, yield* now)
        return Option.isSome(updated) ? updated.value : yield* new AssistantNotFound({ assistantId: id })
      }),
      clone: tracedFn("Assistants.clone")(function* (id: AssistantId, request: CloneRequest) {
        yield* Effect.fromResult(checkNames({ name: request.name }))
        const source = yield* get(id)
        const at = yield* now
        const copy: Assistant = {
          ...source,
          ...(request.systemPrompt === undefined
            ? {}
            : { systemPrompt: request.systemPrompt, ...following(source, { systemPrompt: request.systemPrompt }) }),
          id: yield* newId(AssistantId),
          name: request.name ?? nameOfCopy(source.name),
          createdAt: at,
          updatedAt: at
        }
        yield* audit.record("assistant_created", copy.id)
        const copied = yield* cloning.insert(source, copy, request.without ?? [])
        return { assistant: copy, copied }
      }),
      remove: tracedFn("Assistants.remove")(function* (id: AssistantId) {
        yield* get(id)
        yield* audit.record("assistant_deleted", id)
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
