/**
 * Chooses the connection (session) of each statement. A short statement goes to the first session on which it need not wait long, so a few
 * sessions do most of the work and more are opened only when they are needed. An exclusive statement gets a session to itself; one session
 * always stays free for short statements. One fiber checks the timeouts of all statements, because a timer for each would cost more.
 */
import { TransientSet } from "@colloquy/core/adapters"
import type { PgConnection, Result, Row } from "@effect/sql-pg/PgConnection"
import type { PgPool } from "@effect/sql-pg/PgPool"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import { SqlError, type SqlErrorReason, StatementTimeoutError } from "effect/sql/SqlError"
import { ownerOfFiber } from "./FairStatements.ts"
import { OwnersInTurn } from "./OwnersInTurn.ts"
import { resumeInTurns } from "./ResumeInTurns.ts"
import { Session, waitLimit } from "./Session.ts"
import { readSqlState } from "./StoreFault.ts"

export interface Statement {
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
  /** Whether the statement needs a session to itself, because it may take long or wait for a lock. */
  readonly exclusive: boolean
}

export interface SchedulerSettings {
  readonly pool: PgPool
  /** How many statements may be under way on one session. */
  readonly capacity: number
  /** The largest number of sessions. */
  readonly size: number
  /** How long a statement may take, including the wait for a session, in milliseconds. */
  readonly timeout: number
  /** How long a connection may be used, in milliseconds. */
  readonly lifetime: number
  readonly clock: Clock.Clock
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
}

type Rows = ReadonlyArray<Row>

/** A statement that has not been answered. Without a session, it waits for one. */
interface Job {
  readonly owner: string
  readonly statement: Statement
  readonly exclusive: boolean
  readonly since: number
  readonly resume: (rows: Effect.Effect<Rows, SqlError>) => void
  session: Session | undefined
  fiber: Fiber.Fiber<Result, SqlError> | undefined
}

export class StatementScheduler {
  private readonly settings: SchedulerSettings
  private readonly sessions: Array<Session> = []
  /** Owners take turns, so that one owner's statements do not hold up another's. */
  private readonly waiting = { shared: new OwnersInTurn<Job>(), exclusive: new OwnersInTurn<Job>() }
  /** All jobs whose caller still waits for the answer, the oldest first. */
  private readonly jobs = new TransientSet<Job>()
  private readonly active = Latch.makeUnsafe()
  /** The average duration of a short statement, in milliseconds. New durations count one part in 32. */
  private averageDuration = 1
  private closed = false
  private isAssigning = false

  constructor(settings: SchedulerSettings) {
    this.settings = settings
  }

  readonly run = (statement: Statement): Effect.Effect<Rows, SqlError> =>
    Effect.withFiber((fiber) => this.runFor(ownerOfFiber(fiber), statement))

  private runFor(owner: string, statement: Statement): Effect.Effect<Rows, SqlError> {
    return Effect.callback((resume) => {
      if (this.closed) return resume(Effect.interrupt)
      const exclusive = statement.exclusive && this.settings.capacity > 1
      const job: Job = { owner, statement, exclusive, since: this.now(), resume, session: undefined, fiber: undefined }
      this.jobs.add(job)
      if (this.jobs.size === 1) this.active.openUnsafe()
      const queue = this.waitingQueue(job)
      queue.push(job)
      // Under load, statements of one turn of the event loop are collected and written together. Otherwise that would only add delay.
      if (this.jobs.size <= this.settings.capacity) this.assignJobs(queue)
      else this.assignTogether()
      return Effect.suspend(() => this.interrupt(job))
    })
  }

  /** Checks timeouts and unused sessions at intervals. Sleeps while there are no jobs and no sessions. */
  readonly watch: Effect.Effect<never> = Effect.suspend(() => {
    const pause = Math.min(1000, Math.max(1, this.settings.timeout / 10))
    return Effect.forever(
      this.active.await.pipe(Effect.andThen(Effect.sleep(pause)), Effect.andThen(Effect.sync(() => this.check())))
    )
  })

  close(): void {
    this.closed = true
    for (const job of this.takeWaiting()) this.finish(job, Effect.interrupt)
    for (const session of this.sessions.slice()) session.close()
  }

  private now(): number {
    return this.settings.clock.currentTimeMillisUnsafe()
  }

  private waitingQueue({ exclusive }: Job): OwnersInTurn<Job> {
    return exclusive ? this.waiting.exclusive : this.waiting.shared
  }

  private takeWaiting(): ReadonlyArray<Job> {
    const taken: Array<Job> = []
    for (const queue of [this.waiting.shared, this.waiting.exclusive])
      for (let job = queue.shift(); job !== undefined; job = queue.shift()) taken.push(job)
    return taken
  }

  /** Gives all waiting statements to sessions at the end of this turn of the event loop, so that they are written to the socket together. */
  private assignTogether(): void {
    if (this.isAssigning) return
    this.isAssigning = true
    setImmediate(() => {
      this.isAssigning = false
      this.assignAllJobs()
    })
  }

  private assignJobs(queue: OwnersInTurn<Job>): void {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const session = this.sessionFor(job)
      if (session?.connection === undefined) return queue.unshift(job)
      this.start(session, session.connection, job)
    }
  }

  private assignAllJobs(): void {
    this.assignJobs(this.waiting.shared)
    this.assignJobs(this.waiting.exclusive)
  }

  /**
   * An exclusive statement takes the session with the fewest statements, but never the last session that is not exclusive. If no session is
   * good enough, another one is opened; the pool may provide its connection at once.
   */
  private sessionFor(job: Job): Session | undefined {
    const choose = () => (job.exclusive ? this.emptiest() : this.firstWithShortWait())
    const mostExclusive = Math.max(1, this.settings.size - 1)
    if (job.exclusive && this.sessions.filter(({ isExclusive }) => isExclusive).length >= mostExclusive)
      return undefined
    const session = choose()
    if (session !== undefined && (job.exclusive ? session.depth === 0 : this.isWaitShort(session))) return session
    this.openIfUseful()
    return choose()
  }

  /** If no session has a short wait, the one with the shortest. */
  private firstWithShortWait(): Session | undefined {
    const now = this.now()
    for (const session of this.sessions) {
      if (this.isWaitShort(session) && session.isOpenTo(this.settings.capacity, now)) return session
    }
    return this.emptiest()
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
    return depth * this.averageDuration < waitLimit
  }

  /** Opens a session, unless those being opened already are enough for the waiting statements. */
  private openIfUseful(): void {
    if (this.closed || this.sessions.length >= this.settings.size) return
    let opening = 0
    for (const session of this.sessions) if (session.connection === undefined) opening++
    const { exclusive, shared } = this.waiting
    if (opening <= exclusive.length + Math.floor(shared.length / this.settings.capacity)) this.open()
  }

  private open(): void {
    const session = new Session()
    this.sessions.push(session)
    const held = this.settings.pool.use((connection) =>
      Effect.callback<void>((release) => {
        session.opened(connection, () => release(Effect.void), this.now())
        if (this.closed) session.close()
        else this.assignTogether()
      })
    )
    this.settings.fork(held).addObserver((exit) => this.onClosed(session, exit))
  }

  /** If the only session could not be opened, all waiting statements fail with the same error. */
  private onClosed(session: Session, exit: Exit.Exit<void, SqlError>): void {
    remove(this.sessions, session)
    if (session.connection !== undefined) this.assignAllJobs()
    else if (this.sessions.length === 0 && Exit.isFailure(exit)) {
      for (const job of this.takeWaiting()) this.finish(job, Exit.failCause(exit.cause))
    }
  }

  private start(session: Session, connection: PgConnection, job: Job): void {
    const { parameters, text } = job.statement
    const answer = job.exclusive
      ? Effect.scoped(Effect.flatMap(connection.pin, (pinned) => pinned.query(text, parameters)))
      : connection.query(text, parameters)
    session.begin(this.now(), job.exclusive)
    job.session = session
    job.fiber = this.settings.fork(answer)
    const exit = job.fiber.pollUnsafe()
    if (exit === undefined) job.fiber.addObserver((result) => this.onResult(session, job, result))
    else if (isLost(exit)) this.startElsewhere(session, job)
    else this.onResult(session, job, exit)
  }

  /** The connection was lost before the statement was sent. The job returns to the head of its queue, which `assignJobs` is working through. */
  private startElsewhere(session: Session, job: Job): void {
    job.session = undefined
    job.fiber = undefined
    session.isClosing = true
    session.end(this.now(), job.exclusive)
    this.waitingQueue(job).unshift(job)
  }

  private onResult(session: Session, job: Job, exit: Exit.Exit<Result, SqlError>): void {
    // After a failure the session returns its connection, so that the pool checks whether the connection still works.
    if (Exit.isFailure(exit) && failureReason(exit)?._tag !== "LockTimeoutError") session.isClosing = true
    const taken = session.end(this.now(), job.exclusive)
    if (!job.exclusive) this.averageDuration += (Math.min(taken, waitLimit) - this.averageDuration) / 32
    this.finish(job, Exit.isSuccess(exit) ? Exit.succeed(exit.value.rows) : Exit.failCause(exit.cause))
    this.assignAllJobs()
  }

  private finish(job: Job, rows: Effect.Effect<Rows, SqlError>): void {
    if (this.jobs.delete(job)) resumeInTurns(job.resume, rows)
  }

  private check(): void {
    const now = this.now()
    for (const job of this.jobs) {
      if (now - job.since < this.settings.timeout) break
      this.timeOut(job, now)
    }
    for (const session of this.sessions.filter(({ connection }) => connection !== undefined)) {
      // Closing a session returns its connection to the pool, which closes connections that are idle or too old.
      if (session.depth === 0 && !session.used) session.close()
      else if (now - session.openedAt >= this.settings.lifetime) session.closeWhenEmpty()
      session.used = session.depth > 0
    }
    if (this.jobs.size === 0 && this.sessions.length === 0) this.active.closeUnsafe()
  }

  private timeOut(job: Job, now: number): void {
    const { fiber, session } = job
    if (session === undefined) this.waitingQueue(job).remove(job)
    else if (this.isCancelledOnInterruption(job)) session.isClosing = true
    else if (session.isStuck(now)) this.replace(session)
    this.finish(job, Exit.fail(timeoutError()))
    fiber?.interruptUnsafe()
  }

  /** An interrupted caller waits until its statement has ended, so that the statement writes nothing afterwards. */
  private interrupt(job: Job): Effect.Effect<void> {
    const { fiber, session } = job
    if (session === undefined || fiber === undefined) {
      this.jobs.delete(job)
      return Effect.sync(() => this.waitingQueue(job).remove(job))
    }
    if (this.isCancelledOnInterruption(job)) {
      session.isClosing = true
      fiber.interruptUnsafe()
    }
    return Effect.asVoid(Fiber.await(fiber))
  }

  /** The client cancels an interrupted statement on the server if no other statement is under way on the connection. */
  private isCancelledOnInterruption({ exclusive }: Job): boolean {
    return exclusive || this.settings.capacity === 1
  }

  /** Ends a stuck session on the server, over another connection: a request on its own connection would wait behind the slow statement. */
  private replace(session: Session): void {
    const { connection } = session
    if (connection === undefined || session.isReplaced) return
    session.isClosing = true
    session.isReplaced = true
    this.settings.fork(this.settings.pool.invalidate(connection))
    const ending = { text: "select pg_terminate_backend($1)", parameters: [connection.processId], exclusive: false }
    this.settings.fork(Effect.ignore(this.run(ending)))
  }
}

const remove = <A>(list: Array<A>, item: A): void => {
  const index = list.indexOf(item)
  if (index >= 0) list.splice(index, 1)
}

const failureReason = (exit: Exit.Exit<unknown, SqlError>): SqlErrorReason | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  return failure?.error.reason
}

/** Whether a statement that failed at once was never sent: its connection was broken, or the server had announced that it ends it. */
const isLost = (exit: Exit.Exit<unknown, SqlError>): boolean => {
  const reason = failureReason(exit)
  return reason !== undefined && (reason._tag === "ConnectionError" || readSqlState(reason.cause) !== "")
}

const timeoutError = (): SqlError => {
  const cause = new Error("The database did not answer within the timeout")
  return new SqlError({ reason: new StatementTimeoutError({ cause, message: cause.message, operation: "query" }) })
}
