/**
 * Turns an effect of the kernel into a promise: for which owner it runs, what ends the wait (the caller's signal, the end of the kernel),
 * and with which error the promise then rejects. `openKernel` is built from these functions.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Principal } from "../access/Principal.ts"
import { UnderWay } from "../primitives/UnderWay.ts"

/** Options of every call besides its request. */
export interface CallOptions {
  /** The owner for whom the call runs. Absent: the owner of `as`, otherwise the owner that the kernel was opened with. */
  readonly owner?: string | undefined
  /** When it is aborted, the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined
}

/** The call names no owner, and the kernel was opened without one. */
export class OwnerMissing extends Schema.TaggedError<OwnerMissing>()("OwnerMissing", {}) {
  override get message() {
    return 'This call has no owner. Use `as("…")`, or give `owner` to the call or when opening the kernel.'
  }
}

/** The kernel was closed before this call. */
export class KernelClosed extends Schema.TaggedError<KernelClosed>()("KernelClosed", {}) {
  override get message() {
    return "The kernel is closed. Open another one."
  }
}

type OnLeave = (reason: unknown) => void

/** Stops the watch. Returns false if it had stopped before. */
type Unwatch = () => boolean

export type Watch = (leave: OnLeave) => Unwatch

export class Calls<Services> {
  private readonly services: Context.Context<Services>
  private readonly waiting = new Set<OnLeave>()
  private isClosed = false

  constructor(services: Context.Context<Services>) {
    this.services = services
  }

  service<Id extends Services, Shape>(key: Context.Key<Id, Shape>): Shape {
    return Context.get(this.services, key)
  }

  /** Runs an effect for an owner. It is interrupted when the caller leaves and when the kernel closes. */
  async run<A, E>(effect: () => Effect.Effect<A, E, Services | Principal>, options: CallOptions): Promise<A> {
    return this.runForAll(this.owned(effect, options.owner), options.signal)
  }

  /** Like `run`, for an effect without an owner. */
  async runForAll<A, E>(effect: Effect.Effect<A, E, Services>, signal: AbortSignal | undefined): Promise<A> {
    return this.runWatched(effect, (leave) => this.watch(signal, leave), signal)
  }

  /** Like `run`, for an effect that the closing kernel itself completes, so the close does not interrupt it. */
  async runToItsEnd<A, E>(effect: () => Effect.Effect<A, E, Services | Principal>, options: CallOptions): Promise<A> {
    const { owner, signal } = options
    return this.runWatched(this.owned(effect, owner), (leave) => watchSignal(signal, leave), signal)
  }

  iterator<A, E>(stream: Stream.Stream<A, E, Services>): AsyncIterator<A> {
    this.checkOpen()
    return Stream.toAsyncIterableWith(stream, this.services)[Symbol.asyncIterator]()
  }

  /** Calls back when the signal is aborted and when the kernel is closed. */
  watch(signal: AbortSignal | undefined, leave: OnLeave): Unwatch {
    const unwatch = watchSignal(signal, leave)
    this.waiting.add(leave)
    return () => {
      this.waiting.delete(leave)
      return unwatch()
    }
  }

  /** Refuses new calls from now on. */
  refuse(): void {
    this.isClosed = true
  }

  /** Rejects all calls that still wait. */
  leaveAll(): void {
    for (const leave of this.waiting) leave(new KernelClosed())
  }

  private owned<A, E>(effect: () => Effect.Effect<A, E, Services | Principal>, owner: string | undefined) {
    if (owner === undefined || owner === "") throw new OwnerMissing()
    return Principal.provide(owner)(Effect.suspend(effect))
  }

  private runWatched<A, E>(effect: Effect.Effect<A, E, Services>, watch: Watch, signal: AbortSignal | undefined) {
    this.checkOpen()
    signal?.throwIfAborted()
    const interruption = new AbortController()
    const work = this.underWay(Effect.runPromiseWith(this.services)(effect, { signal: interruption.signal }))
    return unlessLeft(work, watch, async () => interruption.abort())
  }

  /** The process does not end before this promise does. */
  underWay<A>(work: Promise<A>): Promise<A> {
    return work.finally(Context.get(this.services, UnderWay).begin())
  }

  private checkOpen(): void {
    if (this.isClosed) throw new KernelClosed()
  }
}

/** The result of the work. If the caller leaves earlier, `leave` runs and the promise rejects with the reason. */
export const unlessLeft = <A>(work: Promise<A>, watch: Watch, leave: () => Promise<void>): Promise<A> =>
  new Promise((resolve, reject) => {
    const unwatch = watch((reason) => {
      unwatch()
      leave().then(() => reject(reason), reject)
    })
    work.then(
      (value) => void (unwatch() && resolve(value)),
      (error: unknown) => void (unwatch() && reject(error))
    )
  })

/** Calls back when the signal is aborted. */
export const watchSignal = (signal: AbortSignal | undefined, leave: OnLeave): Unwatch => {
  let isWatching = true
  const abort = () => {
    if (isWatching) leave(signal?.reason)
  }
  signal?.addEventListener("abort", abort)
  // A signal that is already aborted fires no event.
  if (signal?.aborted === true) queueMicrotask(abort)
  return () => {
    signal?.removeEventListener("abort", abort)
    const wasWatching = isWatching
    isWatching = false
    return wasWatching
  }
}
