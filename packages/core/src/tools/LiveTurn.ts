/**
 * What code that joins a running turn may know of it and do: a hosted tool, or a part of a turn. Everything said here becomes an event of
 * the run's log, so that the stream, a resumed stream, the stored message and the bill agree.
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { Charge } from "../metering/Charge.ts"
import type { CreditNeed, InsufficientCredit } from "../metering/Metering.ts"
import type { AssistantId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** Something that the reader of the stream is told. `type` and `data` belong to the part that says it. What is no JSON throws. */
export interface PartEvent {
  readonly type: string
  readonly data: Schema.Json
  /** True: for those who listen at the moment; it takes a sequence number and is never stored. */
  readonly isLive?: boolean
}

export interface LiveTurn {
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
  /** The user's message. */
  readonly content: string
  readonly metadata: Schema.JsonObject | null
  /** The answer of this leg. */
  readonly answerId: MessageId
  readonly provider: string
  readonly model: string
  readonly tell: (event: PartEvent) => void
  /** Keeps a value with the answer, as the entry of this part among its supplements. The last one counts. */
  readonly keep: (supplement: Schema.Json) => void
  /** What this part has kept with this answer so far; null: nothing. */
  readonly kept: () => Schema.Json | null
  /** To be told as soon as the cost has arisen: what is told is billed, however the turn ends. */
  readonly spend: (charge: Charge) => void
  /** Sets top-level fields of the thread's metadata at once, before the turn ends. */
  readonly journal: (fields: Schema.JsonObject) => Effect.Effect<void, StoreUnavailable, Principal>
  /** Asks the host before something is spent. */
  readonly ensureCredit: (need: CreditNeed) => Effect.Effect<void, InsufficientCredit | StoreUnavailable, Principal>
}
