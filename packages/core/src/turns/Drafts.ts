/**
 * Gives the rest of a turn its draft. When a part hears the message, the stream may begin before the turn is stored, and what listening has
 * cost is charged also when the turn is refused and nothing of it is stored.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import { Metering } from "../metering/Metering.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { type Draft, newDraft } from "./Draft.ts"
import { EarlyStream } from "./EarlyStream.ts"
import { isHeard } from "./PartDecisions.ts"
import type { Place } from "./Place.ts"
import type { StartedTurn } from "./StartedTurn.ts"
import type { ShuttingDown } from "./TurnErrors.ts"
import { TurnParts } from "./TurnParts.ts"
import type { TurnRequest } from "./TurnRequest.ts"

export class Drafts extends Context.Service<
  Drafts,
  {
    readonly use: <E extends Error>(
      request: TurnRequest,
      place: Place,
      rest: (draft: Draft) => Effect.Effect<StartedTurn, E, Principal>
    ) => Effect.Effect<StartedTurn, E | ShuttingDown | StoreUnavailable, Principal>
  }
>()("@colloquy/core/turns/Drafts") {
  static readonly layer: Layer.Layer<Drafts, never, EarlyStream | TurnParts | UsageLedger> = Layer.effect(
    Drafts,
    Effect.gen(function* () {
      const ledger = yield* UsageLedger
      const metering = yield* Metering
      const parts = yield* TurnParts
      const earlyStream = yield* EarlyStream

      /** The charges of these calls are stored with the run, or were written for the refused message. */
      const endBegun = ({ begun }: Draft, { assistant }: Place) =>
        Effect.suspend(() => Effect.forEach(begun, (id) => ledger.add(id, [], assistant.id), { discard: true })).pipe(
          Effect.catchCause((cause) =>
            Effect.logWarning("A call of a listening part is charged twice, once as unknown", cause)
          )
        )

      return Drafts.of({
        use: (request, place, rest) =>
          Effect.flatMap(newDraft({ ledger, metering }, place.assistant.id, request.child?.runId), (draft) => {
            if (!isHeard(parts.all(), request)) return rest(draft)
            const heard = rest(draft).pipe(
              Effect.onExit((exit) => (isKept(exit, draft) ? Effect.void : draft.chargeUnkept)),
              Effect.ensuring(endBegun(draft, place))
            )
            return request.stream === true ? earlyStream.begin(place, draft, heard) : heard
          })
      })
    })
  )
}

/** Nothing of the message is kept when it is refused, or repeats another one that came at the same moment. */
const isKept = (exit: Exit.Exit<StartedTurn, unknown>, { isChargedLater, runId }: Draft): boolean =>
  Exit.isSuccess(exit) ? exit.value.runId === runId : isChargedLater
