/** How a host changes the wing `webhooks`. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface WebhookSettings {
  /** How often the store is asked for owners who have their first webhook. Other processes tell events at most this much later. */
  readonly poll: Duration.Input
  /** How many webhooks one owner may have. */
  readonly most: number
  /** How many deliveries of a webhook are kept after their end. */
  readonly keptDeliveries: number
  /** How long the secret of before a rotation signs as well. */
  readonly overlap: Duration.Input
}

export const WebhookSettings = Context.Reference<WebhookSettings>("@colloquy/core/webhooks/WebhookSettings", {
  defaultValue: () => ({ poll: "5 seconds", most: 20, keptDeliveries: 500, overlap: "24 hours" })
})
