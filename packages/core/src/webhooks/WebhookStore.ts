/** Port: keeps webhooks and their deliveries. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { DeliveryId, OwnerId, WebhookId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { AnsweredOnce } from "../runs/Branches.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"
import type { Delivery, Webhook } from "./Webhook.ts"

/** How many webhooks to read, and after which. */
export interface WebhookPage {
  readonly limit: number
  /** The last webhook of the page before. */
  readonly after?: WebhookId
}

/** Which deliveries of a webhook to read. */
export interface DeliveryPage {
  readonly webhookId: WebhookId
  readonly limit: number
  /** The last delivery of the page before. */
  readonly after?: DeliveryId
}

/** What an attempt changes. */
export type DeliveryOutcome = Pick<
  Delivery,
  "attempts" | "error" | "id" | "lastStatus" | "round" | "status" | "updatedAt"
>

/** `mark` rises with each webhook of any owner. */
export interface WebhookOwner {
  readonly ownerId: OwnerId
  readonly mark: number
}

/** `changed`: the record is gone, or another caller has changed it. `repeated`: the idempotency key was used before. */
export type WebhookChange = "stored" | "changed" | "repeated"

export class WebhookStore extends Context.Service<
  WebhookStore,
  {
    /**
     * MUST store the webhook, unless the principal has `most` already; then MUST store nothing. With `once`, MUST store the answer for
     * `RunStore.findAnswered` in the same step; when the key was used within the last 24 hours, MUST store nothing and return "repeated". So do
     * `replace` and `retry`.
     */
    readonly insert: (
      webhook: Webhook,
      most: number,
      once: AnsweredOnce | null
    ) => Effect.Effect<"stored" | "too_many" | "repeated", StoreUnavailable, Principal>

    /** MUST return none both for an unknown id and for another owner's id. */
    readonly get: (id: WebhookId) => Effect.Effect<Option.Option<Webhook>, StoreUnavailable, Principal>

    /** MUST return the principal's webhooks, newest first, at most `limit`. With `after`, MUST return those that come after it. */
    readonly list: (page: WebhookPage) => Effect.Effect<ReadonlyArray<Webhook>, StoreUnavailable, Principal>

    /** MUST replace the webhook whose revision is one below the given one; "changed", and nothing is stored, if the principal has none such. */
    readonly replace: (
      webhook: Webhook,
      once: AnsweredOnce | null
    ) => Effect.Effect<WebhookChange, StoreUnavailable, Principal>

    /** MUST delete the webhook with its deliveries; false if the principal has none with this id. */
    readonly remove: (id: WebhookId) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /**
     * Of all owners: MUST return the owner of each webhook with a mark above `after`, lowest first, at most `limit`. No webhook MUST appear
     * later with a mark below one that was returned.
     */
    readonly owners: (after: number, limit: number) => Effect.Effect<ReadonlyArray<WebhookOwner>, StoreUnavailable>

    /**
     * MUST store the delivery, and the follow-up as `FollowUpStore.add` does, in one step; false, and nothing is stored, if the webhook is
     * gone or there is a delivery with this id. Of the webhook's deliveries at rest MUST keep only the newest `keep`.
     */
    readonly insertDelivery: (
      delivery: Delivery,
      followUp: NewFollowUp,
      keep: number
    ) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /** MUST find a delivery of the principal, and nothing else. */
    readonly getDelivery: (id: DeliveryId) => Effect.Effect<Option.Option<Delivery>, StoreUnavailable, Principal>

    /** A page of what one webhook was sent: MUST be in the reverse order of its insertion, and begin behind `after`. */
    readonly listDeliveries: (page: DeliveryPage) => Effect.Effect<ReadonlyArray<Delivery>, StoreUnavailable, Principal>

    /** MUST store what came of an attempt; false, and nothing changes, if the delivery is gone or in another round. */
    readonly record: (outcome: DeliveryOutcome) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /**
     * MUST make the delivery of this round pending, without attempts and in the next round, and store the follow-up in the same step; "changed",
     * and nothing is stored, if it is gone or in another round. Of concurrent callers one MUST succeed.
     */
    readonly retry: (
      delivery: Pick<Delivery, "id" | "round">,
      followUp: NewFollowUp,
      once: AnsweredOnce | null
    ) => Effect.Effect<WebhookChange, StoreUnavailable, Principal>
  }
>()("@colloquy/core/webhooks/WebhookStore") {}
