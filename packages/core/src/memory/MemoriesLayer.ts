/**
 * The use cases of memories, implemented over the store; also registers the copier of memories. Memories that are written by hand are
 * embedded at once; missing vectors are left to a follow-up.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Principal } from "../access/Principal.ts"
import { type Assistant, AssistantNotFound } from "../assistants/Assistant.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { Copies } from "../assistants/Copies.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import { Metering } from "../metering/Metering.ts"
import { overLimit, type Quota, Quotas } from "../metering/Quota.ts"
import { QuotaStore } from "../metering/QuotaStore.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import type { EmbeddingModel } from "../models/EmbeddingModel.ts"
import type { Providers } from "../models/Provider.ts"
import { type AssistantId, newId, type RunId } from "../primitives/Ids.ts"
import { runYielding } from "../primitives/RunYielding.ts"
import type { Steps } from "../primitives/Steps.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { noteOnQuery } from "../retrieval/Terms.ts"
import type { FollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { learnKind } from "./Learning.ts"
import { embedLater, findMemories, indexMemories, makeFinder, retryAfterFailure } from "./MemoryIndexing.ts"
import { type MemoryLine, MemoryLinesUnusable, readingLines, writingLines } from "./MemoryLines.ts"
import { isBegun, textTrueAt } from "./Validity.ts"
import { candidates } from "../retrieval/Ranking.ts"
import {
  isUsableName,
  longestMemory,
  MemoryId,
  memoryKey,
  MemoryNotFound,
  type MemoryRecord,
  MemoryUnusable
} from "./MemoryRecord.ts"
import { type AppliedRun, type MemoryChange, type MemoryHit, type MemoryOutcome, MemoryStore } from "./MemoryStore.ts"
import { hasSecret } from "./Secrets.ts"
import { Memories, type MemoryOperation, type MemoryText } from "./Memories.ts"

export const memoriesLayer: Layer.Layer<
  Memories,
  never,
  AssistantStore | Copies | EmbeddingModel | FollowUps | MemoryStore | Providers | QuotaStore | UsageLedger
> = Layer.effect(
  Memories,
  Effect.gen(function* () {
    const assistants = yield* AssistantStore
    const followUps = yield* FollowUps
    const ledger = yield* UsageLedger
    const metering = yield* Metering
    const store = yield* MemoryStore
    const finder = yield* makeFinder
    const quotas = yield* QuotaStore
    const findQuota = yield* Quotas
    const chargeFor = (assistantId: AssistantId) => beginOutside({ ledger, metering }, { runId: null, assistantId })

    const findAssistant = Effect.fnUntraced(function* (assistantId: AssistantId) {
      const found = yield* assistants.get(assistantId)
      return Option.isSome(found) ? found.value : yield* new AssistantNotFound({ assistantId })
    })
    const get = Effect.fnUntraced(function* (assistantId: AssistantId, id: MemoryId) {
      const found = yield* store.get(assistantId, id)
      if (Option.isSome(found)) return found.value
      yield* findAssistant(assistantId)
      return yield* new MemoryNotFound({ memoryId: id })
    })
    const quotaOfPrincipal = Principal.useSync(({ ownerId }) => findQuota(ownerId))
    const full = (quota: Quota, left: number) =>
      Effect.flatMap(Clock.currentTimeMillis, (millis) =>
        Effect.fail(overLimit({ limit: "memories", left, waitMillis: null }, quota, millis))
      )
    /** For many memories at once: either all of them fit, or none is written. */
    const ensureRoom = Effect.fnUntraced(function* (more: number) {
      const quota = yield* quotaOfPrincipal
      if (quota.memories === null || more === 0) return
      const left = quota.memories - (yield* quotas.memories)
      if (left < more) return yield* full(quota, Math.max(left, 0))
    })
    const countNew = Effect.fnUntraced(function* (assistantId: AssistantId, texts: ReadonlyArray<MemoryText>) {
      return yield* runYielding(countingNew(texts, (yield* store.list(assistantId, null)).memories))
    })
    // Pending learning of the source's turns is not copied.
    yield* (yield* Copies).register({
      name: "memories",
      copy: (from, to) =>
        Effect.andThen(
          Effect.flatMap(store.survey(from), ({ total }) => ensureRoom(total)),
          store.copyAll(from, to)
        )
    })
    const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

    /** Adds memories by hand, or changes those of `before`; the outcomes are in the order of the memories. */
    const write = Effect.fnUntraced(function* (
      assistant: Assistant,
      written: ReadonlyArray<MemoryRecord>,
      before: ReadonlyArray<MemoryRecord> = [],
      target = finder.findTarget(assistant)
    ) {
      const { id: assistantId, systemPrompt } = assistant
      const around = [written.map(({ content }) => content).join("\n"), systemPrompt ?? ""]
      const told = new Map()
      const made = yield* indexMemories(finder, target, {
        assistantId,
        written,
        before,
        told,
        around,
        beginCharge: chargeFor(assistantId)
      })
      const tag = before.length === 0 ? "Add" : "Update"
      const changes = written.flatMap((memory, index): ReadonlyArray<MemoryChange> => {
        const indexed = made.indexed[index]
        return indexed === undefined ? [] : [{ _tag: tag, memory, indexed }]
      })
      const { beside } = made
      const quota = yield* quotaOfPrincipal
      // Stored before the memories, so that none waits for its vector for ever.
      if (made.isIncomplete) yield* followUps.add([yield* embedLater(assistantId, retryAfterFailure)])
      const applied = yield* store.apply({
        assistantId,
        changes,
        beside,
        learned: null,
        at: yield* now,
        most: quota.memories
      })
      if (Option.isNone(applied)) return yield* new AssistantNotFound({ assistantId })
      if (applied.value.some(({ event }) => event === "Full")) return yield* full(quota, 0)
      return { outcomes: applied.value, isIncomplete: made.isIncomplete }
    })

    /** The first hits that were true at a time. A memory that says something newer shows the text that it had for that time. */
    const hitsTrueAt = Effect.fnUntraced(function* (hits: ReadonlyArray<MemoryHit>, at: Date, limit: number) {
      const found: Array<MemoryHit> = []
      for (const hit of hits) {
        if (found.length === limit) break
        const { assistantId, id } = hit.memory
        const versions = isBegun(hit.memory, at) ? [] : yield* store.history(assistantId, id)
        const memory = textTrueAt(hit.memory, versions, at)
        if (memory !== null) found.push({ ...hit, memory })
      }
      return found
    })

    return Memories.of({
      get,
      list: tracedFn("Memories.list")(function* (assistantId, window) {
        const found = yield* store.list(assistantId, window)
        if (found.total === 0) yield* findAssistant(assistantId)
        return found
      }),
      history: tracedFn("Memories.history")(function* (assistantId, id) {
        yield* get(assistantId, id)
        return yield* store.history(assistantId, id)
      }),
      add: tracedFn("Memories.add")(function* (assistantId, text) {
        yield* refuseUnusable(text)
        const assistant = yield* findAssistant(assistantId)
        const memory = yield* newMemory(assistantId, text, yield* now)
        const [outcome] = (yield* write(assistant, [memory])).outcomes
        return outcome?.event === "Known"
          ? yield* Effect.catchTag(get(assistantId, outcome.id), "MemoryNotFound", () => Effect.succeed(memory))
          : memory
      }),
      update: tracedFn("Memories.update")(function* (assistantId, id, text) {
        yield* refuseUnusable(text)
        const before = yield* get(assistantId, id)
        const assistant = yield* findAssistant(assistantId)
        const memory: MemoryRecord = {
          ...before,
          content: text.content,
          metadata: text.metadata === undefined ? before.metadata : text.metadata,
          saidAt: text.saidAt === undefined ? before.saidAt : text.saidAt,
          session: text.session === undefined ? before.session : text.session,
          speaker: text.speaker === undefined ? before.speaker : text.speaker,
          source: null,
          confirmedBy: [],
          updatedAt: yield* now
        }
        const [outcome] = (yield* write(assistant, [memory], [before])).outcomes
        if (outcome?.event === "Known") return yield* new MemoryUnusable({ reason: "copy" })
        return outcome?.event === "Updated" ? memory : yield* new MemoryNotFound({ memoryId: id })
      }),
      remove: tracedFn("Memories.remove")(function* (assistantId, id) {
        const versions = yield* store.history(assistantId, id)
        const known = Option.toArray(yield* store.get(assistantId, id))
        const { systemPrompt } = yield* findAssistant(assistantId)
        const nothing = {
          assistantId,
          written: [],
          before: known,
          told: new Map(),
          around: [systemPrompt ?? ""],
          beginCharge: chargeFor(assistantId)
        }
        const { beside } = yield* indexMemories(finder, null, nothing)
        const changes = [{ _tag: "Delete", id } as const]
        const applied = yield* store.apply({ assistantId, changes, beside, learned: null, at: yield* now })
        if (Option.isNone(applied)) return yield* new AssistantNotFound({ assistantId })
        if (applied.value[0]?.event !== "Deleted") return yield* new MemoryNotFound({ memoryId: id })
        return { memories: 1, versions: versions.length }
      }),
      forgetAll: tracedFn("Memories.forgetAll")(function* (assistantId) {
        yield* findAssistant(assistantId)
        return yield* store.removeAll(assistantId, yield* now)
      }),
      search: tracedFn("Memories.search")(function* (assistantId, query, limit, at = null) {
        const assistant = yield* findAssistant(assistantId)
        const target = finder.findTarget(assistant)
        const asked = {
          assistantId,
          text: query,
          target,
          limit: at === null ? limit : candidates,
          trueAt: null,
          beginCharge: chargeFor(assistantId)
        }
        const hits = yield* findMemories(finder, asked)
        return at === null ? hits : yield* hitsTrueAt(hits, at, limit)
      }),
      noteOn: noteOnQuery,
      stats: tracedFn("Memories.stats")(function* (assistantId) {
        yield* findAssistant(assistantId)
        return yield* store.survey(assistantId)
      }),
      export: tracedFn("Memories.export")(function* (assistantId) {
        yield* findAssistant(assistantId)
        return yield* runYielding(writingLines((yield* store.list(assistantId, null)).memories))
      }),
      import: tracedFn("Memories.import")(function* (assistantId, text) {
        const assistant = yield* findAssistant(assistantId)
        const at = yield* now
        const { lines, problems } = yield* runYielding(readingLines(text, unusableReason))
        if (problems.length > 0) return yield* new MemoryLinesUnusable({ problems })
        yield* Effect.catchTag(ensureRoom(lines.length), "OverLimit", () =>
          Effect.flatMap(countNew(assistantId, lines), ensureRoom)
        )
        const memories = yield* Effect.forEach(lines, (line) => newMemory(assistantId, line, at))
        const outcomes: Array<MemoryOutcome> = []
        let target = finder.findTarget(assistant)
        for (let from = 0; from < memories.length; from += mostAtOnce) {
          const written = yield* write(assistant, memories.slice(from, from + mostAtOnce), [], target)
          outcomes.push(...written.outcomes)
          // After a failure of the model, the remaining texts are left to the follow-up.
          if (written.isIncomplete) target = null
        }
        const imported = outcomes.filter(({ event }) => event === "Added").length
        return { imported, skipped: outcomes.length - imported }
      }),
      operation: tracedFn("Memories.operation")(function* (id: RunId) {
        // In this order: a follow-up that has ended has stored its changes before.
        const followUp = yield* followUps.find(learnKind, id)
        const applied = yield* store.applied(id)
        return learningOperation(id, Option.getOrNull(followUp), Option.getOrNull(applied))
      })
    })
  })
)

/** Memories that an import stores in one step: in an embedded database all others wait for a step, and these take about 30 ms. */
const mostAtOnce = 50

/** How many of these texts are copies neither of each other nor of what is known. */
function* countingNew(texts: ReadonlyArray<MemoryText>, known: ReadonlyArray<MemoryText>): Steps<number> {
  const keys = new Set<string>()
  for (const { content } of texts) {
    keys.add(memoryKey(content))
    yield
  }
  for (const { content } of known) {
    keys.delete(memoryKey(content))
    yield
  }
  return keys.size
}

const unusableReason = (content: string): MemoryUnusable["reason"] | null => {
  if (content.length > longestMemory) return content.trim() === "" ? "empty" : "too_long"
  if (memoryKey(content) === "") return "empty"
  return hasSecret(content) ? "secret" : null
}

const refuseUnusable = ({ content, session, speaker }: MemoryText): Effect.Effect<void, MemoryUnusable> => {
  const isNamed = [session, speaker].every((name) => isUsableName(name ?? null))
  const reason = isNamed ? unusableReason(content) : "name"
  return reason === null ? Effect.void : Effect.fail(new MemoryUnusable({ reason }))
}

const newMemory = (
  assistantId: AssistantId,
  { content, from = null, learned, metadata, saidAt, session, speaker, until = null }: Partial<MemoryLine> & MemoryText,
  at: Date
): Effect.Effect<MemoryRecord> =>
  Effect.map(newId(MemoryId), (id) => ({
    id,
    assistantId,
    content,
    metadata: metadata ?? null,
    source: null,
    confirmedBy: [],
    validFrom: from,
    validUntil: until,
    saidAt: saidAt ?? null,
    session: session ?? null,
    speaker: speaker ?? null,
    createdAt: learned ?? at,
    updatedAt: at
  }))

const statuses = { pending: "PENDING", running: "IN_PROGRESS", done: "COMPLETED", dead: "FAILED" } as const

/** What was applied is still known after the follow-up was deleted. */
const learningOperation = (
  id: RunId,
  followUp: FollowUp | null,
  applied: AppliedRun | null
): Option.Option<MemoryOperation> => {
  const createdAt = followUp?.createdAt ?? applied?.appliedAt
  if (createdAt === undefined) return Option.none()
  const status = applied !== null ? "COMPLETED" : followUp === null ? "FAILED" : statuses[followUp.status]
  return Option.some({
    id,
    status,
    changes: applied?.outcomes.filter(({ event }) => event !== "Known" && event !== "Gone" && event !== "Full") ?? [],
    error: status === "FAILED" ? (followUp?.lastError ?? null) : null,
    createdAt,
    updatedAt: applied?.appliedAt ?? followUp?.endedAt ?? createdAt
  })
}
