/**
 * Port: money. The kernel asks before it spends and reports what was really used; prices, balances and invoices are the host's.
 * The default knows no limits and forgets what it is told. Specification part 7 (402) and part 8 (billing rules).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { ChargeId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { Charge } from "./Charge.ts"

export class InsufficientCredit extends Schema.TaggedError<InsufficientCredit>()("InsufficientCredit", {}) {
  override get message() {
    return "There is not enough credit for this request. Nothing was charged; add credit and send it again."
  }
}

/** What one leg of a run used. `runId` and `leg` identify it: a repeated report of the same pair is the same fact. */
export interface UsageReport {
  readonly runId: RunId
  readonly leg: number
  readonly threadId: ThreadId
  readonly provider: string
  readonly model: string
  /** Of the conversation's model. */
  readonly usage: Usage
  /** Everything that the leg cost, the conversation's model among it. */
  readonly charges: ReadonlyArray<Charge>
}

/** What was spent outside a turn. A repeated report of the same id is the same fact. */
export interface ChargeReport {
  readonly id: ChargeId
  /** The run that it was spent for, when there is one. */
  readonly runId: RunId | null
  readonly charges: ReadonlyArray<Charge>
}

/** What is about to be spent. */
export interface CreditNeed {
  /** That of the charge to come. */
  readonly purpose: string
  /** US dollars, where a price is known beforehand. */
  readonly amountUsd: number | null
}

/** A model is about to answer; what that will cost is not known. */
export const chatCredit: CreditNeed = { purpose: "chat", amountUsd: null }

export interface MeteringPort {
  /**
   * Called before a run is written (a refusal means that nothing is stored and nothing is charged), and by tools before they spend (a
   * refusal is told to the model).
   */
  readonly ensureCredit: (need: CreditNeed) => Effect.Effect<void, InsufficientCredit | StoreUnavailable, Principal>
  /** Called after every leg that reached a model was settled, whatever its end. May be repeated after a crash: count a (run, leg) once. */
  readonly record: (report: UsageReport) => Effect.Effect<void, StoreUnavailable, Principal>
  /** Called after something was spent outside a turn: what was learned from it, what was indexed. Absent: the host counts turns alone. */
  readonly recordCharges?: (report: ChargeReport) => Effect.Effect<void, StoreUnavailable, Principal>
  /** What the principal has left, in US dollars; null when there is no such thing for him. Absent: the host keeps no balances. */
  readonly balance?: Effect.Effect<number | null, StoreUnavailable, Principal>
}

export const Metering = Context.Reference<MeteringPort>("@colloquy/core/metering/Metering", {
  defaultValue: () => ({ ensureCredit: () => Effect.void, record: () => Effect.void })
})
