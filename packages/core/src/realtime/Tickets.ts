/**
 * Tickets let a browser open a voice session without the API key: a trusted backend requests one and passes it to the browser. A ticket is
 * valid for 60 seconds and one connection, for one thread, and for the Origin of its request if there was one.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { tracedFn } from "../primitives/Traced.ts"
import { rateLimiter } from "../access/Authentication.ts"
import { Principal } from "../access/Principal.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import type { Providers } from "../models/Provider.ts"
import { AssistantId, OwnerId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import { randomText, sha256 } from "./Secret.ts"
import { SessionLimits } from "./SessionLimits.ts"
import { SessionPlaces } from "./SessionPlace.ts"

const ticketLifetime = Duration.seconds(60)

/** The stored data of a ticket, which is not enough to use it. */
export const TicketRecord = Schema.Struct({
  /** SHA-256 of the ticket, hex. */
  hash: Schema.String,
  ownerId: OwnerId,
  threadId: ThreadId,
  assistantId: AssistantId,
  origin: Schema.NullOr(Schema.String),
  expiresAt: Schema.Date
})
export type TicketRecord = typeof TicketRecord.Type

/** Port: keeps tickets of voice sessions until each is used once or has expired. */
export class TicketStore extends Context.Service<
  TicketStore,
  {
    /** MUST return false, and store nothing, when the principal has no such thread. Expired tickets may be deleted. */
    readonly insert: (record: TicketRecord) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** MUST return each ticket at most once, also under concurrent calls from several processes, and none that has expired at `now`. */
    readonly redeem: (hash: string, now: Date) => Effect.Effect<Option.Option<TicketRecord>, StoreUnavailable>
  }
>()("@colloquy/core/realtime/TicketStore") {}

/** The ticket is not known, was used, or has expired. */
export class TicketInvalid extends Schema.TaggedError<TicketInvalid>()("TicketInvalid", {}) {
  override get message() {
    return "The ticket is unknown, was used before, or is older than 60 seconds. Ask for a new one."
  }
}

/** The ticket was made for a page of another origin. */
export class OriginMismatch extends Schema.TaggedError<OriginMismatch>()("OriginMismatch", {}) {
  override get message() {
    return "The ticket was made for another Origin. It cannot be used any more; ask for a new one from the right page."
  }
}

/** The owner asked for too many tickets in a short time. */
export class TooManyTickets extends Schema.TaggedError<TooManyTickets>()("TooManyTickets", {
  waitMillis: Schema.Finite
}) {
  override get message() {
    return "This owner has asked for too many tickets. Wait before you ask for another one."
  }
}

/** For which thread or assistant a ticket is wanted, and for pages of which origin. */
export interface TicketRequest {
  readonly threadId: string | null
  /** Used if no thread is given: the ticket's thread is a new one of this assistant. */
  readonly assistantId: string | null
  readonly origin: string | null
}

/** A ticket, its time, and the thread for which it is. */
export interface IssuedTicket {
  readonly ticket: Redacted.Redacted<string>
  readonly expiresIn: Duration.Duration
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
}

export class Tickets extends Context.Service<
  Tickets,
  {
    /** Without any id, a new assistant and a new thread are created for the ticket. */
    readonly issue: (
      request: TicketRequest
    ) => Effect.Effect<IssuedTicket, ThreadNotFound | AssistantNotFound | TooManyTickets | StoreUnavailable, Principal>
    /** Consumes the ticket, even if the Origin is wrong. */
    readonly redeem: (
      ticket: Redacted.Redacted<string>,
      origin: string | null
    ) => Effect.Effect<TicketRecord, TicketInvalid | OriginMismatch | StoreUnavailable>
  }
>()("@colloquy/core/realtime/Tickets") {
  static readonly layer: Layer.Layer<Tickets, never, TicketStore | AssistantStore | ThreadStore | Providers> =
    Layer.effect(
      Tickets,
      Effect.gen(function* () {
        const store = yield* TicketStore
        const places = yield* SessionPlaces
        const limiter = yield* rateLimiter
        const { ticketsOfOwner: limit } = yield* SessionLimits

        return Tickets.of({
          issue: tracedFn("Tickets.issue")(function* (request: TicketRequest) {
            const { ownerId } = yield* Principal
            const waitMillis = yield* limiter.take(`tickets of ${ownerId}`, { limit, window: ticketLifetime })
            if (waitMillis !== null) return yield* new TooManyTickets({ waitMillis })
            const place = yield* places.find(request)
            yield* places.store(place)
            const { assistantId, id: threadId } = place.thread
            const ticket = `ct_${yield* randomText}`
            const expiresAt = new Date((yield* Clock.currentTimeMillis) + Duration.toMillis(ticketLifetime))
            const hash = yield* sha256(ticket)
            const record = { hash, ownerId, threadId, assistantId, origin: request.origin, expiresAt }
            if (!(yield* store.insert(record))) return yield* new ThreadNotFound({ threadId })
            return { ticket: Redacted.make(ticket), expiresIn: ticketLifetime, threadId, assistantId }
          }),
          redeem: tracedFn("Tickets.redeem")(function* (ticket: Redacted.Redacted<string>, origin: string | null) {
            const now = new Date(yield* Clock.currentTimeMillis)
            const found = yield* store.redeem(yield* sha256(Redacted.value(ticket)), now)
            if (Option.isNone(found)) return yield* new TicketInvalid()
            if (found.value.origin !== null && found.value.origin !== origin) return yield* new OriginMismatch()
            return found.value
          })
        })
      })
    ).pipe(Layer.provide(SessionPlaces.layer))
}
