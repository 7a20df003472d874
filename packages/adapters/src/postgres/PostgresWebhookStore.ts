/** `WebhookStore` on PostgreSQL. A webhook is one JSON text. A delivery is two: the request that is sent, and its result. */
import { OwnerId } from "@colloquy/core"
import { Delivery, Webhook, type WebhookChange, WebhookStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Database } from "./Database.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import { onceArguments } from "./PostgresBranches.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { storedCount } from "./schema/SchemaPart.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, fromText } from "./StoredText.ts"

interface WebhookRow {
  readonly body: string
}

interface DeliveryRow {
  readonly round: number
  readonly body: string
  readonly outcome: string
}

export const webhookStore = (database: Database): typeof WebhookStore.Service => {
  const { query, schema } = database
  const webhooks = `${schema}.webhooks`
  const deliveries = `${schema}.webhook_deliveries`

  const own = ownedStatements(database, "WebhookStore")

  return WebhookStore.of({
    insert: (webhook, most, once) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<"stored" | "too_many" | "repeated">("insert", "insert_webhook", {
            id: newRowId(webhook.id),
            revision: webhook.revision,
            body: textOfWebhook(webhook),
            most,
            ...onceArguments(once)
          }),
          (outcome) => outcome ?? "too_many"
        )
      ),
    get: (id) =>
      own.first("get", `select body from ${webhooks} where owner = $1 and id = $2`, [knownId(id)], toWebhook),
    list: ({ after, limit }) =>
      Effect.map(
        own.rows<WebhookRow>(
          "list",
          `select body from ${webhooks} where owner = $1 and ($3 or ordinal < (
             select ordinal from ${webhooks} where owner = $1 and id = $2
           )) order by ordinal desc limit $4`,
          [after === undefined ? null : knownId(after), after === undefined, limit]
        ),
        (rows) => rows.map(toWebhook)
      ),
    replace: (webhook, once) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<WebhookChange>("replace", "replace_webhook", {
            id: knownId(webhook.id),
            revision: webhook.revision,
            body: textOfWebhook(webhook),
            ...onceArguments(once)
          }),
          (outcome) => outcome ?? "changed"
        )
      ),
    remove: (id) =>
      own.finds("remove", `delete from ${webhooks} where owner = $1 and id = $2 returning id`, [knownId(id)]),
    owners: (after, limit) =>
      Effect.map(
        query<{ readonly owner: string; readonly ordinal: number }>(
          "WebhookStore.owners",
          `select owner, ordinal::float8 as ordinal from ${webhooks} where ordinal > $1 order by ordinal limit $2`,
          [after, limit]
        ),
        (rows) => rows.map(({ ordinal, owner }) => ({ ownerId: OwnerId.make(fromText(owner)), mark: ordinal }))
      ),
    insertDelivery: (delivery, followUp, keep) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<boolean>("insertDelivery", "insert_webhook_delivery", {
            id: newRowId(delivery.id),
            webhook: knownId(delivery.webhookId),
            round: delivery.round,
            at_rest: delivery.status !== "pending",
            body: textOfDelivery(delivery),
            outcome: textOfOutcome(delivery),
            follow_ups: followUpsArgument([followUp]),
            keep: storedCount(keep)
          }),
          (isStored) => isStored === true
        )
      ),
    getDelivery: (id) =>
      own.first(
        "getDelivery",
        `select round, body, outcome from ${deliveries} where owner = $1 and id = $2`,
        [knownId(id)],
        toDelivery
      ),
    listDeliveries: ({ after, limit, webhookId }) =>
      Effect.map(
        own.rows<DeliveryRow>(
          "listDeliveries",
          `select round, body, outcome from ${deliveries} where owner = $1 and webhook_id = $2 and ($4 or ordinal < (
             select ordinal from ${deliveries} where owner = $1 and id = $3 and webhook_id = $2
           )) order by ordinal desc limit $5`,
          [knownId(webhookId), after === undefined ? null : knownId(after), after === undefined, limit]
        ),
        (rows) => rows.map(toDelivery)
      ),
    record: (outcome) =>
      own.finds(
        "record",
        `update ${deliveries} set at_rest = $4, outcome = $5 where owner = $1 and id = $2 and round = $3 returning id`,
        [knownId(outcome.id), outcome.round, outcome.status !== "pending", textOfOutcome(outcome)]
      ),
    retry: ({ id, round }, followUp, once) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<WebhookChange>("retry", "retry_webhook_delivery", {
            id: knownId(id),
            round,
            follow_ups: followUpsArgument([followUp]),
            ...onceArguments(once)
          }),
          (outcome) => outcome ?? "changed"
        )
      )
  })
}

const webhookCodec = Schema.toCodecJson(Webhook)
const encodeWebhook = Schema.encodeSync(webhookCodec)
const decodeWebhook = Schema.decodeUnknownSync(webhookCodec)
const textOfWebhook = (webhook: Webhook): string => JSON.stringify(encodeWebhook(webhook))
const toWebhook = ({ body }: WebhookRow): Webhook => decodeWebhook(fromJson(body))

const Outcome = Schema.toCodecJson(
  Schema.Struct({
    status: Delivery.fields.status,
    attempts: Delivery.fields.attempts,
    lastStatus: Delivery.fields.lastStatus,
    error: Delivery.fields.error,
    updatedAt: Delivery.fields.updatedAt
  })
)
const encodeOutcome = Schema.encodeSync(Outcome)
const decodeOutcome = Schema.decodeUnknownSync(Outcome)
const textOfOutcome = ({ attempts, error, lastStatus, status, updatedAt }: typeof Outcome.Type): string =>
  JSON.stringify(encodeOutcome({ attempts, error, lastStatus, status, updatedAt }))

const deliveryCodec = Schema.toCodecJson(Delivery)
const encodeDelivery = Schema.encodeSync(deliveryCodec)
const decodeDelivery = Schema.decodeUnknownSync(deliveryCodec)
const textOfDelivery = (delivery: Delivery): string => JSON.stringify(encodeDelivery(delivery))
const toDelivery = ({ body, outcome, round }: DeliveryRow): Delivery => ({
  ...decodeDelivery(fromJson(body)),
  ...decodeOutcome(fromJson(outcome)),
  round
})
