/**
 * The streams of events that are open in this process. A request takes its slot before anything is stored for it, and keeps it until it is over.
 * Where there are many streams, each waits a little after a piece and then gets all events that came meanwhile: so the cost of all streams together
 * does not rise with their number, and other requests get their time.
 */
import { type OwnerId, Principal } from "@colloquy/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { HttpSettings } from "../HttpSettings.ts"
import { ServiceUnavailable } from "../wire/Errors.ts"

/** Up to this number of streams, each stream gets its pieces at once. */
const few = 500
/**
 * The milliseconds by which each open stream lengthens the pause. So with a thousand streams each gets twenty pieces a second, with five
 * thousand four.
 */
const pauseOfEach = 0.05
/** Seconds after which a client that found no slot may ask again. */
const secondsToRetry = 5

class Count {
  private readonly byOwner = new Map<OwnerId, number>()
  private open = 0

  /** An owner gets a slot only while more are free than this owner has, so no owner takes the last one. */
  private hasSlot(owner: OwnerId, limit: number): boolean {
    return (this.byOwner.get(owner) ?? 0) < limit - this.open
  }

  private add(owner: OwnerId, change: 1 | -1): void {
    this.open += change
    const own = (this.byOwner.get(owner) ?? 0) + change
    if (own === 0) this.byOwner.delete(owner)
    else this.byOwner.set(owner, own)
  }

  readonly take = (limit: number): Effect.Effect<void, ServiceUnavailable, Principal | Scope.Scope> =>
    Effect.flatMap(Principal, ({ ownerId }) => {
      const taken = Effect.suspend(() => {
        if (!this.hasSlot(ownerId, limit)) return Effect.fail(noSlot)
        this.add(ownerId, 1)
        return Effect.void
      })
      return Effect.acquireRelease(taken, () => Effect.sync(() => this.add(ownerId, -1)))
    })

  /** Milliseconds that a stream waits after a piece. */
  get pause(): number {
    return this.open <= few ? 0 : this.open * pauseOfEach
  }
}

const noSlot = new ServiceUnavailable({
  detail:
    "This server carries as many streams as it can. Come back after the time in Retry-After, or ask without a stream.",
  retry_after: secondsToRetry
})

/** One for the process, because its streams share one event loop. */
export const OpenStreams = Context.Reference<Count>("@colloquy/http/OpenStreams", { defaultValue: () => new Count() })

/** Made with a handler: takes a slot for a stream until the request is over. */
export const makeStreamSlot = Effect.map(Effect.all([HttpSettings, OpenStreams]), ([{ streams }, open]) =>
  open.take(streams)
)
