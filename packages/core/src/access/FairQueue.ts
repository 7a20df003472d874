/**
 * Runs work of a limited number at once, in turns by owner (`FairTurns`), so that what one owner sends never delays another owner by more than
 * its fair share. Used where work is expensive and anybody may order it: files, pictures, vectors of documents. Work without a principal is
 * that of one more owner.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type FairLimits, makeFairTurns } from "./FairTurns.ts"
import { Principal } from "./Principal.ts"

/** Work that takes longer is late: all places may be taken by such work, and another owner's must not wait for its end. */
const patience = "4 seconds"

export interface FairQueue {
  /** Runs the work when its owner's turn has come. Interruption ends the wait, or the work. */
  readonly inTurn: <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

interface Ticket {
  readonly called: Deferred.Deferred<void>
  startedAt: number
}

/** Makes a queue that takes the work of owners in turns. */
export const makeFairQueue = (limits: FairLimits): Effect.Effect<FairQueue> =>
  Effect.map(Clock.Clock, (clock) => {
    const turns = makeFairTurns<Ticket>(limits)
    const now = () => clock.currentTimeMillisUnsafe()

    const callNext = () => {
      for (let ticket = turns.next(); ticket !== undefined; ticket = turns.next()) {
        ticket.startedAt = now()
        Deferred.doneUnsafe(ticket.called, Effect.void)
      }
    }

    const waitAndRun = <A, E, R>(owner: string, work: Effect.Effect<A, E, R>) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.suspend(() => {
          const ticket: Ticket = { called: Deferred.makeUnsafe(), startedAt: now() }
          turns.join(owner, ticket)
          callNext()
          const whenLate = Effect.andThen(
            Effect.sleep(patience),
            Effect.sync(() => {
              turns.isLate(ticket)
              callNext()
            })
          )
          const watched = Effect.scoped(Effect.andThen(Effect.forkScoped(whenLate), work))
          return Effect.ensuring(
            restore(Effect.andThen(Deferred.await(ticket.called), watched)),
            Effect.sync(() => {
              turns.leave(owner, ticket, now() - ticket.startedAt)
              callNext()
            })
          )
        })
      )

    return {
      inTurn: (work) => Effect.flatMap(ownerOfWork, (owner) => waitAndRun(owner, work))
    }
  })

/** No owner is named by an empty text. */
const ownerOfWork = Effect.map(Effect.serviceOption(Principal), (principal) =>
  Option.match(principal, { onNone: () => "", onSome: ({ ownerId }) => ownerId })
)
