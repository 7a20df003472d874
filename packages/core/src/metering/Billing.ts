/**
 * What an owner may read about money: the balance that the host keeps, and recent usage. The kernel asks for credit and reports costs
 * through `Metering`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { traced } from "../primitives/Traced.ts"
import type { Principal } from "../access/Principal.ts"
import type { Page } from "../primitives/Page.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { Metering } from "./Metering.ts"
import { UsageLedger, type UsageOfDay } from "./UsageLedger.ts"

export class Billing extends Context.Service<
  Billing,
  {
    /** US dollars; null when the host keeps no balances. */
    readonly balance: Effect.Effect<number | null, StoreUnavailable, Principal>
    /** By day and model, newest day first; `total` counts all rows. */
    readonly recentUsage: (
      page: Page
    ) => Effect.Effect<
      { readonly days: ReadonlyArray<UsageOfDay>; readonly total: number },
      StoreUnavailable,
      Principal
    >
  }
>()("@colloquy/core/metering/Billing") {
  static readonly layer: Layer.Layer<Billing, never, UsageLedger> = Layer.effect(
    Billing,
    Effect.gen(function* () {
      const ledger = yield* UsageLedger
      const { balance = Effect.succeed(null) } = yield* Metering
      return Billing.of({
        balance: balance.pipe(traced("Billing.balance")),
        recentUsage: (page) => ledger.recent(page).pipe(traced("Billing.recentUsage"))
      })
    })
  )
}
