/** Webhooks over HTTP. A host that has not installed `Webhooks.layer()` answers 501. */
import { DeliveryId, WebhookId } from "@colloquy/core/adapters"
import { type Delivery, type NewWebhook, Webhooks, type WebhookWithSecret } from "@colloquy/core/wings"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Api } from "../Api.ts"
import { webhookToWire } from "../encoding/EncodeWebhooks.ts"
import { webhookBodies } from "../endpoints/WebhooksApi.ts"
import { checkedBodyReader } from "../wings/BodyReader.ts"
import { NotImplemented } from "../wire/Errors.ts"
import { toWireError, webhookProblem } from "../wire/ErrorStatus.ts"
import { compact, given, writeTimestamp } from "../wire/Fields.ts"
import { readIdempotency } from "./Idempotency.ts"
import type { WebhookDelivery, WebhookUpdate } from "../wire/WebhookRecords.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "webhooks",
  Effect.fnUntraced(function* (handlers) {
    const read = yield* checkedBodyReader
    const webhooks = Option.match(yield* Effect.serviceOption(Webhooks), {
      onNone: () => Effect.fail(new NotImplemented({ detail })),
      onSome: (service) => Effect.succeed(service)
    })

    const problems = Effect.map(
      webhooks,
      (service) => (body: WebhookUpdate) => Effect.sync(() => service.problems(toFields(body)).map(webhookProblem))
    )

    return handlers
      .handleRaw(
        "create",
        Effect.fnUntraced(function* (raw) {
          const { create } = yield* webhooks
          const asked = yield* read(webhookBodies.create, webhookBodies.update, raw, yield* problems)
          const { description, events, include_content, url } = asked
          const fields = compact({ description, includeContent: given(include_content) })
          const { idempotency } = yield* readIdempotency(raw, () => asked)
          const made = yield* Effect.mapError(create({ url, events, ...fields }, idempotency), toWireError)
          return HttpServerResponse.jsonUnsafe(withSecret(made), { status: 201 })
        })
      )
      .handle(
        "list",
        Effect.fnUntraced(function* ({ query: { cursor, limit = 20 } }) {
          const { list } = yield* webhooks
          const after = cursor === undefined ? undefined : WebhookId.make(cursor)
          const found = yield* Effect.mapError(list({ limit, ...compact({ after }) }), toWireError)
          return { webhooks: found.webhooks.map(webhookToWire), next_cursor: found.next }
        })
      )
      .handle(
        "get",
        Effect.fnUntraced(function* ({ params }) {
          const { get } = yield* webhooks
          return webhookToWire(yield* Effect.mapError(get(toId(params)), toWireError))
        })
      )
      .handleRaw(
        "update",
        Effect.fnUntraced(function* (raw) {
          const { update } = yield* webhooks
          const asked = yield* read(webhookBodies.update, webhookBodies.update, raw, yield* problems)
          const changed = yield* Effect.mapError(update(toId(raw.params), toFields(asked)), toWireError)
          return HttpServerResponse.jsonUnsafe(webhookToWire(changed))
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function* ({ params }) {
          const { remove } = yield* webhooks
          yield* Effect.mapError(remove(toId(params)), toWireError)
          const deleted_at = new Date(yield* Clock.currentTimeMillis).toISOString()
          return { message: "The webhook was deleted.", webhook_id: params.webhook_id, deleted_at }
        })
      )
      .handle(
        "rotate",
        Effect.fnUntraced(function* (sent) {
          const { rotate } = yield* webhooks
          const { idempotency } = yield* readIdempotency(sent, () => ({}))
          return withSecret(yield* Effect.mapError(rotate(toId(sent.params), idempotency), toWireError))
        })
      )
      .handle(
        "deliveries",
        Effect.fnUntraced(function* ({ params, query: { cursor, limit = 20 } }) {
          const { deliveries } = yield* webhooks
          const after = cursor === undefined ? undefined : DeliveryId.make(cursor)
          const found = yield* Effect.mapError(deliveries(toId(params), { limit, ...compact({ after }) }), toWireError)
          return { deliveries: found.deliveries.map(deliveryToWire), next_cursor: found.next }
        })
      )
      .handle(
        "retry",
        Effect.fnUntraced(function* (sent) {
          const { retry } = yield* webhooks
          const { idempotency } = yield* readIdempotency(sent, () => ({}))
          const again = retry(toId(sent.params), DeliveryId.make(sent.params.delivery_id), idempotency)
          return deliveryToWire(yield* Effect.mapError(again, toWireError))
        })
      )
  })
)

const detail = "Webhooks are not available on this server: its host has not installed them."

const toId = (params: { readonly webhook_id: string }) => WebhookId.make(params.webhook_id)

const toFields = ({ description, events, include_content, url }: WebhookUpdate): Partial<NewWebhook> =>
  compact({ description, url: given(url), events: given(events), includeContent: given(include_content) })

const withSecret = ({ secret, webhook }: WebhookWithSecret) => ({
  ...webhookToWire(webhook),
  secret: Redacted.value(secret)
})

const deliveryToWire = (delivery: Delivery): WebhookDelivery => ({
  delivery_id: delivery.id,
  event_id: delivery.eventId,
  type: delivery.type,
  status: delivery.status,
  attempts: delivery.attempts,
  last_status: delivery.lastStatus,
  error: delivery.error,
  created_at: writeTimestamp(delivery.createdAt),
  updated_at: writeTimestamp(delivery.updatedAt)
})
