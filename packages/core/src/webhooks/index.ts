/** Webhooks: events of an owner, sent to addresses of the owner. A separate wing, `@colloquy/core/webhooks`. */
import { wingLayers } from "../primitives/WingLayer.ts"
import { layerWebhooks } from "./WebhooksLayer.ts"
import { Webhooks as UseCases } from "./Webhooks.ts"
import { WebhookSettings } from "./WebhookSettings.ts"

export {
  Delivery,
  DeliveryNotFound,
  DeliveryStatus,
  SecretUnreadable,
  TooManyWebhooks,
  Webhook,
  WebhookEvent,
  WebhookNotFound,
  WebhookRefused
} from "./Webhook.ts"
export type { DeliveryList, NewWebhook, WebhookList, WebhookWithSecret } from "./Webhooks.ts"
export { NotSent, type WebhookRequest, WebhookSecrets, WebhookSender } from "./WebhookSender.ts"
export type { WebhookSettings } from "./WebhookSettings.ts"
export {
  type DeliveryOutcome,
  type DeliveryPage,
  type WebhookChange,
  type WebhookOwner,
  type WebhookPage,
  WebhookStore
} from "./WebhookStore.ts"

/** The use cases, and the whole wing: `Webhooks.layer()` over `Kernel.layer` and a sender. It gives `Webhooks`. */
export const Webhooks = Object.assign(UseCases, wingLayers(WebhookSettings, layerWebhooks, { positive: ["poll"] }))
export type Webhooks = UseCases
