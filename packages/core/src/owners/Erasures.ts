/**
 * Removes everything of an owner: runs are cancelled, then rooms remove what they keep elsewhere (files), then the store removes its rows,
 * some at a time. It is a follow-up: if its process dies, another process goes on. The sums of the ledger stay, without text.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { AuditLog } from "../access/AuditLog.ts"
import type { Principal } from "../access/Principal.ts"
import { ErasureId, FollowUpId, newId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import { Turns } from "../turns/TurnUseCases.ts"
import { type Erasure, OwnerStore } from "./OwnerStore.ts"

/** The owner has begun no erasure with this id: take the id that `begin` gave. */
export class ErasureNotFound extends Schema.TaggedError<ErasureNotFound>()("ErasureNotFound", {
  erasureId: ErasureId
}) {
  override get message() {
    return `There is no erasure ${this.erasureId}.`
  }
}

/** Removes some of what a room keeps for the principal outside of the store of owners, and returns how much; 0: nothing is left. */
export type Eraser = Effect.Effect<number, StoreUnavailable, Principal>

/** An erasure, and how many records are left in each table. */
export interface ErasureReport {
  readonly erasure: Erasure
  /** How many rows are left, by table. */
  readonly left: { readonly [table: string]: number }
}

export class Erasures extends Context.Service<
  Erasures,
  {
    readonly register: (eraser: Eraser) => Effect.Effect<void, never, Scope.Scope>
    /** Begins to erase everything of the principal, or returns the erasure that goes on already. */
    readonly begin: Effect.Effect<Erasure, StoreUnavailable, Principal>
    readonly get: (id: ErasureId) => Effect.Effect<ErasureReport, ErasureNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/owners/Erasures") {
  static readonly layer: Layer.Layer<Erasures, never, OwnerStore | FollowUps | Turns> = Layer.effect(
    Erasures,
    Effect.gen(function* () {
      const store = yield* OwnerStore
      const turns = yield* Turns
      const followUps = yield* FollowUps
      const audit = yield* AuditLog.make
      const erasers = new Set<Eraser>()
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

      const cancelRuns: Eraser = Effect.gen(function* () {
        const active = yield* store.activeRuns(rowsAtOnce)
        yield* Effect.forEach(
          active,
          ({ runId, threadId }) => Effect.catchTag(turns.cancel(threadId, runId), "RunNotFound", () => Effect.void),
          { concurrency: 8, discard: true }
        )
        return active.length
      })

      /** Steps repeat until one finds nothing. What comes meanwhile is found by the next round. */
      const untilNothing = (eraser: Eraser): Effect.Effect<boolean, StoreUnavailable, Principal> =>
        Effect.flatMap(eraser, (gone) => (gone === 0 ? Effect.succeed(false) : Effect.as(untilNothing(eraser), true)))

      const everything: Effect.Effect<void, StoreUnavailable, Principal> = Effect.gen(function* () {
        const all = [cancelRuns, ...erasers, store.eraseSome(rowsAtOnce, eraseKind)]
        const found = yield* Effect.forEach(all, untilNothing)
        if (found.some(Boolean)) yield* everything
      })

      yield* followUps.register(
        typedWorker({
          kind: eraseKind,
          payload: Payload,
          // The erasure is stored before its follow-up, and until it ends the owner can begin no turn.
          lost: Effect.flatMap(store.unattended(eraseKind, lostAtOnce), (found) =>
            Effect.forEach(found, ({ erasure, ownerId }) =>
              Effect.map(erasureFollowUp(erasure), (followUp) => ({ ownerId, followUp }))
            )
          ),
          run: Effect.fnUntraced(function* ({ erasureId }) {
            yield* everything
            if (yield* store.endErasure(erasureId, "COMPLETED", yield* now, eraseKind)) return
            // Other work of the owner is under way, and may still add something.
            const message = "Work of the owner goes on; it is awaited."
            return yield* new FollowUpFailed({ message, isRetryable: true, isOutage: true, pauseMillis: pauseForWork })
          }),
          giveUp: Effect.fnUntraced(function* ({ payload }) {
            const known = readPayload(payload)
            if (Option.isSome(known)) yield* store.endErasure(known.value.erasureId, "FAILED", yield* now, eraseKind)
          })
        })
      )

      const begin = Effect.gen(function* () {
        const at = yield* now
        const erasure = yield* store.beginErasure(yield* newId(ErasureId), at)
        yield* audit.record("owner_erased", erasure.id)
        // Of two follow-ups with one key the second is not stored.
        yield* followUps.add([yield* erasureFollowUp(erasure)])
        return erasure
      })

      return Erasures.of({
        register: (eraser) =>
          Effect.asVoid(
            Effect.acquireRelease(
              Effect.sync(() => erasers.add(eraser)),
              () => Effect.sync(() => erasers.delete(eraser))
            )
          ),
        begin,
        get: tracedFn("Erasures.get")(function* (id: ErasureId) {
          const found = yield* store.erasure(id)
          if (Option.isNone(found)) return yield* new ErasureNotFound({ erasureId: id })
          return { erasure: found.value, left: yield* store.left(eraseKind) }
        })
      })
    })
  )
}

const eraseKind = "owners.erase"

/** A step takes some ten milliseconds, and other statements run between two steps. */
const rowsAtOnce = 500

const pauseForWork = 1000

const lostAtOnce = 100

const erasureFollowUp = ({ createdAt, id: erasureId }: Erasure): Effect.Effect<NewFollowUp> =>
  Effect.map(newId(FollowUpId), (id) => ({
    id,
    kind: eraseKind,
    key: erasureId,
    payload: { erasureId },
    sequence: null,
    delayMillis: 0,
    // What waits before it is erased by it.
    isUrgent: true,
    createdAt
  }))

const Payload = Schema.Struct({ erasureId: ErasureId })
const readPayload = Schema.decodeUnknownOption(Payload)
