/** A webhook: an address of a host's customer that is told of events; and a delivery, one event for one webhook. */
import * as Schema from "effect/Schema"
import { DeliveryId, WebhookId } from "../primitives/Ids.ts"

/** What a webhook may subscribe to. `type` of the body that is sent is one of these. */
export const WebhookEvent = Schema.Literals([
  "run.completed",
  "run.failed",
  "run.requires_action",
  "document.indexed",
  "schedule.missed"
])
export type WebhookEvent = typeof WebhookEvent.Type

export const Webhook = Schema.Struct({
  id: WebhookId,
  url: Schema.String,
  events: Schema.Array(WebhookEvent),
  description: Schema.NullOr(Schema.String),
  /** False: no text of a conversation or of a file is sent. */
  includeContent: Schema.Boolean,
  /** Encrypted by `WebhookSecrets`, the newest first. Each signs until its end; null: it has none. */
  secrets: Schema.Array(Schema.Struct({ sealed: Schema.String, until: Schema.NullOr(Schema.Date) })),
  /** Rises by one with each change, so that of two changes at once the later one sees the other. */
  revision: Schema.Int,
  createdAt: Schema.Date,
  updatedAt: Schema.Date
})
export type Webhook = typeof Webhook.Type

/** Whether a delivery waits, has arrived, or was given up. */
export const DeliveryStatus = Schema.Literals(["pending", "delivered", "dead"])
export type DeliveryStatus = typeof DeliveryStatus.Type

/** One event for one webhook, with its attempts. */
export const Delivery = Schema.Struct({
  id: DeliveryId,
  webhookId: WebhookId,
  /** The same in every attempt and for every webhook: the header `webhook-id`. */
  eventId: Schema.String,
  type: WebhookEvent,
  /** What is sent, the same bytes in every attempt. */
  body: Schema.String,
  status: DeliveryStatus,
  attempts: Schema.Int,
  /** Rises when it is sent again by request. */
  round: Schema.Int,
  /** The status of the last answer; null: there was none. */
  lastStatus: Schema.NullOr(Schema.Int),
  /** Why the last attempt failed. */
  error: Schema.NullOr(Schema.String),
  createdAt: Schema.Date,
  updatedAt: Schema.Date
})
export type Delivery = typeof Delivery.Type

/** The owner has no webhook with this id. */
export class WebhookNotFound extends Schema.TaggedError<WebhookNotFound>()("WebhookNotFound", {
  webhookId: WebhookId
}) {
  override get message() {
    return `There is no webhook ${this.webhookId}.`
  }
}

/** The webhook has no delivery with this id. */
export class DeliveryNotFound extends Schema.TaggedError<DeliveryNotFound>()("DeliveryNotFound", {
  deliveryId: DeliveryId
}) {
  override get message() {
    return `There is no delivery ${this.deliveryId}.`
  }
}

/** A repeated request cannot get the secret of its first answer: the host has another key to encrypt secrets by now. */
export class SecretUnreadable extends Schema.TaggedError<SecretUnreadable>()("SecretUnreadable", {
  webhookId: WebhookId
}) {
  override get message() {
    return `The secret of the webhook ${this.webhookId} cannot be read any more. Rotate it with a new idempotency key.`
  }
}

/** A webhook cannot be as it was asked for. `problems` name its fields. */
export class WebhookRefused extends Schema.TaggedError<WebhookRefused>()("WebhookRefused", {
  problems: Schema.Array(
    Schema.Struct({ field: Schema.Literals(["url", "events", "description"]), message: Schema.String })
  )
}) {
  override get message() {
    return this.problems.map(({ message }) => message).join(" ")
  }
}

/** The owner has as many webhooks as the settings allow. */
export class TooManyWebhooks extends Schema.TaggedError<TooManyWebhooks>()("TooManyWebhooks", { limit: Schema.Int }) {
  override get message() {
    return `There are ${this.limit} webhooks already, which is the limit. Delete one of them first.`
  }
}
