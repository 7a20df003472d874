/**
 * The thread of a session or a ticket. If a thread is given, a given assistant is ignored; without a thread a new one is created, and
 * without both also a new assistant. New records are stored in a separate step, so that a refused request leaves nothing behind.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import type { Providers } from "../models/Provider.ts"
import { AssistantId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ThreadNotFound } from "../threads/Thread.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import { type Place, PlaceRecords } from "../turns/Place.ts"

export interface PlaceRequest {
  readonly threadId: string | null
  readonly assistantId: string | null
}

export class SessionPlaces extends Context.Service<
  SessionPlaces,
  {
    /** New records exist in memory only. */
    readonly find: (
      request: PlaceRequest
    ) => Effect.Effect<Place, ThreadNotFound | AssistantNotFound | StoreUnavailable, Principal>
    readonly store: (place: Place) => Effect.Effect<void, AssistantNotFound | StoreUnavailable, Principal>
    /** Removes what `store` has stored. */
    readonly remove: (place: Place) => Effect.Effect<void, never, Principal>
  }
>()("@colloquy/core/realtime/SessionPlaces") {
  static readonly layer: Layer.Layer<SessionPlaces, never, AssistantStore | ThreadStore | Providers> = Layer.effect(
    SessionPlaces,
    Effect.map(PlaceRecords, (records) =>
      SessionPlaces.of({
        find: ({ assistantId, threadId }) =>
          Effect.flatMap(
            records.find({
              ...(threadId === null ? {} : { threadId: idOrNone(ThreadId, threadId) }),
              ...(assistantId === null ? {} : { assistantId: idOrNone(AssistantId, assistantId) })
            }),
            // Versions go with their assistant only, and then its threads are gone too.
            (place) => Effect.catchTag(records.atVersion(place), "AssistantVersionUnknown", () => Effect.succeed(place))
          ),
        store: records.storeNew,
        remove: records.removeNew
      })
    )
  ).pipe(Layer.provide(PlaceRecords.layer))
}

/** A malformed id counts as unknown. */
const idOrNone = <Id>(brand: { readonly make: (value: string) => Id }, text: string): Id =>
  brand.make(text === "" ? "none" : text)
