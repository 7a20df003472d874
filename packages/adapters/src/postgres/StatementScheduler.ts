/**
 * Which connection a statement takes. Short ones go to the first session where the wait is short, so that few sessions carry much and further
 * ones open only when they are needed. Others have a session to themselves, and never all of them. One fiber keeps the time of all
 * statements: most are answered before it looks at the clock.
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
import { Session, waitLimit } from "./Session.ts"
import { sqlStateOf } from "./StoreFault.ts"

export interface Statement {
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
  /** It may take long, or wait for others. */
  readonly alone: boolean
}

export interface SchedulerSettings {
  readonly pool: PgPool
  /** How many statements share a session. */
  readonly capacity: number
  /** How many sessions there may be. */
  readonly size: number
  /** How long a statement may wait for a session and its answer together, in milliseconds. */
  readonly timeout: number
  /** How long a connection may be used, in milliseconds. */
  readonly lifetime: number
  readonly clock: Clock.Clock
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
}

type Rows = ReadonlyArray<Row>

/** A statement on its way; without a session it waits for one. */
interface Job {
  readonly statement: Statement
  readonly alone: boolean
  readonly since: number
  readonly end: (rows: Effect.Effect<Rows, SqlError>) => void
  session: Session | undefined
  fiber: Fiber.Fiber<Result, SqlError> | undefined
}

export class StatementScheduler {
  private readonly settings: SchedulerSettings
  private readonly sessions: Array<Session> = []
  private readonly waiting: { readonly shared: Array<Job>; readonly alone: Array<Job> } = { shared: [], alone: [] }
  /** Those that have not been given up, the oldest first. */
  private readonly jobs = new Set<Job>()
  private readonly active = Latch.makeUnsafe()
  /** How long a session takes for one statement, in milliseconds, smoothed. */
  private pace = 1
  private closed = false
  private isPlacing = false

  constructor(settings: SchedulerSettings) {
    this.settings = settings
  }

  readonly run = (statement: Statement): Effect.Effect<Rows, SqlError> =>
    Effect.callback((end) => {
      if (this.closed) return end(Effect.interrupt)
      const alone = statement.alone && this.settings.capacity > 1
      const job: Job = { statement, alone, since: this.now(), end, session: undefined, fiber: undefined }
      this.jobs.add(job)
      if (this.jobs.size === 1) this.active.openUnsafe()
      const queue = this.queueOf(job)
      queue.push(job)
      // Alone it need not wait for company; where much is under way there will be some.
      if (this.jobs.size <= this.settings.capacity) this.place(queue)
      else this.placeTogether()
      return Effect.suspend(() => this.withdraw(job))
    })

  /** Gives up what is late, and sleeps while nothing is under way. */
  readonly watch: Effect.Effect<never> = Effect.suspend(() => {
    const pause = Math.min(1000, Math.max(1, this.settings.timeout / 10))
    return Effect.forever(
      this.active.await.pipe(Effect.andThen(Effect.sleep(pause)), Effect.andThen(Effect.sync(() => this.look())))
    )
  })

  close(): void {
    this.closed = true
    for (const job of this.takeWaiting()) this.end(job, Effect.interrupt)
    for (const session of this.sessions.slice()) session.close()
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
      const session = this.sessionFor(job)
      if (session?.connection === undefined) return void queue.unshift(job)
      this.start(session, session.connection, job)
    }
  }

  private placeAll(): void {
    this.place(this.waiting.shared)
    this.place(this.waiting.alone)
  }

  /**
   * A statement that is sent alone takes the emptiest session, but never the last one. Another is opened when none is good enough; it may be there
   * at once.
   */
  private sessionFor(job: Job): Session | undefined {
    const choose = () => (job.alone ? this.emptiest() : this.firstWithShortWait())
    if (job.alone && this.sessions.filter(({ alone }) => alone).length >= Math.max(1, this.settings.size - 1))
      return undefined
    const session = choose()
    if (session !== undefined && (job.alone ? session.depth === 0 : this.isWaitShort(session))) return session
    this.grow()
    return choose()
  }

  /** Where no session has a short wait, that with the shortest. */
  private firstWithShortWait(): Session | undefined {
    const now = this.now()
    return (
      this.sessions.find((session) => session.isOpenTo(this.settings.capacity, now) && this.isWaitShort(session)) ??
      this.emptiest()
    )
  }

  private emptiest(): Session | undefined {
    const now = this.now()
    let best: Session | undefined
    for (const session of this.sessions) {
      if (!session.isOpenTo(this.settings.capacity, now)) continue
      if (best === undefined || session.depth < best.depth) best = session
    }
    return best
  }

  private isWaitShort({ depth }: Session): boolean {
    return depth * this.pace < waitLimit
  }

  /** Opens as many sessions at once as those that wait can use. */
  private grow(): void {
    if (this.closed || this.sessions.length >= this.settings.size) return
    let opening = 0
    for (const session of this.sessions) if (session.connection === undefined) opening++
    const { alone, shared } = this.waiting
    if (opening <= alone.length + Math.floor(shared.length / this.settings.capacity)) this.open()
  }

  private open(): void {
    const session = new Session()
    this.sessions.push(session)
    const held = this.settings.pool.use((connection) =>
      Effect.callback<void>((release) => {
        session.opened(connection, () => release(Effect.void), this.now())
        if (this.closed) session.close()
        else this.placeTogether()
      })
    )
    this.settings.fork(held).addObserver((exit) => this.gone(session, exit))
  }

  /** Statements that wait while there is no connection at all fail with the reason. */
  private gone(session: Session, exit: Exit.Exit<void, SqlError>): void {
    remove(this.sessions, session)
    if (session.connection !== undefined) this.placeAll()
    else if (this.sessions.length === 0 && Exit.isFailure(exit)) {
      for (const job of this.takeWaiting()) this.end(job, Exit.failCause(exit.cause))
    }
  }

  private start(session: Session, connection: PgConnection, job: Job): void {
    const { parameters, text } = job.statement
    const answer = job.alone
      ? Effect.scoped(Effect.flatMap(connection.pin, (pinned) => pinned.query(text, parameters)))
      : connection.query(text, parameters)
    session.enter(this.now(), job.alone)
    job.session = session
    job.fiber = this.settings.fork(answer)
    const exit = job.fiber.pollUnsafe()
    if (exit === undefined) job.fiber.addObserver((late) => this.answered(session, job, late))
    else if (isLost(exit)) this.startElsewhere(session, job)
    else this.answered(session, job, exit)
  }

  /** The connection was lost before the statement could be sent, so it goes to the head of its queue, which is being placed. */
  private startElsewhere(session: Session, job: Job): void {
    job.session = undefined
    job.fiber = undefined
    session.leaving = true
    session.leave(this.now(), job.alone)
    this.queueOf(job).unshift(job)
  }

  private answered(session: Session, job: Job, exit: Exit.Exit<Result, SqlError>): void {
    // The pool finds out whether a connection is still good after a failure.
    if (Exit.isFailure(exit) && reasonOf(exit)?._tag !== "LockTimeoutError") session.leaving = true
    const taken = session.leave(this.now(), job.alone)
    if (!job.alone) this.pace += (Math.min(taken, waitLimit) - this.pace) / 32
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
    for (const session of this.sessions.filter(({ connection }) => connection !== undefined)) {
      // Back in the pool it is closed when it stays unused, or is too old.
      if (session.depth === 0 && !session.used) session.close()
      else if (now - session.openedAt >= this.settings.lifetime) session.leaveWhenEmpty()
      session.used = session.depth > 0
    }
    if (this.jobs.size === 0 && this.sessions.length === 0) this.active.closeUnsafe()
  }

  private giveUp(job: Job, now: number): void {
    const { fiber, session } = job
    if (session === undefined) remove(this.queueOf(job), job)
    else if (this.isCancelledByItself(job)) session.leaving = true
    else if (session.isStuck(now)) this.replace(session)
    this.end(job, Exit.fail(tooLate()))
    fiber?.interruptUnsafe()
  }

  /** A caller that is interrupted waits until its statement is over, so that nothing is written afterwards. */
  private withdraw(job: Job): Effect.Effect<void> {
    const { fiber, session } = job
    if (session === undefined || fiber === undefined) {
      this.jobs.delete(job)
      return Effect.sync(() => remove(this.queueOf(job), job))
    }
    if (this.isCancelledByItself(job)) {
      session.leaving = true
      fiber.interruptUnsafe()
    }
    return Effect.asVoid(Fiber.await(fiber))
  }

  /** A statement that is alone on its connection is cancelled on the server when it is interrupted. */
  private isCancelledByItself({ alone }: Job): boolean {
    return alone || this.settings.capacity === 1
  }

  /** Ends the session over another connection: whatever has been sent on it would follow what is stuck. */
  private replace(session: Session): void {
    const { connection } = session
    if (connection === undefined || session.replaced) return
    session.leaving = true
    session.replaced = true
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

/** Of a statement that has failed at once: its connection broke, or the server had announced its end. */
const isLost = (exit: Exit.Exit<unknown, SqlError>): boolean => {
  const reason = reasonOf(exit)
  return reason !== undefined && (reason._tag === "ConnectionError" || sqlStateOf(reason.cause) !== "")
}

const tooLate = (): SqlError => {
  const cause = new Error("No answer within the time allowed")
  return new SqlError({ reason: new StatementTimeoutError({ cause, message: cause.message, operation: "query" }) })
}
