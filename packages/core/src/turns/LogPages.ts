/**
 * Pages of stored logs, for the followers of this process. Followers that read the same run from the same sequence number share one read of
 * the store and one copy of its result, so many readers of a long run cost little more than one. A log only grows, so a page stays valid
 * after it was read. Only a few pages are kept; a follower that is slower than the others reads its own page.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Principal } from "../access/Principal.ts"
import type { RunId } from "../primitives/Ids.ts"
import { RecentlyUsed } from "../primitives/RecentlyUsed.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { RunStore } from "../runs/RunStore.ts"
import { fromLog, type TurnEvent } from "./TurnEvent.ts"
import { TransientMap } from "../primitives/Transient.ts"

export interface LogPage {
  readonly events: ReadonlyArray<TurnEvent>
  /**
   * The same events for `recordLeg`, with adjacent text deltas joined. A follower keeps this digest of every page that it has passed on.
   */
  readonly digest: ReadonlyArray<TurnEvent>
}

export type ReadPage = (runId: RunId, after: number) => Effect.Effect<LogPage, StoreUnavailable, Principal>

/** One page has about a thousand events. */
const keptPages = 32

/** Null: the reader was interrupted before the store answered. */
type Read = Deferred.Deferred<LogPage | null, StoreUnavailable>

export const makeLogPages = (store: Pick<typeof RunStore.Service, "read">): ReadPage => {
  const underWay = new TransientMap<string, Read>()
  const pages = new RecentlyUsed<LogPage>(keptPages)

  const readAndShare = Effect.fnUntraced(function* (key: string, runId: RunId, after: number) {
    const read = yield* Deferred.make<LogPage | null, StoreUnavailable>()
    underWay.set(key, read)
    return yield* store.read(runId, after).pipe(
      Effect.map(logPage),
      Effect.onExit((exit) => {
        // Empty pages are not kept: the next read may find events. Pages with events never change.
        underWay.delete(key)
        if (Exit.isSuccess(exit) && exit.value.events.length > 0) pages.set(key, exit.value, 1)
        const shared = Exit.isFailure(exit) && Exit.hasInterrupts(exit) ? Exit.succeed(null) : exit
        return Deferred.done(read, shared)
      })
    )
  })

  return Effect.fnUntraced(function* (runId, after): Effect.fn.Return<LogPage, StoreUnavailable, Principal> {
    const { ownerId } = yield* Principal
    const key = JSON.stringify([ownerId, runId, after])
    let joined = 0
    while (true) {
      const kept = pages.get(key)
      if (kept !== undefined) return kept
      const read = underWay.get(key)
      if (read === undefined) return yield* readAndShare(key, runId, after)
      const page = yield* Deferred.await(read)
      // A read that was already under way may have queried the store before the change that the caller was told of. The second read that
      // the caller joins began after that change.
      if (page !== null && (page.events.length > 0 || ++joined > 1)) return page
    }
  })
}

const logPage = (stored: Parameters<typeof fromLog>[0]): LogPage => {
  const events = fromLog(stored)
  return { events, digest: digestEvents(events) }
}

/** `recordLeg` gives the same result for the digest as for the events. */
export const digestEvents = (events: ReadonlyArray<TurnEvent>): ReadonlyArray<TurnEvent> => {
  const digest: Array<TurnEvent> = []
  let texts: Array<string> = []
  let first: Extract<TurnEvent, { readonly _tag: "TextDelta" }> | null = null
  const endText = () => {
    if (first !== null) digest.push({ ...first, text: texts.join("") })
    first = null
    texts = []
  }
  for (const event of events) {
    if (event._tag === "TextDelta") {
      first ??= event
      texts.push(event.text)
    } else {
      endText()
      digest.push(event)
    }
  }
  endText()
  return digest
}
