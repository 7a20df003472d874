/**
 * Charges of work that is no leg of a run, such as learning from a turn and indexing. They are written to the ledger first and then
 * reported to the host's `Metering`. A meter that fails or does not answer has no effect on the work.
 */
import * as Effect from "effect/Effect"
import { inTime } from "../primitives/Deadlines.ts"
import type { Principal } from "../access/Principal.ts"
import { ChargeId, newId, type RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Charge } from "./Charge.ts"
import type { MeteringPort } from "./Metering.ts"
import type { UsageLedger } from "./UsageLedger.ts"

export const chargeOutside = Effect.fnUntraced(function* (
  to: { readonly ledger: typeof UsageLedger.Service; readonly metering: MeteringPort },
  runId: RunId | null,
  charges: ReadonlyArray<Charge>,
  /** If the same work may be repeated, an id that is the same for every repeat. */
  knownId?: ChargeId
): Effect.fn.Return<void, StoreUnavailable, Principal> {
  if (charges.length === 0) return
  const id = knownId ?? (yield* newId(ChargeId))
  yield* to.ledger.add(id, charges)
  const { recordCharges } = to.metering
  if (recordCharges === undefined) return
  yield* recordCharges({ id, runId, charges }).pipe(
    inTime("30 seconds", () => Effect.die(new Error("The host's meter did not answer within 30 seconds"))),
    Effect.catchCause((cause) => Effect.logWarning(`Charge ${id} was not reported to the host`, cause))
  )
})
