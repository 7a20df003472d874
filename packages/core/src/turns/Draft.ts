/**
 * A turn that has ids and a log but is not stored yet. Parts that listen write events into this log. As soon as they do, the stream begins,
 * although the message is not stored yet; a refusal after that point ends the stream.
 */
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { chargeWithinBounds } from "../models/ReportedFigures.ts"
import { MessageId, type NewIds, newIds, RunId } from "../primitives/Ids.ts"
import { noUsage } from "../primitives/Usage.ts"
import { RunLog } from "../runs/RunLog.ts"
import type { Place } from "./Place.ts"
import { mustBeJson } from "./RegisteredPart.ts"
import type { Listening } from "./TurnPart.ts"
import type { TurnEvent } from "./TurnEvent.ts"

export interface Draft {
  readonly runId: RunId
  readonly messageId: MessageId
  readonly answerId: MessageId
  readonly log: RunLog<TurnEvent>
  readonly listening: (part: string) => Listening
  /** Completed by the first event that a listening part tells. */
  readonly firstEvent: Deferred.Deferred<void>
}

export const newDraft: Effect.Effect<Draft> = Effect.clockWith((clock) =>
  Effect.map(newIds, (allocate) => draftOf(clock, allocate))
)

const draftOf = (clock: Clock.Clock, allocate: NewIds): Draft => {
  const log = new RunLog<TurnEvent>(1)
  const firstEvent = Deferred.makeUnsafe<void>()
  return {
    runId: allocate(RunId),
    messageId: allocate(MessageId),
    answerId: allocate(MessageId),
    log,
    firstEvent,
    listening: (part): Listening => ({
      tell: ({ data, isLive = false, type }) => {
        mustBeJson(part, data)
        const at = clock.currentTimeMillisUnsafe()
        log.push((sequence) => ({ _tag: "PartTold", sequence, part, type, data, isLive, at }))
        log.wake()
        Deferred.doneUnsafe(firstEvent, Effect.void)
      },
      spend: (charge) =>
        void log.push((sequence) => ({ _tag: "Charged", sequence, charge: chargeWithinBounds(charge) }))
    })
  }
}

/** Ends the log of a turn that was refused and not stored: the followers of the log get the reason. */
export const endDraft = (
  { answerId, log }: Draft,
  place: Place,
  refusal: { readonly code: string; readonly message: string; readonly retryable: boolean }
): void => {
  log.push((sequence) => ({
    _tag: "RunFailed",
    sequence,
    messageId: answerId,
    content: "",
    provider: place.assistant.provider ?? "",
    model: place.assistant.model ?? "",
    usage: noUsage,
    contextUsage: null,
    error: refusal.message,
    code: refusal.code,
    retryable: refusal.retryable
  }))
  log.close("ended")
}
