/** Port: stores outcomes of typed answers, by owner. `outcomeStoreSuite` tests this contract. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Outcome } from "./Outcome.ts"

export class OutcomeStore extends Context.Service<
  OutcomeStore,
  {
    /**
     * Stores one outcome for a question of an answer set; a second one replaces the first. False, without storing, if the assistant or the
     * thread that it names does not exist or is not the principal's. Outcomes are removed with their thread and with their assistant.
     */
    readonly record: (outcome: Outcome) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /**
     * The principal's newest outcomes of an assistant, or of no assistant (null), newest first; the order of outcomes with the same time is
     * not defined.
     */
    readonly newest: (
      assistantId: AssistantId | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Outcome>, StoreUnavailable, Principal>
    /** MUST return the principal's newest outcomes that name this thread, newest first, and no more than `limit`. */
    readonly ofThread: (
      threadId: ThreadId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Outcome>, StoreUnavailable, Principal>
    /**
     * MUST return the principal's outcomes of these questions of answer sets, whatever assistant they have; nothing stands for one without an
     * outcome. The order is not defined.
     */
    readonly find: (
      answered: ReadonlyArray<Pick<Outcome, "answerSetId" | "question">>
    ) => Effect.Effect<ReadonlyArray<Outcome>, StoreUnavailable, Principal>
  }
>()("@colloquy/core/answers/OutcomeStore") {}
