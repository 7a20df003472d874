/** Webhooks of an owner. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { jsonOrFormBody } from "../bodies/RequestBody.ts"
import { Conflict, NotFound, NotImplemented, ServiceUnavailable, TooManyRequests } from "../wire/Errors.ts"
import { IntegerWord, Uuid } from "../wire/Fields.ts"
import {
  Webhook,
  WebhookCreated,
  WebhookDeleted,
  WebhookDeliveryList,
  WebhookDeliveryRetried,
  WebhookList,
  WebhookRequest,
  WebhookRotated,
  WebhookUpdate
} from "../wire/WebhookRecords.ts"
import { IdempotencyHeader } from "./MessagesApi.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

const ofWebhook = { webhook_id: Uuid }
const page = {
  limit: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
  cursor: Schema.optionalKey(Uuid)
}
const errors = [NotFound, NotImplemented, ServiceUnavailable] as const

export const webhookBodies = { create: jsonOrFormBody(WebhookRequest), update: jsonOrFormBody(WebhookUpdate) }

export const WebhooksApi = HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.post("create", "/webhooks", {
      headers: IdempotencyHeader,
      payload: WebhookRequest,
      success: WebhookCreated,
      error: [...unreadable, Conflict, TooManyRequests, NotImplemented, ServiceUnavailable]
    }).annotateMerge(
      described("write", "Have events sent to an address; the secret is shown this once", webhookBodies.create)
    ),
    HttpApiEndpoint.get("list", "/webhooks", {
      query: page,
      success: WebhookList,
      error: [NotImplemented, ServiceUnavailable]
    }).annotateMerge(described("read", "List webhooks, newest first")),
    HttpApiEndpoint.get("get", "/webhooks/:webhook_id", {
      params: ofWebhook,
      success: Webhook,
      error: errors
    }).annotateMerge(described("read", "Look at a webhook")),
    HttpApiEndpoint.put("update", "/webhooks/:webhook_id", {
      params: ofWebhook,
      payload: WebhookUpdate,
      success: Webhook,
      error: [...unreadable, ...errors]
    }).annotateMerge(described("write", "Change a webhook", webhookBodies.update)),
    HttpApiEndpoint.delete("remove", "/webhooks/:webhook_id", {
      params: ofWebhook,
      success: WebhookDeleted,
      error: errors
    }).annotateMerge(described("write", "Delete a webhook with its deliveries")),
    HttpApiEndpoint.post("rotate", "/webhooks/:webhook_id/rotate", {
      params: ofWebhook,
      headers: IdempotencyHeader,
      success: WebhookRotated,
      error: [Conflict, ...errors]
    }).annotateMerge(described("write", "Make a new secret; the old one signs as well for 24 hours")),
    HttpApiEndpoint.get("deliveries", "/webhooks/:webhook_id/deliveries", {
      params: ofWebhook,
      query: page,
      success: WebhookDeliveryList,
      error: errors
    }).annotateMerge(described("read", "List what was sent, is sent again, or could not be sent, newest first")),
    HttpApiEndpoint.post("retry", "/webhooks/:webhook_id/deliveries/:delivery_id/retry", {
      params: { ...ofWebhook, delivery_id: Uuid },
      headers: IdempotencyHeader,
      success: WebhookDeliveryRetried,
      error: [Conflict, ...errors]
    }).annotateMerge(described("write", "Send a delivery again"))
  )
  .annotate(OpenApi.Title, "Webhooks")
  .annotate(OpenApi.Description, "Events that are sent to an address, signed by the convention of Standard Webhooks.")
