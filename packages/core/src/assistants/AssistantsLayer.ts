/** The use cases of assistants, implemented over their store. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AuditLog } from "../access/AuditLog.ts"
import { traced, tracedFn } from "../primitives/Traced.ts"
import { AssistantId, newId, type ThreadId } from "../primitives/Ids.ts"
import { checkNames } from "../models/NameTooLong.ts"
import { embeddingProviderNotFound, providerNotFound, Providers } from "../models/Provider.ts"
import type { Page } from "../primitives/Page.ts"
import type { Metadata } from "../threads/Thread.ts"
import { answeredBefore, IdempotencyConflict, keptAnswer } from "../runs/AnsweredBefore.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import { RunStore } from "../runs/RunStore.ts"
import { Removals } from "../threads/Removals.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { Threads } from "../threads/Threads.ts"
import {
  Assistant,
  AssistantChanged,
  AssistantNotFound,
  type AssistantPatch,
  AssistantVersionNotFound,
  AssistantVersionUnknown,
  ColleagueNotFound
} from "./Assistant.ts"
import { AssistantStore, type VersionPage } from "./AssistantStore.ts"
import { assistantDiff, pickVersionedFields } from "./AssistantVersions.ts"
import { makeCloning } from "./Cloning.ts"
import type { Copies } from "./Copies.ts"

import {
  embeddingFor,
  following,
  nameOfCopy,
  trimmedNames,
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

/** The answer of a restore that a repeat gets. */
const answerCodec = Schema.toCodecJson(Assistant)
const encodeAssistant = Schema.encodeSync(answerCodec)
const decodeAssistant = Schema.decodeUnknownOption(answerCodec)

export const assistantsLayer: Layer.Layer<
  Assistants,
  never,
  AssistantStore | RunStore | Copies | FollowUps | Threads | ThreadStore | Providers | Removals
> = Layer.effect(
  Assistants,
  Effect.gen(function* () {
    const store = yield* AssistantStore
    const runs = yield* RunStore
    const audit = yield* AuditLog.make
    const threads = yield* Threads
    const threadStore = yield* ThreadStore
    const removals = yield* Removals
    const cloning = yield* makeCloning
    const { all: providers } = yield* Providers
    const hostEmbedding = yield* DefaultEmbedding
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

    const refuseUnknownColleagues = Effect.fnUntraced(function* (patch: AssistantPatch) {
      const named = (["helpers", "handoffs"] as const).flatMap((list) =>
        (patch[list] ?? []).map(({ assistantId }, index) => ({ list, index, assistantId }))
      )
      const known = new Set<AssistantId>()
      for (const id of new Set(named.map(({ assistantId }) => assistantId))) {
        if (Option.isSome(yield* store.get(id))) known.add(id)
      }
      const problems = named.filter(({ assistantId }) => !known.has(assistantId))
      if (problems.length > 0) return yield* new ColleagueNotFound({ problems })
    })

    const version = tracedFn("Assistants.version")(function* (id: AssistantId, wanted: number) {
      const found = yield* store.version(id, wanted)
      if (Option.isSome(found)) return found.value
      yield* get(id)
      return yield* new AssistantVersionNotFound({ assistantId: id, version: wanted })
    })

    const change = Effect.fnUntraced(function* (
      id: AssistantId,
      patch: AssistantPatch,
      ifVersion: ReadonlyArray<number> | undefined,
      idempotency?: IdempotencyKey
    ) {
      yield* Effect.fromResult(checkNames(trimmedNames(patch)))
      yield* refuseUnknownProvider(patch.provider)
      yield* refuseUnknownColleagues(patch)
      // Each repeat means that another change was stored between the reading and the writing.
      while (true) {
        const before = yield* get(id)
        if (ifVersion?.includes(before.version) === false) {
          return yield* new AssistantChanged({ assistantId: id, version: before.version })
        }
        const diff = assistantDiff(before, { ...patch, ...following(before, patch) })
        if (diff.length === 0 && idempotency === undefined) return before
        const changes = diff.map(({ field }) => field)
        const next: Assistant =
          diff.length === 0 ? before : { ...before, version: before.version + 1, updatedAt: yield* now }
        const after = diff.reduce<Assistant>((record, { after: value, field }) => ({ ...record, [field]: value }), next)
        if (diff.length > 0) yield* audit.record("assistant_updated", id, changes)
        const once = idempotency === undefined ? null : keptAnswer(idempotency, encodeAssistant(after))
        const stored = yield* store.update({ before, after, changes, once })
        if (stored === "stored") return after
        if (stored === "repeated")
          return (yield* answeredBefore(runs, idempotency, decodeAssistant)) ?? (yield* new IdempotencyConflict())
      }
    })

    /** A version that a thread is to be pinned to. */
    const refuseUnknownVersion = Effect.fnUntraced(function* (id: AssistantId, wanted: number | null) {
      if (wanted === null || Option.isSome(yield* store.version(id, wanted))) return
      return yield* new AssistantVersionUnknown({ assistantId: id, version: wanted })
    })

    return Assistants.of({
      get,
      create: tracedFn("Assistants.create")(function* (request: NewAssistant) {
        yield* Effect.fromResult(checkNames(trimmedNames(request)))
        yield* refuseUnknownProvider(request.provider)
        yield* refuseUnknownEmbedding(request.embedding?.provider)
        yield* refuseUnknownColleagues(request)
        const embedding = embeddingFor(hostEmbedding, providers, request.embedding)
        const assistant = newAssistant(yield* newId(AssistantId), { ...request, embedding }, yield* now)
        yield* audit.record("assistant_created", assistant.id)
        yield* store.insert(assistant)
        return assistant
      }),
      list: (page: Page, name?: string) => store.list(page, name).pipe(traced("Assistants.list")),
      update: tracedFn("Assistants.update")(function* (
        id: AssistantId,
        { embedding, ...patch }: AssistantUpdate,
        ifVersion?: ReadonlyArray<number>
      ) {
        if (embedding !== undefined) yield* refuseOtherEmbedding(yield* get(id), embedding)
        // A change without a key conflicts with none.
        return yield* Effect.catchTag(change(id, patch, ifVersion), "IdempotencyConflict", Effect.die)
      }),
      versions: tracedFn("Assistants.versions")(function* (id: AssistantId, { limit, ...page }: VersionPage) {
        const found = yield* store.versions(id, { ...page, limit: limit + 1 })
        // The present version is always there, so an empty list may be the end, and may be an unknown assistant.
        if (found.length === 0) yield* get(id)
        const versions = found.slice(0, limit)
        return { versions, next: found.length > limit ? (versions.at(-1)?.version ?? null) : null }
      }),
      version,
      restore: tracedFn("Assistants.restore")(function* (
        id: AssistantId,
        wanted: number,
        ifVersion?: ReadonlyArray<number>,
        idempotency?: IdempotencyKey
      ) {
        const answered = yield* answeredBefore(runs, idempotency, decodeAssistant)
        if (answered !== undefined) return answered
        const { assistant } = yield* version(id, wanted)
        return yield* change(id, pickVersionedFields(assistant), ifVersion, idempotency)
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
          version: 1,
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
      createThread: tracedFn("Assistants.createThread")(function* (
        id: AssistantId,
        metadata: Metadata | null,
        pinned: number | null = null
      ) {
        if (pinned !== null) yield* get(id)
        yield* refuseUnknownVersion(id, pinned)
        const created = yield* threads.create(id, metadata, pinned)
        return Option.isSome(created) ? created.value : yield* new AssistantNotFound({ assistantId: id })
      }),
      pinThread: tracedFn("Assistants.pinThread")(function* (threadId: ThreadId, pinned: number | null) {
        const found = yield* threadStore.get(threadId)
        if (Option.isNone(found)) return yield* new ThreadNotFound({ threadId })
        yield* refuseUnknownVersion(found.value.assistantId, pinned)
        if (!(yield* threadStore.pin(threadId, pinned))) return yield* new ThreadNotFound({ threadId })
        return { ...found.value, assistantVersion: pinned }
      })
    })
  })
)
