/** The room of webhooks: `webhooks({ secret })`. It adds `colloquy.webhooks`: events that are sent to addresses of an owner. */
import { NodeWebhooks } from "@colloquy/adapters/webhooks"
import { DeliveryId, WebhookId } from "@colloquy/core/adapters"
import {
  type CallOptions,
  readCount,
  readId,
  type Room,
  room,
  type RoomTypes,
  type RunCall
} from "@colloquy/core/promises"
import {
  type Delivery,
  type DeliveryList,
  type NewWebhook,
  type Webhook,
  type WebhookList,
  Webhooks,
  type WebhookSettings
} from "@colloquy/core/webhooks"
import type { DeepPartial, IdempotencyKey } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { hidden, type Secret } from "../Secret.ts"
import type { RoomNeeds } from "../Store.ts"

export type { Delivery, DeliveryList, NewWebhook, Webhook, WebhookList } from "@colloquy/core/webhooks"

/** The secret that encrypts those of webhooks, and which addresses may be called. */
export interface WebhooksOptions extends DeepPartial<WebhookSettings> {
  /** Encrypts the secrets of webhooks in the store. All processes of a service need the same one. */
  readonly secret: Secret
  /** Secrets of before, for what is still encrypted under them. */
  readonly earlierSecrets?: ReadonlyArray<Secret>
  /** True: addresses of private networks and of this machine may be used. */
  readonly privateAddresses?: boolean
}

/** A webhook with its secret as plain text. It is shown this once. */
export interface CreatedWebhook {
  readonly webhook: Webhook
  readonly secret: string
}

/** With `idempotency`, a repeat within a day gives the first answer. */
interface Repeatable {
  readonly idempotency?: IdempotencyKey
}

/** Addresses to which events are sent, and their deliveries: `colloquy.webhooks`. */
export interface WebhookCalls {
  readonly create: (webhook: NewWebhook & Repeatable, options?: CallOptions) => Promise<CreatedWebhook>
  readonly get: (webhookId: string, options?: CallOptions) => Promise<Webhook>
  /** Newest first. */
  readonly list: (
    page?: { readonly limit?: number; readonly after?: string },
    options?: CallOptions
  ) => Promise<WebhookList>
  readonly update: (webhookId: string, change: Partial<NewWebhook>, options?: CallOptions) => Promise<Webhook>
  readonly remove: (webhookId: string, options?: CallOptions) => Promise<void>
  /** A new secret. The old one signs as well for 24 hours. */
  readonly rotate: (webhookId: string, options?: CallOptions & Repeatable) => Promise<CreatedWebhook>
  /** Newest first. */
  readonly deliveries: (
    page: { readonly webhookId: string; readonly limit?: number; readonly after?: string },
    options?: CallOptions
  ) => Promise<DeliveryList>
  readonly retry: (
    delivery: { readonly webhookId: string; readonly deliveryId: string } & Repeatable,
    options?: CallOptions
  ) => Promise<Delivery>
}

interface WebhooksTypes extends RoomTypes {
  readonly calls: { readonly webhooks: WebhookCalls }
  readonly event: never
}

/** What `webhooks()` gives. */
export type WebhooksRoom = Room<WebhooksTypes, RoomNeeds>

export const webhooks = ({
  earlierSecrets = [],
  privateAddresses = false,
  secret,
  ...settings
}: WebhooksOptions): WebhooksRoom =>
  room<WebhooksTypes>()(
    Layer.provide(
      Webhooks.layer(settings),
      NodeWebhooks.layer({ secret: hidden(secret), earlierSecrets: earlierSecrets.map(hidden), privateAddresses })
    ),
    functions
  )

const functions = Effect.gen(function* () {
  const service = yield* Webhooks
  const shown = Effect.map(({ secret, webhook }: Effect.Success<ReturnType<typeof service.rotate>>) => ({
    webhook,
    secret: Redacted.value(secret)
  }))
  const calls = (run: RunCall): WebhookCalls => ({
    create: ({ idempotency, ...webhook }, options) => run(() => shown(service.create(webhook, idempotency)), options),
    get: (id, options) => run(() => service.get(readId(WebhookId, id)), options),
    list: ({ after, limit = 20 } = {}, options) =>
      run(
        () =>
          service.list({
            limit: readCount("limit", limit),
            ...(after === undefined ? {} : { after: readId(WebhookId, after) })
          }),
        options
      ),
    update: (id, change, options) => run(() => service.update(readId(WebhookId, id), change), options),
    remove: (id, options) => run(() => service.remove(readId(WebhookId, id)), options),
    rotate: (id, { idempotency, ...options } = {}) =>
      run(() => shown(service.rotate(readId(WebhookId, id), idempotency)), options),
    deliveries: ({ after, limit = 20, webhookId }, options) =>
      run(
        () =>
          service.deliveries(readId(WebhookId, webhookId), {
            limit: readCount("limit", limit),
            ...(after === undefined ? {} : { after: readId(DeliveryId, after) })
          }),
        options
      ),
    retry: ({ deliveryId, idempotency, webhookId }, options) =>
      run(() => service.retry(readId(WebhookId, webhookId), readId(DeliveryId, deliveryId), idempotency), options)
  })
  return { name: "webhooks", calls: (run: RunCall) => ({ webhooks: calls(run) }) }
})
