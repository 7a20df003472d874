/**
 * Step 2 of a streamed turn whose parts listen. The stream begins with the first event that a part tells while it listens, before the
 * message is stored. From then on the rest of the turn runs in the kernel, and a refusal ends the stream. Before the first event, a refusal
 * fails the call.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import { Admissions } from "./Admissions.ts"
import { type Draft, endDraft } from "./Draft.ts"
import { Followers } from "./Followers.ts"
import type { Place } from "./Place.ts"
import { LegFibers } from "./RunningTurns.ts"
import { startedTurn, type StartedTurn } from "./StartedTurn.ts"
import { type ShuttingDown, TurnRefused } from "./TurnErrors.ts"

export class EarlyStream extends Context.Service<
  EarlyStream,
  {
    /** `rest` contains all remaining steps of beginning the turn. */
    readonly begin: <E extends Error>(
      place: Place,
      draft: Draft,
      rest: Effect.Effect<StartedTurn, E, Principal>
    ) => Effect.Effect<StartedTurn, E | ShuttingDown, Principal>
  }
>()("@colloquy/core/turns/EarlyStream") {
  static readonly layer: Layer.Layer<EarlyStream, never, Admissions | Followers | LegFibers> = Layer.effect(
    EarlyStream,
    Effect.gen(function* () {
      const { admit } = yield* Admissions
      const followers = yield* Followers
      const { fork } = yield* LegFibers

      return EarlyStream.of({
        begin: Effect.fnUntraced(function* <E extends Error>(
          place: Place,
          draft: Draft,
          rest: Effect.Effect<StartedTurn, E, Principal>
        ): Effect.fn.Return<StartedTurn, E | ShuttingDown, Principal> {
          const fiber = yield* fork(admit(() => rest))
          const first = yield* Effect.raceFirst(
            Effect.as(Deferred.await(draft.firstEvent), null),
            Effect.onInterrupt(Fiber.join(fiber), () =>
              draft.log.events.length === 0 ? Fiber.interrupt(fiber) : Effect.void
            )
          )
          if (first !== null) return first
          fiber.addObserver((exit) => {
            if (Exit.isFailure(exit)) endDraft(draft, place, refusalFromCause(exit.cause))
            else if (exit.value.runId !== draft.runId) endDraft(draft, place, repeated)
          })
          const turn = { threadId: place.thread.id, assistantId: place.assistant.id, runId: draft.runId }
          const events = yield* followers.events(draft.runId, 0, draft.log)
          return startedTurn(turn, () => events, draft.log)
        })
      })
    })
  )
}

const repeated = {
  code: "repeated",
  message:
    "A request with the same idempotency key came at the same moment, and goes on. Send this one again to read it.",
  retryable: true
}

const refusalFromCause = (cause: Cause.Cause<Error>) => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error instanceof TurnRefused) {
    const { code, message, reason } = error
    return { code: code ?? reason, message, retryable: reason === "part_timeout" }
  }
  if (error !== undefined) return { code: "not_stored", message: error.message, retryable: false }
  return { code: "interrupted", message: "The server was stopped. Nothing was stored; send it again.", retryable: true }
}
