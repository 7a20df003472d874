/**
 * Effect's scheduler, for requests of many clients. By default each fiber that has let others go first continues in the next turn of the
 * event loop, all of them one after the other: a hundred requests that compute 10 ms at a time hold the loop for a second. Here those that
 * have continued for a short time are first, one of the others has its place in each turn, and after some milliseconds the loop goes on.
 *
 * Only for Node's messages: in workers a timer belongs to the request that set it, and is lost with it.
 */
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"

/** The milliseconds after which the event loop goes on. */
const longestTurn = 10
/** The milliseconds after which a fiber lets newer ones go first. */
const shortWork = 20

interface Work {
  readonly run: () => void
  readonly fiber: { spent: number }
}

/** What the scheduler has from its process. */
export interface Loop {
  readonly now: () => number
  /** Calls the function after the loop has read what clients have sent. */
  readonly inNextTurn: (run: () => void) => void
}

export class LoopTurns implements Scheduler.Scheduler {
  readonly executionMode = "async"
  private readonly usual = new Scheduler.MixedScheduler("async")
  private readonly loop: Loop
  private readonly short = new Set<Work>()
  private readonly long = new Set<Work>()
  private isWaiting = false

  constructor(loop: Loop) {
    this.loop = loop
  }

  shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    return this.usual.shouldYield(fiber)
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    const fiber = { spent: 0 }
    return new Scheduler.MixedScheduler("async", (run) => this.add({ run, fiber })).makeDispatcher()
  }

  /** Returns what takes the work back. */
  private add(work: Work): () => void {
    const waiting = work.fiber.spent < shortWork ? this.short : this.long
    waiting.add(work)
    this.wait()
    return () => {
      waiting.delete(work)
    }
  }

  private wait(): void {
    if (this.isWaiting) return
    this.isWaiting = true
    this.loop.inNextTurn(this.turn)
  }

  private readonly turn = (): void => {
    this.isWaiting = false
    const end = this.loop.now() + longestTurn
    const [oldest] = this.long
    // What these fibers add waits for the next turn.
    const inOrder = [...(oldest === undefined ? [] : [oldest]), ...this.short, ...this.long]
    try {
      for (const work of inOrder) {
        const began = this.loop.now()
        if (began >= end) break
        if (!this.short.delete(work) && !this.long.delete(work)) continue
        work.run()
        work.fiber.spent += this.loop.now() - began
      }
    } finally {
      if (this.short.size + this.long.size > 0) this.wait()
    }
  }
}

/** The scheduler of this process. */
export const loopTurns = (): LoopTurns =>
  new LoopTurns({ now: () => performance.now(), inNextTurn: (run) => void setImmediate(run) })
