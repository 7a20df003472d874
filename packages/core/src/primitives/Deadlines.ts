/**
 * All time limits that core sets to foreign code (a provider's driver, a host's meter, a part of a turn). Work that is late is abandoned:
 * its cleanup is not awaited, because some cleanup never ends. Many waits share one alarm: a wait costs one entry in a set, and its work
 * one fiber; a wait for a callback costs no fiber. `inTime` is for a single wait.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { makeAlarm } from "./Alarm.ts"
import { TransientSet } from "./Transient.ts"

export interface DeadlinesPort {
  /**
   * Runs the effect until `due`. Then `late` runs and the effect is interrupted in the background; the same happens when the caller is
   * interrupted. `due` may move while the effect runs.
   */
  readonly limit: <A, E, R, B, E2>(
    effect: Effect.Effect<A, E, R>,
    due: () => number,
    late: () => Effect.Effect<B, E2>
  ) => Effect.Effect<A | B, E | E2, R>
  /** Like `limit`, with a duration from now on. */
  readonly within: <A, E, R, B, E2>(
    time: Duration.Input,
    effect: Effect.Effect<A, E, R>,
    late: () => Effect.Effect<B, E2>
  ) => Effect.Effect<A | B, E | E2, R>
  /** The same for a callback, which `begin` is given. What it began is stopped by the function that it returns, if it returns one. */
  readonly callback: <A, E>(
    time: Duration.Input,
    begin: Begin<A, E>,
    late: () => Effect.Effect<A, E>
  ) => Effect.Effect<A, E>
}

type Begin<A, E> = (resume: (answer: Effect.Effect<A, E>) => void) => (() => void) | void

interface Entry {
  readonly due: () => number
  readonly expire: () => void
}

export const makeDeadlines: Effect.Effect<DeadlinesPort, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const entries = new TransientSet<Entry>()
  const alarm = yield* makeAlarm((now) =>
    Effect.sync(() => {
      let next = Number.POSITIVE_INFINITY
      for (const entry of entries) {
        const due = entry.due()
        if (due > now) next = Math.min(next, due)
        else entry.expire()
      }
      return next
    })
  )

  const limit = <A, E, R, B, E2>(effect: Effect.Effect<A, E, R>, due: () => number, late: () => Effect.Effect<B, E2>) =>
    Exit.isExit(effect)
      ? effect
      : Effect.contextWith((context: Context.Context<R>) =>
          Effect.callback<A | B, E | E2, R>((resume) => {
            const fiber = Effect.runForkWith(context)(effect)
            const leave = () => {
              entries.delete(entry)
              fiber.interruptUnsafe()
            }
            const entry: Entry = {
              due,
              expire: () => {
                resume(late())
                leave()
              }
            }
            entries.add(entry)
            alarm.at(due())
            fiber.addObserver((exit) => {
              entries.delete(entry)
              resume(exit)
            })
            return Effect.sync(leave)
          })
        )

  return {
    limit,
    within: (time, effect, late) =>
      Exit.isExit(effect)
        ? effect
        : Effect.suspend(() => {
            const due = clock.currentTimeMillisUnsafe() + Duration.toMillis(time)
            return limit(effect, () => due, late)
          }),
    callback: <A, E>(time: Duration.Input, begin: Begin<A, E>, late: () => Effect.Effect<A, E>) =>
      Effect.callback<A, E>((resume) => {
        const due = clock.currentTimeMillisUnsafe() + Duration.toMillis(time)
        const leave = (answer: Effect.Effect<A, E>) => {
          entries.delete(entry)
          resume(answer)
        }
        const entry: Entry = {
          due: () => due,
          expire: () => {
            leave(late())
            stop?.()
          }
        }
        entries.add(entry)
        alarm.at(due)
        const stop = begin(leave)
        return Effect.sync(() => {
          entries.delete(entry)
          stop?.()
        })
      })
  }
})

/** The deadlines that all work of one kernel shares. */
export class Deadlines extends Context.Service<Deadlines, DeadlinesPort>()("@colloquy/core/primitives/Deadlines") {
  static readonly layer: Layer.Layer<Deadlines> = Layer.effect(Deadlines, makeDeadlines)
}

/** With deadlines of its own. */
const alone = <A, E, R>(use: (deadlines: DeadlinesPort) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.scoped(Effect.flatMap(makeDeadlines, (deadlines) => Effect.provideContext(use(deadlines), context)))
  )

/** By the deadlines that the fiber brings along, as that of a request does. */
const byDeadlines = <A, E, R>(use: (deadlines: DeadlinesPort) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const deadlines = Context.getOrUndefined(fiber.context, Deadlines)
    return deadlines === undefined ? alone(use) : use(deadlines)
  })

/** Limits what runs for every request. */
export const limitedTo = <A, E, R, E2>(
  time: Duration.Input,
  effect: Effect.Effect<A, E, R>,
  late: () => Effect.Effect<never, E2>
): Effect.Effect<A, E | E2, R> => byDeadlines(({ within }) => within(time, effect, late))

/** Runs a function that answers by a callback, and calls `late` in its place when the time is over. */
export const callbackLimitedTo = <A, E>(
  time: Duration.Input,
  begin: Begin<A, E>,
  late: () => Effect.Effect<A, E>
): Effect.Effect<A, E> => byDeadlines(({ callback }) => callback(time, begin, late))

/** For a rare wait. */
export const inTime =
  <B, E2>(time: Duration.Input, late: () => Effect.Effect<B, E2>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A | B, E | E2, R> =>
    alone(({ within }) => within(time, effect, late))
