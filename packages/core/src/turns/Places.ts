/**
 * Step 1 of a turn: the turn gets its place. The places of the last turns of this process are remembered, so that the next turn of such a
 * thread needs no query. A remembered place may be outdated: the store compares its revision when the turn begins, and a turn that was
 * decided on an outdated place, or refused on a remembered one, is decided again on the place as it is now. Other files see of this the
 * revision that a place was decided on, which `WriteTurn` gives to the store, and its error `PlaceOutdated`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Principal } from "../access/Principal.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { OwnerId, ThreadId } from "../primitives/Ids.ts"
import { RecentlyUsed } from "../primitives/RecentlyUsed.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { isHeard, isRewritten } from "./PartDecisions.ts"
import { type Place, type PlaceOutdated, PlaceRecords } from "./Place.ts"
import type { StartedTurn } from "./StartedTurn.ts"
import { ThreadChanged } from "./TurnErrors.ts"
import { TurnParts } from "./TurnParts.ts"
import type { TurnRequest } from "./TurnRequest.ts"
import { TurnSettings } from "./TurnSettings.ts"
import type { StartError } from "./TurnUseCases.ts"

/** The function that `Effect.uninterruptibleMask` gives: it makes an effect interruptible again, if the caller was interruptible. */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Stores what is new of the place, then the turn. If the turn is not stored at this place, nothing new of the place stays. */
export type StoreAtPlace = <E>(
  write: (restore: Restore) => Effect.Effect<StartedTurn, E, Principal>
) => Effect.Effect<StartedTurn, E | AssistantNotFound | StoreUnavailable, Principal>

/** The rest of a turn: its decisions, and then `store`, once. */
export type RestOfTurn = (
  place: Place,
  store: StoreAtPlace
) => Effect.Effect<StartedTurn, StartError | PlaceOutdated, Principal>

export class Places extends Context.Service<
  Places,
  {
    /** Runs the rest of a turn at its place. It may run a second time, with another place; nothing was stored then. */
    readonly use: (request: TurnRequest, rest: RestOfTurn) => Effect.Effect<StartedTurn, StartError, Principal>
  }
>()("@colloquy/core/turns/Places") {
  static readonly layer: Layer.Layer<Places, never, PlaceRecords | TurnParts> = Layer.effect(
    Places,
    Effect.gen(function* () {
      const records = yield* PlaceRecords
      const parts = yield* TurnParts
      const { keptPlaces } = yield* TurnSettings
      const places = new RecentlyUsed<Place>(keptPlaces)
      /**
       * A turn whose message a part hears or rewrites never uses a remembered place: if the place were outdated, the part would read the
       * message twice, and reading costs money.
       */
      const find = (request: TurnRequest, ownerId: OwnerId): Place | undefined => {
        const { threadId } = request
        const all = parts.all()
        if (threadId === undefined || isHeard(all, request) || isRewritten(all)) return undefined
        return places.get(placeKey(threadId, ownerId))
      }

      const keep = (place: Place, ownerId: OwnerId): void => {
        if (place.decidedOn !== null || place.revision === null) return
        places.set(placeKey(place.thread.id, ownerId), { ...place, decidedOn: place.revision }, placeSize(place))
      }

      const storeAt =
        (place: Place): StoreAtPlace =>
        (write) =>
          Effect.uninterruptibleMask((restore) => {
            const written = Effect.flatMapEager(records.storeNew(place), () => write(restore))
            const kept = Principal.use(({ ownerId }) =>
              Effect.map(written, (turn) => {
                keep(place, ownerId)
                return turn
              })
            )
            if (!place.isNewThread) return kept
            return kept.pipe(
              Effect.tap((turn) => (turn.threadId === place.thread.id ? Effect.void : records.removeNew(place))),
              Effect.onError(() => records.removeNew(place))
            )
          })

      /** A place that was read just now is not compared. If a store finds it outdated all the same, the thread has changed meanwhile. */
      const useAnew = Effect.fnUntraced(function* (
        request: TurnRequest,
        rest: RestOfTurn
      ): Effect.fn.Return<StartedTurn, StartError, Principal> {
        const place = yield* records.find(request)
        return yield* Effect.catchTag(
          rest(place, storeAt(place)),
          "PlaceOutdated",
          () => new ThreadChanged({ threadId: place.thread.id })
        )
      })

      const useKnown = (known: Place, request: TurnRequest, rest: RestOfTurn, ownerId: OwnerId) => {
        let isDecided = false
        const turn = rest(known, (write) => {
          isDecided = true
          return storeAt(known)(write)
        })
        return Effect.catch(turn, (error) => {
          // The host's answer depends on no place, and to ask the host again may cost something.
          if (error._tag === "InsufficientCredit") return Effect.fail(error)
          places.delete(placeKey(known.thread.id, ownerId))
          return isDecided && error._tag !== "PlaceOutdated" ? Effect.fail(error) : useAnew(request, rest)
        })
      }

      return Places.of({
        use: (request, rest) =>
          Principal.use(({ ownerId }) => {
            const known = find(request, ownerId)
            return known === undefined ? useAnew(request, rest) : useKnown(known, request, rest, ownerId)
          })
      })
    })
  )
}

const placeKey = (threadId: ThreadId, ownerId: OwnerId): string => `${threadId} ${ownerId}`

/** Approximate size in characters. */
const placeSize = ({ assistant, summary, thread }: Place): number => JSON.stringify([assistant, thread, summary]).length
