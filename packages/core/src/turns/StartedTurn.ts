/** What a caller holds of a turn that has begun. The run goes on whether or not anybody reads it. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { RunLog } from "../runs/RunLog.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { foldReply, type ReplyPlace, type TurnReply } from "./TurnReply.ts"

export interface StartedTurn {
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
  /** The events of this leg from its first, live, to its terminal one. */
  readonly events: Stream.Stream<TurnEvent, StoreUnavailable>
  /** The same events, folded. Waits for the end of the leg. */
  readonly reply: Effect.Effect<TurnReply, StoreUnavailable>
}

/** `log`: that of the leg, when this process works on it. Its reply is then read at its end and not along the way. */
export const startedTurn = (
  place: ReplyPlace,
  events: Stream.Stream<TurnEvent, StoreUnavailable>,
  log?: RunLog<TurnEvent>
): StartedTurn => {
  const wholeReply = Effect.flatMap(Stream.runCollect(events), (all) => replyOf(place, all))
  return {
    ...place,
    events,
    reply:
      log === undefined
        ? wholeReply
        : Effect.flatMap(log.closed, (state) => (state === "ended" ? replyOf(place, log.events) : wholeReply))
  }
}

const replyOf = (place: ReplyPlace, events: ReadonlyArray<TurnEvent>): Effect.Effect<TurnReply> => {
  const reply = foldReply(place, events)
  return reply === undefined ? Effect.die(new Error(`The log of run ${place.runId} has no end`)) : Effect.succeed(reply)
}
