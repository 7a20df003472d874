/**
 * Lets a process end when nothing is under way, also when nobody closed the kernel: the kernel's timers do not keep the process alive, and
 * one timer does while a call, a turn or a follow-up is under way. On platforms without `unref` nothing changes.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { UnderWay, type UnderWayPort } from "../primitives/UnderWay.ts"

// oxlint-disable no-restricted-globals -- these are the timers that Effect's clock would use, made so that they do not keep the process alive

/** The longest time that a timer of JavaScript can wait, in milliseconds. */
const longest = 2 ** 31 - 1

const makeUnderWay = (): UnderWayPort => {
  let count = 0
  let timer: ReturnType<typeof setInterval> | undefined
  return {
    begin: () => {
      if (count++ === 0) timer = setInterval(() => {}, longest)
      let hasEnded = false
      return () => {
        if (hasEnded) return
        hasEnded = true
        if (--count === 0) clearInterval(timer)
      }
    }
  }
}

const sleep = (millis: number): Effect.Effect<void> => {
  if (millis <= 0) return Effect.yieldNow
  if (!Number.isFinite(millis)) return Effect.never
  return Effect.callback<void>((resume) => {
    const rest = millis > longest ? sleep(millis - longest) : Effect.void
    // @effect-diagnostics-next-line globalTimersInEffect:off -- this is how the clock of Effect sleeps
    const timer = setTimeout(() => resume(rest), Math.min(millis, longest))
    if (hasUnref(timer)) timer.unref()
    return Effect.sync(() => clearTimeout(timer))
  })
}

const hasUnref = (timer: unknown): timer is { readonly unref: () => void } =>
  typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function"

const quietClock = (usual: Clock.Clock): Clock.Clock => ({
  currentTimeMillisUnsafe: () => usual.currentTimeMillisUnsafe(),
  currentTimeMillis: usual.currentTimeMillis,
  currentTimeNanosUnsafe: () => usual.currentTimeNanosUnsafe(),
  currentTimeNanos: usual.currentTimeNanos,
  monotonicTimeNanosUnsafe: () => usual.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: usual.monotonicTimeNanos,
  sleep: (duration) => sleep(Duration.toMillis(duration))
})

export const processLife: Layer.Layer<never> = Layer.mergeAll(
  Layer.sync(UnderWay, makeUnderWay),
  Layer.effect(Clock.Clock, Effect.map(Clock.Clock, quietClock))
)
