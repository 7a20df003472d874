/**
 * Calls of vendors that cost money: a picture, a vector, a search, an answer outside of the conversation. Each is noted before it is made, so
 * that a process that dies in between loses no charge: a call that was begun and has no end is charged with unknown usage. In a turn the note
 * is an event of the run's log (`LiveTurn.beginCharge`), everywhere else an entry of the ledger (`chargeOutside`).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { noUsage, Usage } from "../primitives/Usage.ts"
import type { Charge } from "./Charge.ts"

/** Which provider and model a charge goes to, and for which purpose (`embedding`, `tts`, …). */
export type Payee = Pick<Charge, "provider" | "model" | "purpose">

/** Ends a call with its charges; with none, it cost nothing. */
export type EndCharge<E = never> = (charges: ReadonlyArray<Charge>) => Effect.Effect<void, E, Principal>

/** Notes a call that is about to be made. */
export type BeginCharge<E = never> = (payee: Payee) => Effect.Effect<EndCharge<E>, E, Principal>

/** For work that nobody pays for, such as a measurement. */
export const noCharge: BeginCharge = () => Effect.succeed(() => Effect.void)

/** The charge of a call whose end nobody saw: it may have cost something, and nobody knows how much. */
export const unknownCharge = ({ model, provider, purpose }: Payee): Charge => ({
  provider,
  model,
  purpose,
  usage: { ...noUsage, estimated: true }
})

export interface PaidCall<A, E, R> {
  readonly payee: Payee
  readonly call: Effect.Effect<A, E, R>
  readonly charges: (answer: A) => ReadonlyArray<Charge>
  /** What a failed call cost. Absent: the `usage` of its error; nothing without one. */
  readonly chargesOfFailure?: (error: E) => ReadonlyArray<Charge>
}

const hasUsage = Schema.is(Schema.Struct({ usage: Usage }))

/** Makes a call between its note and its charge. A call that is interrupted, or that has a defect, is charged with unknown usage. */
export const paid = <A, E, R, E2>(
  begin: BeginCharge<E2>,
  { call, charges, chargesOfFailure, payee }: PaidCall<A, E, R>
): Effect.Effect<A, E | E2, R | Principal> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(begin(payee)), (end) =>
      Effect.flatMap(Effect.exit(restore(call)), (exit) => {
        if (Exit.isSuccess(exit)) return Effect.as(end(charges(exit.value)), exit.value)
        const error = Exit.hasInterrupts(exit) ? Option.none() : Cause.findErrorOption(exit.cause)
        const spent = Option.match(error, {
          onNone: () => [unknownCharge(payee)],
          onSome: (failure) =>
            chargesOfFailure?.(failure) ?? (hasUsage(failure) ? [{ ...payee, usage: failure.usage }] : [])
        })
        return Effect.andThen(end(spent), exit)
      })
    )
  )
