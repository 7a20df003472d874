/**
 * Port: what an owner used, by day, model and purpose. `RunStore.settle` writes entries in the same step as the answer that they paid for;
 * `begin` and `add` are for costs outside of a turn (learning, indexing).
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ChargeId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { Charge } from "./Charge.ts"

/** What one model used on one day, for one purpose. */
export interface UsageOfDay {
  /** A day in UTC, `2026-01-31`. */
  readonly date: string
  readonly model: string
  /** The purpose of the charges. */
  readonly purpose: string
  readonly usage: Usage
}

export class UsageLedger extends Context.Service<
  UsageLedger,
  {
    /**
     * Notes what a call that is about to be made is charged with if its end is never seen. MUST leave the sums as they are, and MUST change
     * nothing if the id is known.
     */
    readonly begin: (
      id: ChargeId,
      charges: ReadonlyArray<Charge>,
      assistantId: AssistantId | null
    ) => Effect.Effect<void, StoreUnavailable, Principal>
    /**
     * MUST add the charges to the principal's sums of this day, once per id, even if the call is repeated. What was begun with this id MUST
     * be dropped. They count for the day's budget of the assistant, too; null: they concern none.
     */
    readonly add: (
      id: ChargeId,
      charges: ReadonlyArray<Charge>,
      assistantId: AssistantId | null
    ) => Effect.Effect<void, StoreUnavailable, Principal>
    /**
     * For all owners: MUST add charges to the sums that were begun longer ago than `age` and have no end, at most `limit`, and return their
     * number. A later `add` of such an id MUST change nothing.
     */
    readonly endBegun: (age: Duration.Duration, limit: number) => Effect.Effect<number, StoreUnavailable>
    /**
     * MUST sum the principal's charges by UTC day of settling, model and purpose; newest day first, then by model name and purpose, in
     * the order of their code points. `total` counts all rows.
     */
    readonly recent: (
      page: Page
    ) => Effect.Effect<
      { readonly days: ReadonlyArray<UsageOfDay>; readonly total: number },
      StoreUnavailable,
      Principal
    >
  }
>()("@colloquy/core/metering/UsageLedger") {}
