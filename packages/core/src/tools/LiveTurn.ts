/**
 * What a hosted tool or a part of a turn knows of a running turn, and what it may do there. Every call becomes an event of the run's log,
 * so that the stream, a resumed stream, the stored message and the bill agree.
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { Charge } from "../metering/Charge.ts"
import type { Amount } from "../metering/Budget.ts"
import type { BeginCharge } from "../metering/PaidCall.ts"
import type { CreditNeed, InsufficientCredit } from "../metering/Metering.ts"
import type { AssistantId, MessageId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { OpenCall } from "./ToolCall.ts"

/** An event for the reader of the stream. The part defines `type` and `data`. Data that is not JSON throws. */
export interface PartEvent {
  readonly type: string
  readonly data: Schema.Json
  /** True: for live readers only. The event takes a sequence number and is never stored. */
  readonly isLive?: boolean
}

/** The model calls of one run, of the count that it shares with the runs above, beside and below it. */
export interface CallShare {
  /** Whether a call is kept for the run after those that it has taken. */
  readonly holds: boolean
  /** How many it has taken, with the runs below it. */
  readonly taken: number
  /** Before a model call. False: none is left. */
  take(): boolean
  /** For a run below this one; null: there is no call for it. */
  begin(): CallShare | null
  /** The run has ended. */
  release(): void
}

/** What the limits of a run count of the runs above and beside one. */
export interface BudgetAbove {
  /** What they have used up to now; `amount` counts a usage. */
  readonly above: (amount: (usage: Usage) => Amount) => Amount
  /** `own` is what this run has used up to now, with the runs below it. */
  readonly tell: (own: () => Amount) => void
}

/** What a run knows of the turn whose tool begins it. */
export interface ChildOf {
  /** The id of the run itself: the turn has noted it before. */
  readonly runId: RunId
  readonly parent: RunId
  readonly parentThread: ThreadId
  /** How many turns stand above it. */
  readonly depth: number
  readonly calls: CallShare
  /** Null: the run above it has no limits. */
  readonly budget: BudgetAbove | null
}

/** A run that a tool is about to begin. */
export interface NewChild {
  readonly toolCallId: string
  readonly name: string
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
}

export interface ChildEnd {
  readonly status: "REQUIRES_ACTION" | "COMPLETED" | "FAILED" | "CANCELLED"
  readonly usage: Usage
  /** The approvals for which the run waits. The call of the tool then waits for the run, and what the tool returns is not used. */
  readonly calls?: ReadonlyArray<OpenCall>
}

export interface BegunRun {
  readonly child: ChildOf
  readonly end: (end: ChildEnd) => void
}

/** A text could not be rewritten, so nobody may get it. */
export class TextWithheld extends Schema.TaggedError<TextWithheld>()("TextWithheld", {}) {
  override get message() {
    return "The text could not be checked."
  }
}

/** How a part or a tool rewrites what it has found, where parts of the turn rewrite (`TurnPart.rewrite`). */
export interface Rewriting {
  /** Each text is rewritten once: what came out of it, and what `done` was told, stays as it is. */
  readonly rewrite: (text: string) => Effect.Effect<string, TextWithheld, Principal>
  /** Says that a text consists of rewritten texts and words of the part's own: an item of the prompt, the output of a tool. */
  readonly done: (text: string) => void
}

export interface LiveTurn {
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
  /** The content of the user's message. */
  readonly content: string
  readonly metadata: Schema.JsonObject | null
  /**
   * For what a part or a tool has found: pieces of files, memories, pages. It MUST rewrite such a text before it keeps or tells any of it.
   * The kernel rewrites the rest before the model reads it. Null: no part of this turn rewrites, or this is a voice session.
   */
  readonly rewriting: Rewriting | null
  /** The id of this leg's answer. */
  readonly answerId: MessageId
  readonly provider: string
  readonly model: string
  readonly tell: (event: PartEvent) => void
  /** Keeps a value with the answer, as this part's entry in the supplements. The last value is stored. */
  readonly keep: (supplement: Schema.Json) => void
  /** The value that this part has kept with this answer so far; null if there is none. */
  readonly kept: () => Schema.Json | null
  /** Reports a cost. Call it as soon as the cost has arisen: every reported cost is billed, however the turn ends. */
  readonly spend: (charge: Charge) => void
  /**
   * Notes a call that costs money before it is made, and waits until the store has the note, for at most a second. The function that it
   * returns reports the charges. If it is never called, because the process dies or the turn ends, the turn is charged with unknown usage.
   * `paid` makes a call between the two.
   */
  readonly beginCharge: BeginCharge
  /**
   * Notes a run that a tool begins on another thread as a part of this turn, and waits until the store has the note, for at most a second.
   * The turn of that run gets `child` in its request. Its usage becomes part of this turn's usage when `end` is called. Null: no more turns
   * may stand below this one, or it has no model call left for them.
   */
  readonly beginRun: (child: NewChild) => Effect.Effect<BegunRun | null, never, Principal>
  /**
   * Lets another assistant answer from now on, in this turn and on this thread; null: the thread's own. Returns a reason in words where that
   * is not possible; null: the other one goes on after the tools of this step.
   */
  readonly handOver: (assistantId: AssistantId | null) => Effect.Effect<string | null, StoreUnavailable, Principal>
  /** Sets top-level fields of the thread's metadata at once, before the turn ends. */
  readonly journal: (fields: Schema.JsonObject) => Effect.Effect<void, StoreUnavailable, Principal>
  /** Asks the host for credit before something is spent. */
  readonly ensureCredit: (need: CreditNeed) => Effect.Effect<void, InsufficientCredit | StoreUnavailable, Principal>
}
