/**
 * The copiers of what belongs to an assistant outside of its record (documents, memories). Rooms register their copiers here;
 * `Assistants.clone` runs them before the clone becomes visible.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { OverLimit } from "../metering/Quota.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** Copies what a room keeps for an assistant into its clone. */
export interface Copier {
  /** What it copies: `documents`, `memories`. */
  readonly name: string
  /**
   * Copies everything of one assistant to another and returns how many records that were. The target is a draft
   * (`AssistantStore.insertDraft`): records that belong to it can be stored, but it cannot be found by its id. If cloning fails, everything
   * is removed as with any assistant.
   */
  readonly copy: (from: AssistantId, to: AssistantId) => Effect.Effect<number, OverLimit | StoreUnavailable, Principal>
}

export class Copies extends Context.Service<
  Copies,
  {
    /** A defect if a copier of that name is registered already. */
    readonly register: (copier: Copier) => Effect.Effect<void, never, Scope.Scope>
    /** Completes when the first copier is registered. */
    readonly first: Effect.Effect<void>
    /** In the order of their names. */
    readonly all: () => ReadonlyArray<Copier>
  }
>()("@colloquy/core/assistants/Copies") {
  static readonly layer: Layer.Layer<Copies> = Layer.sync(Copies, () => {
    const copiers = new Map<string, Copier>()
    const first = Deferred.makeUnsafe<void>()
    return {
      register: (copier) =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            if (copiers.has(copier.name)) {
              return Effect.die(new Error(`Two copiers have the name "${copier.name}". Register it once.`))
            }
            copiers.set(copier.name, copier)
            return Deferred.succeed(first, undefined)
          }),
          () => Effect.sync(() => copiers.delete(copier.name))
        ).pipe(Effect.asVoid),
      first: Deferred.await(first),
      all: () => [...copiers.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
    }
  })
}
