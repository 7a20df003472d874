/**
 * Port: what a store keeps for one owner as a whole, and its erasure in bounded steps. A record of an erasure stays; it contains no text.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { ErasureId, type OwnerId, type RunId, type ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** The removal of everything of an owner, and how far it is. */
export const Erasure = Schema.Struct({
  id: ErasureId,
  status: Schema.Literals(["IN_PROGRESS", "COMPLETED", "FAILED"]),
  createdAt: Schema.Date,
  endedAt: Schema.NullOr(Schema.Date)
})
export type Erasure = typeof Erasure.Type

export interface UnattendedErasure {
  readonly ownerId: OwnerId
  readonly erasure: Erasure
}

export class OwnerStore extends Context.Service<
  OwnerStore,
  {
    /**
     * MUST store the erasure and return it, or return the one that is in progress. From then on until it ends, every operation that would
     * add something for the principal, or change an assistant, a memory or the metadata of a thread, MUST fail with `StoreUnavailable`
     * (`isErasing`) and change nothing; so MUST `RunStore.begin` and `continue`.
     */
    readonly beginErasure: (id: ErasureId, at: Date) => Effect.Effect<Erasure, StoreUnavailable, Principal>
    /** MUST return none both for an unknown id and for another owner's id. */
    readonly erasure: (id: ErasureId) => Effect.Effect<Option.Option<Erasure>, StoreUnavailable, Principal>
    /**
     * MUST end the erasure, if it is in progress. When something is left (`left`), also by an operation that began before the erasure and
     * ends now, MUST change nothing and return false for `COMPLETED`.
     */
    readonly endErasure: (
      id: ErasureId,
      status: "COMPLETED" | "FAILED",
      at: Date,
      keptKind: string
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * For all owners: MUST name erasures in progress for which no follow-up of this kind with their id as its key is open, at most `limit`.
     * For the sweep that orders lost work again.
     */
    readonly unattended: (
      kind: string,
      limit: number
    ) => Effect.Effect<ReadonlyArray<UnattendedErasure>, StoreUnavailable>
    /** Runs of the principal that are QUEUED or IN_PROGRESS. */
    readonly activeRuns: (
      limit: number
    ) => Effect.Effect<
      ReadonlyArray<{ readonly runId: RunId; readonly threadId: ThreadId }>,
      StoreUnavailable,
      Principal
    >
    /**
     * MUST delete about `limit` rows of the principal at most and return how many; 0 when nothing is left. What stays: the sums of the ledger
     * and charges that are not reported yet, the audit log, erasures, and the follow-ups of the kind `keptKind`; follow-ups that are being
     * worked on stay until their claim ends.
     */
    readonly eraseSome: (limit: number, keptKind: string) => Effect.Effect<number, StoreUnavailable, Principal>
    /** MUST count what `eraseSome` would still delete, by table; tables without rows are left out. */
    readonly left: (
      keptKind: string
    ) => Effect.Effect<{ readonly [table: string]: number }, StoreUnavailable, Principal>
  }
>()("@colloquy/core/owners/OwnerStore") {}
