/**
 * Pages of stored logs, for the followers of this process. Those who follow the same run from the same place share one read of the store and
 * one copy of what it gave, so that many readers of a long run cost little more than one. A log only grows, so a page that was read stays
 * true: its followers ask for what comes behind it. Few pages are kept; a slower follower reads its own.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Principal } from "../access/Principal.ts"
import type { RunId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { RunStore } from "../runs/RunStore.ts"
import { fromLog, type TurnEvent } from "./TurnEvent.ts"

export interface LogPage {
  readonly events: ReadonlyArray<TurnEvent>
  /** The same events for `recordLeg`, with the text of neighbouring deltas in one: what a follower keeps of a page it has passed on. */
  readonly digest: ReadonlyArray<TurnEvent>
}

export type ReadPage = (runId: RunId, after: number) => Effect.Effect<LogPage, StoreUnavailable, Principal>

/** About a thousand events each. */
const keptPages = 32

/** Null: the reader went away before the store answered. */
type Read = Deferred.Deferred<LogPage | null, StoreUnavailable>

export const makeLogPages = (store: Pick<typeof RunStore.Service, "read">): ReadPage => {
  const pages = new Map<string, Read>()

  const keep = (key: string, read: Read) => {
    pages.delete(key)
    pages.set(key, read)
    for (const [oldest] of pages) {
      if (pages.size <= keptPages) break
      pages.delete(oldest)
    }
  }

  const lead = Effect.fnUntraced(function* (key: string, runId: RunId, after: number) {
    const read = yield* Deferred.make<LogPage | null, StoreUnavailable>()
    pages.set(key, read)
    return yield* store.read(runId, after).pipe(
      Effect.map(pageOf),
      Effect.onExit((exit) => {
        // What is not there yet may be there at the next look; nothing else changes.
        if (pages.get(key) === read) pages.delete(key)
        if (Exit.isSuccess(exit) && exit.value.events.length > 0) keep(key, read)
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
      const read = pages.get(key)
      if (read === undefined) return yield* lead(key, runId, after)
      const page = yield* Deferred.await(read)
      // A read that was under way may have looked before the caller was told of a change; the next one that it joins has not.
      if (page !== null && (page.events.length > 0 || ++joined > 1)) return page
    }
  })
}

const pageOf = (stored: Parameters<typeof fromLog>[0]): LogPage => {
  const events = fromLog(stored)
  return { events, digest: digestOf(events) }
}

/** `recordLeg` makes the same of the digest as of the events. */
export const digestOf = (events: ReadonlyArray<TurnEvent>): ReadonlyArray<TurnEvent> => {
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
