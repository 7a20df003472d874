/**
 * Effect's scheduler, for requests of many clients. By default each fiber that has let others go first continues in the next turn of the
 * event loop, all of them one after the other: a hundred requests that compute 10 ms at a time hold the loop for a second. Here the loop goes
 * on after some milliseconds, and until then the client on whom the least time was spent is next, however many requests it has sent. Of one
 * client, requests that have computed for a short time are first, and one of the others has its place in each turn.
 *
 * A client is an owner; before the owner is known, a remote address. Time that was spent before a client joined counts neither for nor
 * against it.
 *
 * Only for Node's messages: in workers a timer belongs to the request that set it, and is lost with it.
 */
import { Principal } from "@colloquy/core"
import { TransientMap } from "@colloquy/core/adapters"
import * as Context from "effect/Context"
import * as Fiber from "effect/Fiber"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Option from "effect/Option"
import * as Scheduler from "effect/Scheduler"

/** The milliseconds after which the event loop goes on. */
const longestTurn = 10
/** The milliseconds of work after which newer fibers of the same client go first. */
const shortWork = 20

interface Work {
  readonly run: () => void
  readonly fiber: { spent: number }
  isTakenBack: boolean
}

interface Client {
  /** Waiting work of fibers that have computed for a short time, and of all other fibers. */
  short: Array<Work>
  long: Array<Work>
  /** In milliseconds. */
  spent: number
}

/** The work of a client in one turn of the loop, and how much of it is done. */
interface Line {
  readonly client: Client
  readonly works: ReadonlyArray<Work>
  next: number
}

/** What the scheduler needs from its process. */
export interface Loop {
  readonly now: () => number
  /** Calls the function after the loop has read what clients have sent. */
  readonly inNextTurn: (run: () => void) => void
  /**
   * Names the client for whom the current fiber works. It is called each time, because the owner of a request becomes known only after a
   * while.
   */
  readonly currentClient: () => () => string
}

export class LoopTurns extends Scheduler.MixedScheduler {
  private readonly loop: Loop
  /** By name: clients with waiting work, and clients on whom more time was spent than on one that waits. */
  private readonly clients = new TransientMap<string, Client>()
  /** The least time that was spent on any waiting client. A client that joins begins with this time. */
  private floor = 0
  private isWaiting = false

  constructor(loop: Loop) {
    super("async")
    this.loop = loop
  }

  /** Each fiber calls this for itself, so the current client is the client of the fiber. */
  override makeDispatcher(): ReturnType<Scheduler.MixedScheduler["makeDispatcher"]> {
    const fiber = { spent: 0 }
    const client = this.loop.currentClient()
    return new Scheduler.MixedScheduler("async", (run) =>
      this.add({ run, fiber, isTakenBack: false }, client())
    ).makeDispatcher()
  }

  /** Returns a function that takes the work back. */
  private add(work: Work, name: string): () => void {
    let client = this.clients.get(name)
    if (client === undefined) {
      client = { short: [], long: [], spent: this.floor }
      this.clients.set(name, client)
    }
    enqueue(client, work)
    this.wait()
    return () => {
      work.isTakenBack = true
    }
  }

  private wait(): void {
    if (this.isWaiting) return
    this.isWaiting = true
    this.loop.inNextTurn(this.turn)
  }

  private readonly turn = (): void => {
    this.isWaiting = false
    const lines: Array<Line> = []
    // Work that is added from here on waits for the next turn.
    for (const client of this.clients.values()) {
      if (isWaiting(client)) lines.push({ client, works: takeAll(client), next: 0 })
    }
    let now = this.loop.now()
    const end = now + longestTurn
    try {
      while (now < end) {
        const line = leastServed(lines)
        if (line === undefined) break
        const work = line.works[line.next++]
        if (work === undefined) {
          lines.splice(lines.indexOf(line), 1)
          continue
        }
        if (work.isTakenBack) continue
        work.run()
        const began = now
        now = this.loop.now()
        work.fiber.spent += now - began
        line.client.spent += now - began
      }
    } finally {
      // Work that was not done stands before work that was added meanwhile.
      for (const { client, next, works } of lines) {
        for (const work of [...works.slice(next), ...takeAll(client)]) if (!work.isTakenBack) enqueue(client, work)
      }
      this.forget()
      if (this.clients.size > 0) this.wait()
    }
  }

  /** Removes clients without waiting work, once every waiting client has used as much time as the removed one. */
  private forget(): void {
    this.floor = Infinity
    for (const client of this.clients.values()) {
      if (isWaiting(client)) this.floor = Math.min(this.floor, client.spent)
    }
    for (const [name, client] of this.clients) {
      if (!isWaiting(client) && client.spent <= this.floor) this.clients.delete(name)
    }
    if (this.clients.size === 0) this.floor = 0
  }
}

const isWaiting = ({ long, short }: Client): boolean => short.length + long.length > 0

const enqueue = (client: Client, work: Work): void => {
  const waiting = work.fiber.spent < shortWork ? client.short : client.long
  waiting.push(work)
}

/** All waiting work: the oldest long one, then all short ones, then the other long ones. */
const takeAll = (client: Client): ReadonlyArray<Work> => {
  const { long, short } = client
  client.short = []
  client.long = []
  const [oldest, ...others] = long
  return oldest === undefined ? short : [oldest, ...short, ...others]
}

const leastServed = (lines: ReadonlyArray<Line>): Line | undefined => {
  let least = lines[0]
  for (const line of lines) if (least !== undefined && line.client.spent < least.client.spent) least = line
  return least
}

const nameClient = ({ context }: Fiber.Fiber<unknown, unknown>): string =>
  Context.getOrUndefined(context, Principal)?.ownerId ??
  Option.getOrUndefined(Context.getOrUndefined(context, HttpServerRequest)?.remoteAddress ?? Option.none()) ??
  ""

/** The scheduler of this process. */
export const loopTurns = (): LoopTurns =>
  new LoopTurns({
    now: () => performance.now(),
    inNextTurn: (run) => void setImmediate(run),
    currentClient: () => {
      const fiber = Fiber.getCurrent()
      return () => (fiber === undefined ? "" : nameClient(fiber))
    }
  })
