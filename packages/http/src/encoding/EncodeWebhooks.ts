/** Webhooks as records of the wire, without their secrets. */
import type { Webhook as KernelWebhook } from "@colloquy/core/wings"
import { writeTimestamp } from "../wire/Fields.ts"
import type { Webhook } from "../wire/WebhookRecords.ts"

export const webhookToWire = (webhook: KernelWebhook): Webhook => ({
  webhook_id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  description: webhook.description,
  include_content: webhook.includeContent,
  created_at: writeTimestamp(webhook.createdAt),
  updated_at: writeTimestamp(webhook.updatedAt)
})
