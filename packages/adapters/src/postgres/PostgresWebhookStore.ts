/** `WebhookStore` on PostgreSQL. A webhook is one JSON text; a delivery is two: what is sent, and what came of it. */
import { OwnerId, Principal } from "@colloquy/core"
import { Delivery, Webhook, type WebhookChange, WebhookStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Arguments, call, type Database, type Parameter } from "./Database.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import { onceArguments } from "./PostgresBranches.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, fromText, toText } from "./StoredText.ts"

interface DeliveryRow {
  readonly round: number
  readonly body: string
  readonly outcome: string
}

export const webhookStore = (database: Database): typeof WebhookStore.Service => {
  const { query, schema } = database
  const webhooks = `${schema}.webhooks`
  const deliveries = `${schema}.webhook_deliveries`

  /** The first value of a function's row. */
  const calls = <Value>(operation: string, name: string, args: Arguments) =>
    Effect.map(
      query<{ readonly value: Value }>(operation, `select ${call(database, name, args)} as value`, Object.values(args)),
      ([row]) => row?.value
    )
  const owned = <Row extends object>(operation: string, sql: string, args: ReadonlyArray<Parameter>) =>
    Principal.use(({ ownerId }) => query<Row>(operation, sql, [toText(ownerId), ...args]))
  const isFound = (rows: ReadonlyArray<object>) => rows.length > 0

  return WebhookStore.of({
    insert: (webhook, most, once) =>
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        const outcome = yield* calls<"stored" | "too_many" | "repeated">("WebhookStore.insert", "insert_webhook", {
          owner: toText(ownerId),
          id: newRowId(webhook.id),
          revision: webhook.revision,
          body: textOfWebhook(webhook),
          most,
          ...onceArguments(once)
        })
        return outcome ?? "too_many"
      }),
    get: (id) =>
      Effect.map(
        owned<{ readonly body: string }>(
          "WebhookStore.get",
          `select body from ${webhooks} where owner = $1 and id = $2`,
          [knownId(id)]
        ),
        ([row]) => Option.map(Option.fromNullishOr(row), toWebhook)
      ),
    list: ({ after, limit }) =>
      Effect.map(
        owned<{ readonly body: string }>(
          "WebhookStore.list",
          `select body from ${webhooks} where owner = $1 and ($3 or ordinal < (
             select ordinal from ${webhooks} where owner = $1 and id = $2
           )) order by ordinal desc limit $4`,
          [after === undefined ? null : knownId(after), after === undefined, limit]
        ),
        (rows) => rows.map(toWebhook)
      ),
    replace: (webhook, once) =>
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        const outcome = yield* calls<WebhookChange>("WebhookStore.replace", "replace_webhook", {
          owner: toText(ownerId),
          id: knownId(webhook.id),
          revision: webhook.revision,
          body: textOfWebhook(webhook),
          ...onceArguments(once)
        })
        return outcome ?? "changed"
      }),
    remove: (id) =>
      Effect.map(
        owned("WebhookStore.remove", `delete from ${webhooks} where owner = $1 and id = $2 returning id`, [
          knownId(id)
        ]),
        isFound
      ),
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
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        const isStored = yield* calls<boolean>("WebhookStore.insertDelivery", "insert_webhook_delivery", {
          owner: toText(ownerId),
          id: newRowId(delivery.id),
          webhook: knownId(delivery.webhookId),
          round: delivery.round,
          at_rest: delivery.status !== "pending",
          body: textOfDelivery(delivery),
          outcome: textOfOutcome(delivery),
          follow_ups: followUpsArgument([followUp]),
          keep
        })
        return isStored === true
      }),
    getDelivery: (id) =>
      Effect.map(
        owned<DeliveryRow>(
          "WebhookStore.getDelivery",
          `select round, body, outcome from ${deliveries} where owner = $1 and id = $2`,
          [knownId(id)]
        ),
        ([row]) => Option.map(Option.fromNullishOr(row), toDelivery)
      ),
    listDeliveries: ({ after, limit, webhookId }) =>
      Effect.map(
        owned<DeliveryRow>(
          "WebhookStore.listDeliveries",
          `select round, body, outcome from ${deliveries} where owner = $1 and webhook_id = $2 and ($4 or ordinal < (
             select ordinal from ${deliveries} where owner = $1 and id = $3
           )) order by ordinal desc limit $5`,
          [knownId(webhookId), after === undefined ? null : knownId(after), after === undefined, limit]
        ),
        (rows) => rows.map(toDelivery)
      ),
    record: (outcome) =>
      Effect.map(
        owned(
          "WebhookStore.record",
          `update ${deliveries} set at_rest = $4, outcome = $5 where owner = $1 and id = $2 and round = $3 returning id`,
          [knownId(outcome.id), outcome.round, outcome.status !== "pending", textOfOutcome(outcome)]
        ),
        isFound
      ),
    retry: ({ id, round }, followUp, once) =>
      Effect.gen(function* () {
        const { ownerId } = yield* Principal
        const outcome = yield* calls<WebhookChange>("WebhookStore.retry", "retry_webhook_delivery", {
          owner: toText(ownerId),
          id: knownId(id),
          round,
          follow_ups: followUpsArgument([followUp]),
          ...onceArguments(once)
        })
        return outcome ?? "changed"
      })
  })
}

const webhookCodec = Schema.toCodecJson(Webhook)
const encodeWebhook = Schema.encodeSync(webhookCodec)
const decodeWebhook = Schema.decodeUnknownSync(webhookCodec)
const textOfWebhook = (webhook: Webhook): string => JSON.stringify(encodeWebhook(webhook))
const toWebhook = ({ body }: { readonly body: string }): Webhook => decodeWebhook(fromJson(body))

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
