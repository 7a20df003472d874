/**
 * A turn that has ids and a log but is not stored yet. Parts that listen write events into this log. As soon as they do, the stream begins,
 * although the message is not stored yet; a refusal after that point ends the stream.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { Charge } from "../metering/Charge.ts"
import { type Account, chargeOutside } from "../metering/ChargeOutside.ts"
import { type EndCharge, unknownCharge } from "../metering/PaidCall.ts"
import { chargeWithinBounds } from "../models/ReportedFigures.ts"
import { type AssistantId, ChargeId, idsOfFiber, MessageId, type NewIds, RunId } from "../primitives/Ids.ts"
import { noUsage } from "../primitives/Usage.ts"
import { RunLog } from "../runs/RunLog.ts"
import type { Place } from "./Place.ts"
import { mustBeJson } from "./RegisteredPart.ts"
import type { ThreadBusy } from "./TurnErrors.ts"
import type { Listening } from "./TurnPart.ts"
import type { TurnEvent } from "./TurnEvent.ts"

export interface Draft {
  readonly runId: RunId
  readonly messageId: MessageId
  readonly answerId: MessageId
  readonly log: RunLog<TurnEvent>
  readonly listening: (part: string) => Listening
  /** Calls that parts have begun while they listen: entries of the ledger, until the turn is stored or refused with their charges. */
  readonly begun: Array<ChargeId>
  /** True: the message waits for its thread, or nobody knows yet whether it is stored. Its charges are stored when that is decided. */
  isChargedLater: boolean
  /** Charges what listening has cost, when nothing of the message is kept. */
  readonly chargeUnkept: Effect.Effect<void, never, Principal>
  /** Completed by the first event that a listening part tells. */
  readonly firstEvent: Deferred.Deferred<void>
}

export const newDraft = (account: Account, assistantId: AssistantId, runId?: RunId): Effect.Effect<Draft> =>
  Effect.withFiberSucceed((fiber) =>
    makeDraft(fiber.getRef(Clock.Clock), idsOfFiber(fiber), account, assistantId, runId)
  )

const makeDraft = (
  clock: Clock.Clock,
  allocate: NewIds,
  account: Account,
  assistantId: AssistantId,
  runId = allocate(RunId)
): Draft => {
  const log = new RunLog<TurnEvent>(1)
  const begun: Array<ChargeId> = []
  const spend = (charge: Charge): void =>
    void log.push((sequence) => ({ _tag: "Charged", sequence, charge: chargeWithinBounds(charge) }))
  const firstEvent = Deferred.makeUnsafe<void>()
  return {
    runId,
    messageId: allocate(MessageId),
    answerId: allocate(MessageId),
    log,
    begun,
    isChargedLater: false,
    chargeUnkept: Effect.suspend(() =>
      chargeOutside(
        account,
        { runId: null, assistantId },
        log.events.flatMap((event) => (event._tag === "Charged" ? [event.charge] : []))
      )
    ).pipe(Effect.catchCause((cause) => Effect.logError("The cost of a refused message was not recorded", cause))),
    firstEvent,
    listening: (part): Listening => ({
      tell: ({ data, isLive = false, type }) => {
        mustBeJson(part, data)
        const at = clock.currentTimeMillisUnsafe()
        log.push((sequence) => ({ _tag: "PartTold", sequence, part, type, data, isLive, at }))
        log.wake()
        Deferred.doneUnsafe(firstEvent, Effect.void)
      },
      spend,
      beginCharge: (payee) =>
        Effect.suspend(() => {
          const id = allocate(ChargeId)
          begun.push(id)
          const end: EndCharge = (charges) => Effect.sync(() => charges.forEach(spend))
          return Effect.as(account.ledger.begin(id, [unknownCharge(payee)], assistantId), end)
        })
    })
  }
}

/** Why a turn ends without a stored message. */
export interface Refusal {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
}

/** Ends the log of a turn that was refused and not stored: the followers of the log get the reason. */
export const endDraft = ({ answerId, log }: Draft, { assistant }: Place, refusal: Refusal): void =>
  endRefused(log, { messageId: answerId, provider: assistant.provider ?? "", model: assistant.model ?? "" }, refusal)

interface RefusedLeg {
  readonly messageId: MessageId
  readonly provider: string
  readonly model: string
}

const nothingSaid = { content: "", usage: noUsage, contextUsage: null }

export const endRefused = (log: RunLog<TurnEvent>, answer: RefusedLeg, refusal: Refusal): void => {
  const { code, message: error, retryable } = refusal
  log.push((sequence) => ({ _tag: "RunFailed", sequence, ...answer, ...nothingSaid, error, code, retryable }))
  log.close("ended")
}

/** Ends the log of a turn that was cancelled before anything of it was kept. */
export const endCancelled = (log: RunLog<TurnEvent>, answer: RefusedLeg): void => {
  log.push((sequence) => ({ _tag: "RunCancelled", sequence, ...answer, ...nothingSaid }))
  log.close("ended")
}

/** The end of a message that waited for its thread too long. Nothing of it is left. */
export const waitedTooLong = ({ message }: Pick<ThreadBusy, "message">): Refusal => ({
  code: "thread_busy",
  message,
  retryable: true
})
