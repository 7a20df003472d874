/**
 * Counts the connections that have an owner and have sent nothing yet. Each owner has a limit of their own, so that silent connections of one
 * owner take no place of another.
 */
import * as Effect from "effect/Effect"
import type { OwnerId } from "../primitives/Ids.ts"
import { SessionRefused } from "./SessionErrors.ts"

export class WaitingSockets {
  private readonly counts = new Map<OwnerId, number>()
  private readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  /** Counts the connection while `waiting` runs. */
  hold<A, E, R>(ownerId: OwnerId, waiting: Effect.Effect<A, E, R>): Effect.Effect<A, E | SessionRefused, R> {
    return Effect.acquireUseRelease(
      this.take(ownerId),
      () => waiting,
      () => Effect.sync(() => this.release(ownerId))
    )
  }

  private take(ownerId: OwnerId): Effect.Effect<void, SessionRefused> {
    return Effect.suspend(() => {
      const count = this.counts.get(ownerId) ?? 0
      if (count >= this.limit) return Effect.fail(new SessionRefused({ code: "too_many_waiting", reason }))
      this.counts.set(ownerId, count + 1)
      return Effect.void
    })
  }

  private release(ownerId: OwnerId): void {
    const count = (this.counts.get(ownerId) ?? 1) - 1
    if (count === 0) this.counts.delete(ownerId)
    else this.counts.set(ownerId, count)
  }
}

const reason = "Too many connections of this owner wait for their first frame. Send it on one of them, or close some."
