/**
 * Remembers where the last turns of this process took place, so that the next turn of such a thread needs no query for it. A remembered
 * place may be outdated: the store compares its revision when the turn begins, and if the revisions differ, the turn is decided again.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Principal } from "../access/Principal.ts"
import type { ThreadId } from "../primitives/Ids.ts"
import { RecentlyUsed } from "../primitives/RecentlyUsed.ts"
import type { Place } from "./Place.ts"
import { TurnSettings } from "./TurnSettings.ts"

export class KnownPlaces extends Context.Service<
  KnownPlaces,
  {
    readonly find: (threadId: ThreadId) => Effect.Effect<Place | undefined, never, Principal>
    /** Remembers the place of a turn that was stored. */
    readonly keep: (place: Place) => Effect.Effect<void, never, Principal>
    readonly forget: (threadId: ThreadId) => Effect.Effect<void, never, Principal>
  }
>()("@colloquy/core/turns/KnownPlaces") {
  static readonly layer: Layer.Layer<KnownPlaces> = Layer.effect(
    KnownPlaces,
    Effect.map(TurnSettings, ({ keptPlaces }) => {
      const places = new RecentlyUsed<Place>(keptPlaces)
      const keyed = <A>(threadId: ThreadId, use: (key: string) => A) =>
        Principal.useSync(({ ownerId }) => use(`${threadId} ${ownerId}`))
      return KnownPlaces.of({
        find: (threadId) => keyed(threadId, (key) => places.get(key)),
        keep: (place) =>
          place.isKnown || place.revision === null
            ? Effect.void
            : keyed(place.thread.id, (key) => places.set(key, { ...place, isKnown: true }, sizeOf(place))),
        forget: (threadId) => keyed(threadId, (key) => places.delete(key))
      })
    })
  )
}

/** Approximate size in characters. */
const sizeOf = ({ assistant, summary, thread }: Place): number => JSON.stringify([assistant, thread, summary]).length
