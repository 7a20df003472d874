/** Port: outcomes of typed answers, by owner. An adapter proves itself with `outcomeStoreSuite`. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Outcome } from "./Outcome.ts"

export class OutcomeStore extends Context.Service<
  OutcomeStore,
  {
    /**
     * Keeps one outcome for a question of an answer set: a second one replaces the first. False, and nothing is kept, when the assistant
     * or the thread that it names is not the principal's or is gone. Outcomes go with their thread, and with their assistant.
     */
    readonly record: (outcome: Outcome) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** The principal's newest outcomes of an assistant, or of no assistant (null), newest first; of one moment, in any order. */
    readonly newest: (
      assistantId: AssistantId | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Outcome>, StoreUnavailable, Principal>
  }
>()("@colloquy/core/answers/OutcomeStore") {}
