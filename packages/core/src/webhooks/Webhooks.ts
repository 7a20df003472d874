/** The use cases of webhooks as a service; `WebhooksLayer` implements them. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { Principal } from "../access/Principal.ts"
import type { DeliveryId, WebhookId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import type { IdempotencyConflict } from "../runs/AnsweredBefore.ts"
import type {
  Delivery,
  DeliveryNotFound,
  SecretUnreadable,
  TooManyWebhooks,
  Webhook,
  WebhookEvent,
  WebhookNotFound,
  WebhookRefused
} from "./Webhook.ts"
import type { WebhookPage } from "./WebhookStore.ts"

/** An address, and the events that are sent to it. */
export interface NewWebhook {
  readonly url: string
  readonly events: ReadonlyArray<WebhookEvent>
  readonly description?: string | null
  /** Default false: no text of a conversation or of a file is sent. */
  readonly includeContent?: boolean
}

/** A webhook with its secret, which is shown this once. */
export interface WebhookWithSecret {
  readonly webhook: Webhook
  readonly secret: Redacted.Redacted<string>
}

/** Webhooks, and where the next page begins. */
export interface WebhookList {
  readonly webhooks: ReadonlyArray<Webhook>
  /** `after` of the next page; null: there is none. */
  readonly next: WebhookId | null
}

/** Deliveries, and where the next page begins. */
export interface DeliveryList {
  readonly deliveries: ReadonlyArray<Delivery>
  /** Where older ones begin; null at the end. */
  readonly next: DeliveryId | null
}

type Missing = WebhookNotFound | StoreUnavailable
/** What a repeat of a request with its idempotency key can fail with. */
type NotAgain = IdempotencyConflict | SecretUnreadable

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** What is wrong with these fields; `create` and `update` refuse it. For transports that list it beside problems of their own. */
    readonly problems: (fields: Partial<NewWebhook>) => WebhookRefused["problems"]
    readonly create: (
      webhook: NewWebhook,
      idempotency?: IdempotencyKey
    ) => Effect.Effect<WebhookWithSecret, WebhookRefused | TooManyWebhooks | NotAgain | StoreUnavailable, Principal>
    readonly get: (id: WebhookId) => Effect.Effect<Webhook, Missing, Principal>
    /** Newest first. */
    readonly list: (page: WebhookPage) => Effect.Effect<WebhookList, StoreUnavailable, Principal>
    /** Changes what is given. */
    readonly update: (
      id: WebhookId,
      change: Partial<NewWebhook>
    ) => Effect.Effect<Webhook, WebhookRefused | Missing, Principal>
    readonly remove: (id: WebhookId) => Effect.Effect<void, Missing, Principal>
    /** A new secret. The one of before signs as well, for `WebhookSettings.overlap`. */
    readonly rotate: (
      id: WebhookId,
      idempotency?: IdempotencyKey
    ) => Effect.Effect<WebhookWithSecret, Missing | NotAgain, Principal>
    /** Newest first. */
    readonly deliveries: (
      id: WebhookId,
      page: { readonly limit: number; readonly after?: DeliveryId }
    ) => Effect.Effect<DeliveryList, Missing, Principal>
    /** Sends a delivery again, in every state, with the pauses of a new one. */
    readonly retry: (
      id: WebhookId,
      deliveryId: DeliveryId,
      idempotency?: IdempotencyKey
    ) => Effect.Effect<Delivery, DeliveryNotFound | IdempotencyConflict | Missing, Principal>
  }
>()("@colloquy/core/webhooks/Webhooks") {}
