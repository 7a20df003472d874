/**
 * Builds the kernel at the first request, so that importing a handler opens nothing. If the build fails, a later request tries again, after a
 * pause that grows with each failure. The reason of a failure is logged once. Used by `webHandler`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { Scheduler } from "effect/Scheduler"

type Runtime<R, E> = ManagedRuntime.ManagedRuntime<R, E>

const firstPause = 1000
const longestPause = 60_000

export class Startup<R, E> {
  private readonly layer: Layer.Layer<R, E>
  private building: Promise<Runtime<R, E>> | null = null
  private current: Runtime<R, E> | null = null
  private failure: { readonly cause: unknown; readonly pause: number; readonly retryAt: number } | null = null
  /** The reason that was logged last: the same reason is not logged twice in a row. */
  private loggedCause: string | null = null
  private isClosed = false

  constructor(layer: Layer.Layer<R, E>) {
    this.layer = layer
  }

  /** For a request: gives the kernel, waits for the build that is under way, or begins one if the pause after the last failure is over. */
  readonly whenNeeded = async (): Promise<Runtime<R, E>> => {
    try {
      if (this.building === null && this.failure !== null && performance.now() < this.failure.retryAt)
        throw this.failure.cause
      return await this.build()
    } catch (cause) {
      this.logOnce(cause)
      throw cause
    }
  }

  /** The same without a pause, for a host that calls `ready()` and handles a failure itself. */
  readonly build = (): Promise<Runtime<R, E>> => {
    if (this.isClosed) return Promise.reject(new Error("The handler has been disposed"))
    this.building ??= this.attempt()
    return this.building
  }

  /** The build that has ended or is under way; null before the first one and after a failure. */
  get begun(): Promise<Runtime<R, E>> | null {
    return this.building
  }

  /** Whole seconds after which another attempt is made. */
  get secondsToRetry(): number {
    return Math.max(1, Math.ceil(((this.failure?.retryAt ?? 0) - performance.now()) / 1000))
  }

  readonly close = async (): Promise<void> => {
    this.isClosed = true
    await this.current?.dispose()
  }

  private async attempt(): Promise<Runtime<R, E>> {
    const runtime = ManagedRuntime.make(withoutScheduler(this.layer))
    this.current = runtime
    try {
      await runtime.context()
    } catch (cause) {
      await runtime.dispose()
      if (!this.isClosed) this.fail(cause)
      this.building = null
      throw cause
    }
    if (this.loggedCause !== null) Effect.runFork(Effect.logInfo("The kernel has been started"))
    this.loggedCause = null
    this.failure = null
    return runtime
  }

  private fail(cause: unknown): void {
    const pause = Math.min(longestPause, this.failure === null ? firstPause : this.failure.pause * 2)
    this.failure = { cause, pause, retryAt: performance.now() + pause }
  }

  /** Writes to the platform's log, because the kernel's own logger could not be built either. */
  private logOnce(cause: unknown): void {
    const told = inWords(cause)
    if (this.isClosed || this.loggedCause === told) return
    this.loggedCause = told
    const words = "The kernel could not be started. Requests get 503, and later ones try again. The cause:"
    Effect.runFork(Effect.logError(`${words} ${told}${firstStackLine(cause)}`))
  }
}

/**
 * `ManagedRuntime` puts its scheduler among the services of a build. Handlers keep these services, and use them for requests: so the scheduler
 * that a request brings would be lost at the first handler.
 */
const withoutScheduler = <R, E>(layer: Layer.Layer<R, E>): Layer.Layer<R, E> =>
  Layer.fromBuild((memoMap, scope) =>
    Effect.updateContext(Layer.buildWithMemoMap(layer, memoMap, scope), Context.omit(Scheduler))
  )

/** The messages of an error and of all its causes. The last cause names the fault, such as a refused password. */
const inWords = (error: unknown): string => {
  const told = errorAndCauses(error).map(errorText)
  return told.filter((words, index) => words !== "" && told.indexOf(words) === index).join(" Cause: ")
}

/** The place in the code where the last of all causes was thrown. */
const firstStackLine = (error: unknown): string => {
  const first = errorAndCauses(error).at(-1)
  const stack = first instanceof Error ? (first.stack ?? "") : ""
  const start = stack.indexOf("\n    at ")
  return start === -1 ? "" : stack.slice(start)
}

/** The error, its cause, the cause of that cause, and so on. The list ends where a cycle begins. */
const errorAndCauses = (error: unknown): ReadonlyArray<unknown> => {
  const found = new Set<unknown>()
  for (let each = error; each !== undefined && each !== null && !found.has(each);) {
    found.add(each)
    each = typeof each === "object" && "cause" in each ? each.cause : null
  }
  return [...found]
}

/** Of several addresses that were tried (`AggregateError`) Node gives a code and no message. */
const errorText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.message === "" && "code" in error ? String(error.code) : error.message
}
