/**
 * Which connection a statement takes. Short ones go to the first lane where the wait is tolerable, so that few lanes carry much and
 * further ones open only when they are needed. Others have a lane to themselves, and never all of them. One fiber keeps the time of
 * all statements: most are answered before anybody looks at the clock.
 */
import type { PgConnection, Result, Row } from "@effect/sql-pg/PgConnection"
import type { PgPool } from "@effect/sql-pg/PgPool"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import { SqlError, type SqlErrorReason, StatementTimeoutError } from "effect/sql/SqlError"
import { Lane, tolerable } from "./Lane.ts"
import { sqlStateOf } from "./StoreFault.ts"

export interface Statement {
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
  /** It may take long, or wait for others. */
  readonly alone: boolean
}

export interface LaneSettings {
  readonly pool: PgPool
  /** How many statements share a lane. */
  readonly capacity: number
  /** How many lanes there may be. */
  readonly size: number
  /** How long a statement may wait for a lane and its answer together, in milliseconds. */
  readonly timeout: number
  /** How long a connection may be used, in milliseconds. */
  readonly lifetime: number
  readonly clock: Clock.Clock
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
}

type Rows = ReadonlyArray<Row>

/** A statement on its way; without a lane it waits for one. */
interface Job {
  readonly statement: Statement
  readonly alone: boolean
  readonly since: number
  readonly end: (rows: Effect.Effect<Rows, SqlError>) => void
  lane: Lane | undefined
  fiber: Fiber.Fiber<Result, SqlError> | undefined
}

export class Lanes {
  private readonly settings: LaneSettings
  private readonly lanes: Array<Lane> = []
  private readonly waiting: { readonly shared: Array<Job>; readonly alone: Array<Job> } = { shared: [], alone: [] }
  /** Those that nobody has given up, the oldest first. */
  private readonly jobs = new Set<Job>()
  private readonly active = Latch.makeUnsafe()
  /** How long a lane takes for one statement, in milliseconds, smoothed. */
  private pace = 1
  private closed = false
  private isPlacing = false

  constructor(settings: LaneSettings) {
    this.settings = settings
  }

  readonly run = (statement: Statement): Effect.Effect<Rows, SqlError> =>
    Effect.callback((end) => {
      if (this.closed) return end(Effect.interrupt)
      const alone = statement.alone && this.settings.capacity > 1
      const job: Job = { statement, alone, since: this.now(), end, lane: undefined, fiber: undefined }
      this.jobs.add(job)
      if (this.jobs.size === 1) this.active.openUnsafe()
      const queue = this.queueOf(job)
      queue.push(job)
      // Alone it need not wait for company; where much is under way there will be some.
      if (this.jobs.size <= this.settings.capacity) this.place(queue)
      else this.placeTogether()
      return Effect.suspend(() => this.withdraw(job))
    })

  /** Looks after what is under way, and rests while there is nothing. */
  readonly watch: Effect.Effect<never> = Effect.suspend(() => {
    const pause = Math.min(1000, Math.max(1, this.settings.timeout / 10))
    return Effect.forever(
      this.active.await.pipe(Effect.andThen(Effect.sleep(pause)), Effect.andThen(Effect.sync(() => this.look())))
    )
  })

  close(): void {
    this.closed = true
    for (const job of this.takeWaiting()) this.end(job, Effect.interrupt)
    for (const lane of this.lanes.slice()) lane.close()
  }

  private now(): number {
    return this.settings.clock.currentTimeMillisUnsafe()
  }

  private queueOf({ alone }: Job): Array<Job> {
    return alone ? this.waiting.alone : this.waiting.shared
  }

  private takeWaiting(): ReadonlyArray<Job> {
    return [...this.waiting.shared.splice(0), ...this.waiting.alone.splice(0)]
  }

  /** With the end of this turn of the event loop: what came in it is then written in one piece. */
  private placeTogether(): void {
    if (this.isPlacing) return
    this.isPlacing = true
    setImmediate(() => {
      this.isPlacing = false
      this.placeAll()
    })
  }

  private place(queue: Array<Job>): void {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const lane = this.laneFor(job)
      if (lane?.connection === undefined) return void queue.unshift(job)
      this.start(lane, lane.connection, job)
    }
  }

  private placeAll(): void {
    this.place(this.waiting.shared)
    this.place(this.waiting.alone)
  }

  /**
   * Who wants a lane to himself takes the emptiest, but never the last one. Another is opened when none is good enough; it may be there
   * at once.
   */
  private laneFor(job: Job): Lane | undefined {
    const choose = () => (job.alone ? this.emptiest() : this.firstTolerable())
    if (job.alone && this.lanes.filter(({ alone }) => alone).length >= Math.max(1, this.settings.size - 1))
      return undefined
    const lane = choose()
    if (lane !== undefined && (job.alone ? lane.depth === 0 : this.isTolerable(lane))) return lane
    this.grow()
    return choose()
  }

  /** For want of a lane where the wait is tolerable, that with the shortest. */
  private firstTolerable(): Lane | undefined {
    const now = this.now()
    return (
      this.lanes.find((lane) => lane.isOpenTo(this.settings.capacity, now) && this.isTolerable(lane)) ?? this.emptiest()
    )
  }

  private emptiest(): Lane | undefined {
    const now = this.now()
    let best: Lane | undefined
    for (const lane of this.lanes) {
      if (!lane.isOpenTo(this.settings.capacity, now)) continue
      if (best === undefined || lane.depth < best.depth) best = lane
    }
    return best
  }

  private isTolerable({ depth }: Lane): boolean {
    return depth * this.pace < tolerable
  }

  /** Opens as many lanes at once as those that wait can use. */
  private grow(): void {
    if (this.closed || this.lanes.length >= this.settings.size) return
    let opening = 0
    for (const lane of this.lanes) if (lane.connection === undefined) opening++
    const { alone, shared } = this.waiting
    if (opening <= alone.length + Math.floor(shared.length / this.settings.capacity)) this.open()
  }

  private open(): void {
    const lane = new Lane()
    this.lanes.push(lane)
    const held = this.settings.pool.use((connection) =>
      Effect.callback<void>((release) => {
        lane.opened(connection, () => release(Effect.void), this.now())
        if (this.closed) lane.close()
        else this.placeTogether()
      })
    )
    this.settings.fork(held).addObserver((exit) => this.gone(lane, exit))
  }

  /** Who waits while there is no connection at all hears why. */
  private gone(lane: Lane, exit: Exit.Exit<void, SqlError>): void {
    remove(this.lanes, lane)
    if (lane.connection !== undefined) this.placeAll()
    else if (this.lanes.length === 0 && Exit.isFailure(exit)) {
      for (const job of this.takeWaiting()) this.end(job, Exit.failCause(exit.cause))
    }
  }

  private start(lane: Lane, connection: PgConnection, job: Job): void {
    const { parameters, text } = job.statement
    const answer = job.alone
      ? Effect.scoped(Effect.flatMap(connection.pin, (pinned) => pinned.query(text, parameters)))
      : connection.query(text, parameters)
    lane.enter(this.now(), job.alone)
    job.lane = lane
    job.fiber = this.settings.fork(answer)
    const exit = job.fiber.pollUnsafe()
    if (exit === undefined) job.fiber.addObserver((late) => this.answered(lane, job, late))
    else if (isLost(exit)) this.startElsewhere(lane, job)
    else this.answered(lane, job, exit)
  }

  /** The connection was lost before the statement could be sent, so it goes to the head of its queue, which is being placed. */
  private startElsewhere(lane: Lane, job: Job): void {
    job.lane = undefined
    job.fiber = undefined
    lane.leaving = true
    lane.leave(this.now(), job.alone)
    this.queueOf(job).unshift(job)
  }

  private answered(lane: Lane, job: Job, exit: Exit.Exit<Result, SqlError>): void {
    // The pool finds out whether a connection is still good after a failure.
    if (Exit.isFailure(exit) && reasonOf(exit)?._tag !== "LockTimeoutError") lane.leaving = true
    const taken = lane.leave(this.now(), job.alone)
    if (!job.alone) this.pace += (Math.min(taken, tolerable) - this.pace) / 32
    this.end(job, Exit.isSuccess(exit) ? Exit.succeed(exit.value.rows) : Exit.failCause(exit.cause))
    this.placeAll()
  }

  private end(job: Job, rows: Effect.Effect<Rows, SqlError>): void {
    if (this.jobs.delete(job)) job.end(rows)
  }

  private look(): void {
    const now = this.now()
    for (const job of this.jobs) {
      if (now - job.since < this.settings.timeout) break
      this.giveUp(job, now)
    }
    for (const lane of this.lanes.filter(({ connection }) => connection !== undefined)) {
      // Back in the pool it is closed when it stays unused, or is too old.
      if (lane.depth === 0 && !lane.used) lane.close()
      else if (now - lane.openedAt >= this.settings.lifetime) lane.leaveWhenEmpty()
      lane.used = lane.depth > 0
    }
    if (this.jobs.size === 0 && this.lanes.length === 0) this.active.closeUnsafe()
  }

  private giveUp(job: Job, now: number): void {
    const { fiber, lane } = job
    if (lane === undefined) remove(this.queueOf(job), job)
    else if (this.isCancelledByItself(job)) lane.leaving = true
    else if (lane.isStuck(now)) this.replace(lane)
    this.end(job, Exit.fail(tooLate()))
    fiber?.interruptUnsafe()
  }

  /** Whoever goes away waits until his statement is over, so that nothing happens behind his back. */
  private withdraw(job: Job): Effect.Effect<void> {
    const { fiber, lane } = job
    if (lane === undefined || fiber === undefined) {
      this.jobs.delete(job)
      return Effect.sync(() => remove(this.queueOf(job), job))
    }
    if (this.isCancelledByItself(job)) {
      lane.leaving = true
      fiber.interruptUnsafe()
    }
    return Effect.asVoid(Fiber.await(fiber))
  }

  /** Who has the connection to himself cancels his statement on the server when he is interrupted. */
  private isCancelledByItself({ alone }: Job): boolean {
    return alone || this.settings.capacity === 1
  }

  /** Ends the session over another connection: whatever has been sent on it would follow what is stuck. */
  private replace(lane: Lane): void {
    const { connection } = lane
    if (connection === undefined || lane.replaced) return
    lane.leaving = true
    lane.replaced = true
    this.settings.fork(this.settings.pool.invalidate(connection))
    const ending = { text: "select pg_terminate_backend($1)", parameters: [connection.processId], alone: false }
    this.settings.fork(Effect.ignore(this.run(ending)))
  }
}

const remove = <A>(list: Array<A>, item: A): void => {
  const index = list.indexOf(item)
  if (index >= 0) list.splice(index, 1)
}

const reasonOf = (exit: Exit.Exit<unknown, SqlError>): SqlErrorReason | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  return failure?.error.reason
}

/** Of a statement that has failed at once: its connection broke, or the server had said goodbye on it. */
const isLost = (exit: Exit.Exit<unknown, SqlError>): boolean => {
  const reason = reasonOf(exit)
  return reason !== undefined && (reason._tag === "ConnectionError" || sqlStateOf(reason.cause) !== "")
}

const tooLate = (): SqlError => {
  const cause = new Error("No answer within the time allowed")
  return new SqlError({ reason: new StatementTimeoutError({ cause, message: cause.message, operation: "query" }) })
}
