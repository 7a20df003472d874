/**
 * All runs of an owner: a list of summaries, and a stream of those that change. It is for approvals, for work in the background, and for
 * pages that show what goes on.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Principal } from "../access/Principal.ts"
import type { OwnerId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { type InboxPage, type RunPosition, InboxStore, type RunChange, type RunSummary } from "./InboxStore.ts"

/** How often changes of runs are looked for, and how many may listen. */
export interface InboxSettings {
  /** How often the store is asked for changes while a client follows. */
  readonly poll: Duration.Input
  /** How many readers of one owner, and of all owners together, may follow in this process. */
  readonly followersOfOwner: number
  readonly followers: number
}

export const InboxSettings = Context.Reference<InboxSettings>("@colloquy/core/runs/InboxSettings", {
  defaultValue: () => ({ poll: "1 second", followersOfOwner: 16, followers: 256 })
})

/** Too many readers follow already. */
export class TooManyFollowers extends Schema.TaggedError<TooManyFollowers>()("TooManyFollowers", {
  limit: Schema.Int
}) {
  override get message() {
    return `Runs are followed by ${this.limit} readers already, which is the limit. Close one of them first.`
  }
}

/** A page of runs, and where the next one begins. */
export interface RunSummaries {
  readonly runs: ReadonlyArray<RunSummary>
  /** `InboxPage.after` of the next page; null: there is none. */
  readonly next: RunPosition | null
}

/** A reader that comes back within this time misses nothing. */
const kept = Duration.hours(1)
const refresh = Duration.minutes(10)
const changesAtOnce = 100
/** An unavailable store ends the streams after this time. */
const outage = Duration.seconds(30)

export class Inbox extends Context.Service<
  Inbox,
  {
    /** Runs in every state, newest first. */
    readonly list: (page: InboxPage) => Effect.Effect<RunSummaries, StoreUnavailable, Principal>
    /**
     * Each run that begins or changes its state, as it is when it is read. `after` is the mark of the last change that the reader has, up to
     * an hour old; null: only what is new.
     */
    readonly events: (
      after: number | null
    ) => Effect.Effect<Stream.Stream<RunChange, StoreUnavailable>, TooManyFollowers | StoreUnavailable, Principal>
  }
>()("@colloquy/core/runs/Inbox") {
  static readonly layer: Layer.Layer<Inbox, never, InboxStore> = Layer.effect(
    Inbox,
    Effect.gen(function* () {
      const store = yield* InboxStore
      const settings = yield* InboxSettings
      const followers = new Map<OwnerId, number>()
      const limitFor = (ownerId: OwnerId): number | null => {
        const all = [...followers.values()].reduce((sum, count) => sum + count, 0)
        if (all >= settings.followers) return settings.followers
        return (followers.get(ownerId) ?? 0) >= settings.followersOfOwner ? settings.followersOfOwner : null
      }
      const count = (ownerId: OwnerId, change: 1 | -1) => {
        const now = (followers.get(ownerId) ?? 0) + change
        if (now === 0) followers.delete(ownerId)
        else followers.set(ownerId, now)
      }
      const follow = store.follow(Duration.sum(kept, Duration.times(refresh, 2)), kept)

      const read = Effect.fnUntraced(function* (principal: typeof Principal.Service, start: number) {
        let last = start
        let followedAt = yield* Clock.currentTimeMillis
        const next: Effect.Effect<ReadonlyArray<RunChange>, StoreUnavailable, Principal> = Effect.gen(function* () {
          while (true) {
            const now = yield* Clock.currentTimeMillis
            if (now - followedAt >= Duration.toMillis(refresh)) {
              yield* repeatWhileUnavailable(follow, outage)
              followedAt = now
            }
            const found = yield* repeatWhileUnavailable(store.changes(last, kept, changesAtOnce), outage)
            last = found.at(-1)?.mark ?? last
            if (found.length > 0) return found
            yield* Effect.sleep(settings.poll)
          }
        })
        return Stream.fromEffectRepeat(Effect.provideService(next, Principal, principal)).pipe(
          Stream.flatMap(Stream.fromIterable)
        )
      })

      return Inbox.of({
        list: tracedFn("Inbox.list")(function* (page: InboxPage) {
          const found = yield* store.list({ ...page, limit: page.limit + 1 })
          const runs = found.slice(0, page.limit)
          const last = runs.at(-1)
          const next = found.length > runs.length && last !== undefined ? last : null
          return { runs, next: next === null ? null : { createdAt: next.createdAt, id: next.id } }
        }),
        events: tracedFn("Inbox.events")(function* (after: number | null) {
          const principal = yield* Principal
          const { ownerId } = principal
          const refuseMore = Effect.suspend(() => {
            const limit = limitFor(ownerId)
            return limit === null ? Effect.void : Effect.fail(new TooManyFollowers({ limit }))
          })
          yield* refuseMore
          const newest = yield* follow
          const start = after === null ? newest : Math.min(after, newest)
          // A stream counts from its first read. Of two that were permitted at once, the one that is over the limit by then is empty.
          return Stream.unwrap(
            Effect.gen(function* () {
              if (limitFor(ownerId) !== null) return Stream.empty
              yield* Effect.acquireRelease(
                Effect.sync(() => count(ownerId, 1)),
                () => Effect.sync(() => count(ownerId, -1))
              )
              return yield* read(principal, start)
            })
          )
        })
      })
    })
  )
}
