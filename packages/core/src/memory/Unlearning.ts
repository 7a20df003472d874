/**
 * Undoes what was learned from runs that a rewind took back and is asked to forget: a memory that they added is removed, one that they changed
 * has its earlier text again. A memory that was changed afterwards stays as it is. A run that was not learned from yet is marked as learned, so that
 * nothing comes later. A memory that such a run has deleted does not come back, because nothing of it was kept.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import { Metering } from "../metering/Metering.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import type { EmbeddingModel } from "../models/EmbeddingModel.ts"
import type { Providers } from "../models/Provider.ts"
import { AssistantId, FollowUpId, newId, RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { typedWorker } from "../runs/FollowUpWorker.ts"
import { type RunForgetter, Rewinds } from "../turns/Rewinds.ts"
import { embedLater, indexMemories, makeFinder, retryAfterFailure } from "./MemoryIndexing.ts"
import type { MemoryId, MemoryRecord, MemoryVersion } from "./MemoryRecord.ts"
import { type MemoryChange, MemoryStore } from "./MemoryStore.ts"

const unlearnKind = "memory.unlearn"

const Order = Schema.Struct({ assistantId: AssistantId, runIds: Schema.Array(RunId) })

export const layerUnlearning: Layer.Layer<
  never,
  never,
  AssistantStore | EmbeddingModel | FollowUps | MemoryStore | Providers | Rewinds | UsageLedger
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const unlearn = yield* makeUnlearning
    // No record waits: the follow-up is stored in one transaction with the rewind.
    yield* (yield* FollowUps).register(typedWorker({ kind: unlearnKind, payload: Order, run: unlearn }))
    yield* (yield* Rewinds).register(order)
  })
)

const order: RunForgetter = Effect.fnUntraced(function* ({ assistantId, runIds }) {
  if (runIds.length === 0) return []
  const id = yield* newId(FollowUpId)
  const createdAt = new Date(yield* Clock.currentTimeMillis)
  const payload = { assistantId, runIds: [...runIds] }
  return [{ id, kind: unlearnKind, key: id, payload, sequence: null, delayMillis: 0, createdAt }]
})

const makeUnlearning = Effect.gen(function* () {
  const assistants = yield* AssistantStore
  const followUps = yield* FollowUps
  const account = { ledger: yield* UsageLedger, metering: yield* Metering }
  const store = yield* MemoryStore
  const finder = yield* makeFinder

  /** The moments at which these runs wrote each memory. A run without learning is marked. */
  const findWrites = Effect.fnUntraced(function* ({ assistantId, runIds }: typeof Order.Type, at: Date) {
    const writes = new Map<MemoryId, Set<number>>()
    for (const runId of runIds) {
      yield* store.apply({ assistantId, changes: [], beside: [], learned: { runId, orderedAt: at }, at })
      const applied = Option.getOrUndefined(yield* store.applied(runId))
      for (const { event, id } of applied?.outcomes ?? []) {
        if (applied === undefined || (event !== "Added" && event !== "Updated")) continue
        writes.set(id, (writes.get(id) ?? new Set()).add(applied.appliedAt.getTime()))
      }
    }
    return writes
  })

  const restored = Effect.fnUntraced(function* (
    assistantId: AssistantId,
    memory: MemoryRecord,
    version: MemoryVersion,
    at: Date
  ): Effect.fn.Return<MemoryChange | null, StoreUnavailable, Principal> {
    const assistant = Option.getOrNull(yield* assistants.get(assistantId))
    if (assistant === null) return null
    const { confirmedBy, content, metadata, source, validFrom, validUntil } = version
    const written = { ...memory, content, metadata, source, confirmedBy, validFrom, validUntil, updatedAt: at }
    const made = yield* indexMemories(finder, finder.findTarget(assistant), {
      assistantId,
      written: [written],
      before: [memory],
      told: new Map([[memory.id, content]]),
      around: [],
      beginCharge: beginOutside(account, { runId: null, assistantId })
    })
    if (made.isIncomplete) yield* followUps.add([yield* embedLater(assistantId, retryAfterFailure)])
    const [indexed] = made.indexed
    return indexed === undefined ? null : { _tag: "Update", memory: written, indexed }
  })

  return Effect.fnUntraced(function* (
    forgotten: typeof Order.Type
  ): Effect.fn.Return<void, StoreUnavailable, Principal> {
    const { assistantId } = forgotten
    const at = new Date(yield* Clock.currentTimeMillis)
    for (const [id, times] of yield* findWrites(forgotten, at)) {
      const memory = Option.getOrUndefined(yield* store.get(assistantId, id))
      if (memory === undefined || !times.has(memory.updatedAt.getTime())) continue
      const earlier = (yield* store.history(assistantId, id)).find(({ writtenAt }) => !times.has(writtenAt.getTime()))
      const change: MemoryChange | null =
        earlier === undefined ? { _tag: "Delete", id } : yield* restored(assistantId, memory, earlier, at)
      if (change !== null) yield* store.apply({ assistantId, changes: [change], beside: [], learned: null, at })
    }
  })
})
