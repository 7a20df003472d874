/**
 * Port: what an owner used, by day, model and purpose. Entries are written by `RunStore.settle`, in the same step as the answer they paid for;
 * here they are only read.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"

export interface UsageOfDay {
  /** A day in UTC, `2026-01-31`. */
  readonly date: string
  readonly model: string
  /** That of the charges. */
  readonly purpose: string
  readonly usage: Usage
}

export class UsageLedger extends Context.Service<
  UsageLedger,
  {
    /** MUST sum the principal's charges by UTC day of settling, model and purpose, newest day first, then by model name and purpose. `total` counts all rows. */
    readonly recent: (
      page: Page
    ) => Effect.Effect<
      { readonly days: ReadonlyArray<UsageOfDay>; readonly total: number },
      StoreUnavailable,
      Principal
    >
  }
>()("@colloquy/core/metering/UsageLedger") {}
