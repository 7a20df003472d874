/** Webhooks and their deliveries on the wire. */
import { DeliveryStatus, WebhookEvent } from "@colloquy/core/wings"
import * as Schema from "effect/Schema"
import { maybe, maybeOr, Timestamp } from "./Fields.ts"

const Id = Schema.String.annotate({ format: "uuid" })

export const WebhookRequest = Schema.Struct({
  /** An address that begins with https:// or http://. */
  url: Schema.String,
  events: Schema.Array(WebhookEvent),
  description: maybe(Schema.String),
  /** False: no text of a conversation or of a file is sent. */
  include_content: maybeOr(Schema.Boolean, false)
}).annotate({ identifier: "WebhookRequest" })

/** A change of a webhook. Absent fields stay unchanged. */
export const WebhookUpdate = Schema.Struct({
  url: maybe(Schema.String),
  events: maybe(Schema.Array(WebhookEvent)),
  /** Null removes it. */
  description: maybe(Schema.String),
  include_content: maybe(Schema.Boolean)
}).annotate({ identifier: "WebhookUpdate" })
export type WebhookUpdate = typeof WebhookUpdate.Type

const webhook = {
  webhook_id: Id,
  url: Schema.String,
  events: Schema.Array(WebhookEvent),
  description: Schema.NullOr(Schema.String),
  include_content: Schema.Boolean,
  created_at: Timestamp,
  updated_at: Timestamp
}

export const Webhook = Schema.Struct(webhook).annotate({ identifier: "Webhook" })
export type Webhook = typeof Webhook.Type

/** `secret` signs what is sent, and is shown this once. */
const withSecret = { ...webhook, secret: Schema.String }
export const WebhookCreated = Schema.Struct(withSecret).annotate({ identifier: "WebhookCreated", httpApiStatus: 201 })
export const WebhookRotated = Schema.Struct(withSecret).annotate({ identifier: "WebhookRotated" })

export const WebhookList = Schema.Struct({
  webhooks: Schema.Array(Webhook),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "WebhookList" })

export const WebhookDeleted = Schema.Struct({
  message: Schema.String,
  webhook_id: Id,
  deleted_at: Timestamp
}).annotate({ identifier: "WebhookDeleted" })

const delivery = {
  delivery_id: Id,
  /** The header `webhook-id` of every attempt. */
  event_id: Schema.String,
  type: WebhookEvent,
  /** `dead`: it is not sent again, unless a client asks for it. */
  status: DeliveryStatus,
  attempts: Schema.Int,
  /** The status of the last answer; null: there was none. */
  last_status: Schema.NullOr(Schema.Int),
  /** Why the last attempt failed. */
  error: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  updated_at: Timestamp
}
export const WebhookDelivery = Schema.Struct(delivery).annotate({ identifier: "WebhookDelivery" })
export type WebhookDelivery = typeof WebhookDelivery.Type
export const WebhookDeliveryRetried = Schema.Struct(delivery).annotate({
  identifier: "WebhookDeliveryRetried",
  httpApiStatus: 202
})

export const WebhookDeliveryList = Schema.Struct({
  deliveries: Schema.Array(WebhookDelivery),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "WebhookDeliveryList" })
