/**
 * Statements of a client with one connection wait for each other anyway. Here they wait in turns by owner, so that the statements of a
 * hundred requests of one owner delay a statement of another owner by one of them. All statements without a principal count as those of one owner.
 */
import { Principal } from "@colloquy/core"
import { makeFairTurns } from "@colloquy/core/adapters"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

/** Runs the statement when its owner's turn has come. */
export type FairStatements = <A, E>(statement: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** The owner in whose turn a statement runs. Empty without a principal, because no owner has an empty name. */
export const ownerOfFiber = ({ context }: Fiber.Fiber<unknown, unknown>): string =>
  Context.getOrUndefined(context, Principal)?.ownerId ?? ""

interface Ticket {
  begin: (() => void) | undefined
  startedAt: number
}

export const makeFairStatements = (): FairStatements => {
  const turns = makeFairTurns<Ticket>({ atOnce: 1, share: 1 })

  const callNext = () => {
    const ticket = turns.next()
    if (ticket === undefined) return
    ticket.startedAt = performance.now()
    ticket.begin?.()
    ticket.begin = undefined
  }

  return (statement) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.withFiber((fiber) => {
        const owner = ownerOfFiber(fiber)
        const ticket: Ticket = { begin: undefined, startedAt: 0 }
        turns.join(owner, ticket)
        callNext()
        const turn =
          ticket.startedAt > 0
            ? statement
            : Effect.andThen(
                Effect.callback<void>((resume) => {
                  if (ticket.startedAt > 0) resume(Effect.void)
                  else ticket.begin = () => resume(Effect.void)
                }),
                statement
              )
        return Effect.ensuring(
          restore(turn),
          Effect.sync(() => {
            turns.leave(owner, ticket, performance.now() - ticket.startedAt)
            callNext()
          })
        )
      })
    )
}
