/**
 * Charges of work that is no leg of a run, such as learning from a turn and indexing. A call is noted in the ledger before it is made; its
 * charges are written to the ledger first and then reported to the host's `Metering`. A meter that fails or does not answer has no effect on
 * the work. What a dead process has begun is charged with unknown usage, by any process (`endBegunCharges`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { inTime } from "../primitives/Deadlines.ts"
import type { Principal } from "../access/Principal.ts"
import { type AssistantId, ChargeId, newId, type RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Charge } from "./Charge.ts"
import type { MeteringPort } from "./Metering.ts"
import { type BeginCharge, unknownCharge } from "./PaidCall.ts"
import { UsageLedger } from "./UsageLedger.ts"

/** Where costs outside of a turn go. */
export interface Account {
  readonly ledger: typeof UsageLedger.Service
  readonly metering: MeteringPort
}

/** For what something is spent; null: it concerns no run, or no assistant. */
export interface SpentFor {
  readonly runId: RunId | null
  readonly assistantId: AssistantId | null
}

/** Notes calls in the ledger, each under an id of its own. */
export const beginOutside =
  (to: Account, spentFor: SpentFor): BeginCharge<StoreUnavailable> =>
  (payee) =>
    Effect.flatMap(newId(ChargeId), (id) => {
      const { assistantId } = spentFor
      return Effect.as(to.ledger.begin(id, [unknownCharge(payee)], assistantId), (charges) =>
        charges.length === 0 ? to.ledger.add(id, charges, assistantId) : chargeOutside(to, spentFor, charges, id)
      )
    })

/** Longer than any call of a vendor takes. */
const longestCall = Duration.hours(1)

/** Charges what dead processes have begun. Every kernel looks for it: when it starts, and then every few minutes. */
export const endBegunCharges: Layer.Layer<never, never, UsageLedger> = Layer.effectDiscard(
  UsageLedger.use((ledger) =>
    ledger.endBegun(longestCall, 1000).pipe(
      Effect.tap((count) =>
        count === 0
          ? Effect.void
          : Effect.logWarning(`${count} paid calls have no known end and are charged with unknown usage`)
      ),
      Effect.catchCause((cause) => Effect.logWarning("Paid calls without an end could not be looked for", cause)),
      Effect.andThen(Effect.sleep("10 minutes")),
      Effect.forever,
      Effect.forkScoped
    )
  )
)

/** For a report to the host's meter. */
export const inMeterTime = inTime("30 seconds", () =>
  Effect.die(new Error("The host's meter did not answer within 30 seconds"))
)

export const chargeOutside = Effect.fnUntraced(function* (
  to: Account,
  { assistantId, runId }: SpentFor,
  charges: ReadonlyArray<Charge>,
  /** If the same work may be repeated, an id that is the same for every repeat. */
  knownId?: ChargeId
): Effect.fn.Return<void, StoreUnavailable, Principal> {
  if (charges.length === 0) return
  const id = knownId ?? (yield* newId(ChargeId))
  yield* to.ledger.add(id, charges, assistantId)
  const { recordCharges } = to.metering
  if (recordCharges === undefined) return
  yield* recordCharges({ id, runId, charges }).pipe(
    inMeterTime,
    Effect.catchCause((cause) => Effect.logWarning(`Charge ${id} was not reported to the host`, cause))
  )
})
