/**
 * Port: money. The kernel asks for credit before it spends, and reports what was really used; prices, balances and invoices are the host's.
 * The default permits everything and ignores reports.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { ChargeId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { Charge } from "./Charge.ts"

/** The account of the owner does not allow this call. */
export class InsufficientCredit extends Schema.TaggedError<InsufficientCredit>()("InsufficientCredit", {
  /** Why, if it is not the credit that the host gives. */
  reason: Schema.optionalKey(Schema.String),
  /** When there is some again, if that is known. */
  waitMillis: Schema.optionalKey(Schema.Finite)
}) {
  override get message() {
    return (
      this.reason ?? "There is not enough credit for this request. Nothing was charged; add credit and send it again."
    )
  }
}

/** What one leg of a run used. `runId` and `leg` identify it: a repeated report with the same pair must be counted once. */
export interface UsageReport {
  readonly runId: RunId
  readonly leg: number
  readonly threadId: ThreadId
  readonly provider: string
  readonly model: string
  /** The usage of the conversation's model. */
  readonly usage: Usage
  /** Everything that the leg cost, including the conversation's model. */
  readonly charges: ReadonlyArray<Charge>
}

/** What was spent outside of a turn. A repeated report with the same id must be counted once. */
export interface ChargeReport {
  readonly id: ChargeId
  /** The run for which it was spent, if there is one. */
  readonly runId: RunId | null
  readonly charges: ReadonlyArray<Charge>
}

/** What is about to be spent. */
export interface CreditNeed {
  /** The purpose of the coming charge. */
  readonly purpose: string
  /** US dollars, if the price is known beforehand. */
  readonly amountUsd: number | null
}

/** A model is about to answer; the price is not known yet. */
export const chatCredit: CreditNeed = { purpose: "chat", amountUsd: null }

/** Asks for credit before a call, and reports what was used after it. */
export interface MeteringPort {
  /**
   * Called before a run is stored (a refusal means that nothing is stored and nothing is charged), and by tools before they spend (a
   * refusal is reported to the model). MUST count nothing, because what it permits may never be spent. MUST refuse an owner without credit
   * with `InsufficientCredit`, also where no price is known.
   */
  readonly ensureCredit: (need: CreditNeed) => Effect.Effect<void, InsufficientCredit | StoreUnavailable, Principal>
  /**
   * Called after every settled leg that reached a model or has other charges, whatever its end. A report may be repeated after a crash, and
   * may come twice at once, or before that of an earlier leg. MUST count each (run, leg) once, for the principal; a repeat MUST NOT fail.
   * MUST count all charges of a leg, also those that the credit does not cover.
   */
  readonly record: (report: UsageReport) => Effect.Effect<void, StoreUnavailable, Principal>
  /**
   * Called after something was spent outside of a turn: learning, indexing. MUST count each id once, for the principal, also beside the legs
   * of the same run. Absent: the host counts turns only.
   */
  readonly recordCharges?: (report: ChargeReport) => Effect.Effect<void, StoreUnavailable, Principal>
  /** The principal's balance in US dollars, which MUST be finite; null if there is none. Absent: the host keeps no balances. */
  readonly balance?: Effect.Effect<number | null, StoreUnavailable, Principal>
}

export const Metering = Context.Reference<MeteringPort>("@colloquy/core/metering/Metering", {
  defaultValue: () => ({ ensureCredit: () => Effect.void, record: () => Effect.void })
})
