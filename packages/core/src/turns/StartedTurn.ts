/** A turn that has begun, as its caller gets it. The run goes on whether or not the caller reads it. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { RunLog } from "../runs/RunLog.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import type { IgnoredOption } from "./IgnoredOption.ts"
import { foldReply, type RecordedBeginning, type ReplyIds, type TurnReply } from "./TurnReply.ts"

export interface StartedTurn {
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
  /** Options that have no effect; empty while a part still listens to the message. */
  readonly ignored: ReadonlyArray<IgnoredOption>
  /** Set when no leg has begun: answers were stored, and the run waits on for these calls. The reply and the events say the same. */
  readonly open?: ReadonlyArray<string>
  /** The events of this leg, live, from its first to its terminal event. */
  readonly events: Stream.Stream<TurnEvent, StoreUnavailable>
  /** The reply, folded from the same events. It waits for the end of the leg. */
  readonly reply: Effect.Effect<TurnReply, StoreUnavailable>
}

/**
 * `log` is the log of the leg, when this process works on the run. Then the reply is folded once, at the end of the leg. The stream is made
 * when it is asked for: V8 keeps what a stream knows until the next full collection (decision 98).
 */
export const startedTurn = (
  { createdAt, ignored = [], ...ids }: ReplyIds & RecordedBeginning,
  makeEvents: () => StartedTurn["events"],
  log?: RunLog<TurnEvent>
): StartedTurn => new Started(ids, { ignored, ...(createdAt && { createdAt }) }, makeEvents, log)

class Started implements StartedTurn {
  declare readonly threadId: ThreadId
  declare readonly assistantId: AssistantId
  declare readonly runId: RunId
  readonly ignored: ReadonlyArray<IgnoredOption>
  readonly reply: StartedTurn["reply"]
  private readonly makeEvents: () => StartedTurn["events"]

  constructor(
    ids: ReplyIds,
    recorded: Pick<StartedTurn, "ignored"> & RecordedBeginning,
    makeEvents: () => StartedTurn["events"],
    log: RunLog<TurnEvent> | undefined
  ) {
    Object.assign(this, ids)
    this.ignored = recorded.ignored
    this.makeEvents = makeEvents
    const whole = () => Effect.flatMap(Stream.runCollect(makeEvents()), (all) => replyFromEvents(ids, all, recorded))
    this.reply =
      log === undefined
        ? Effect.suspend(whole)
        : Effect.flatMap(log.closed, (state) =>
            state === "ended" ? replyFromEvents(ids, log.events, recorded) : whole()
          )
  }

  get events(): StartedTurn["events"] {
    return this.makeEvents()
  }
}

const replyFromEvents = (
  ids: ReplyIds,
  events: ReadonlyArray<TurnEvent>,
  recorded: RecordedBeginning
): Effect.Effect<TurnReply> => {
  const reply = foldReply(ids, events, recorded)
  return reply === undefined ? Effect.die(new Error(`The log of run ${ids.runId} has no end`)) : Effect.succeed(reply)
}
