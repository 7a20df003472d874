/**
 * How an event reaches its webhooks. The follow-up `webhooks.event` is stored with what it tells of; it makes a delivery for each webhook
 * that wants the event. The follow-up `webhooks.deliver` of a delivery sends it, again after growing pauses. Both may run more than once: the
 * ids of event and delivery are the same then, so a delivery is made once, and sent at least once.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { DeliveryId, RunId, type WebhookId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { newFollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import { InboxStore } from "../runs/InboxStore.ts"
import { summaryRecord } from "../runs/SummaryRecord.ts"
import { idOfWords, signedHeaders } from "./Signature.ts"
import { type Delivery, type Webhook, WebhookEvent } from "./Webhook.ts"
import { WebhookSecrets, WebhookSender } from "./WebhookSender.ts"
import { WebhookSettings } from "./WebhookSettings.ts"
import { type DeliveryOutcome, WebhookStore } from "./WebhookStore.ts"

export const eventKind = "webhooks.event"
const deliverKind = "webhooks.deliver"

/** `record`: what is told. Null: that of the run, which is read when it is told. */
export const EventPayload = Schema.Struct({
  type: WebhookEvent,
  key: Schema.String,
  runId: Schema.NullOr(RunId),
  record: Schema.NullOr(Schema.Struct({ data: Schema.JsonObject, content: Schema.JsonObject }))
})
type EventPayload = typeof EventPayload.Type

const DeliverPayload = Schema.Struct({ deliveryId: DeliveryId, round: Schema.Int })
const readDeliver = Schema.decodeUnknownOption(DeliverPayload)

/** Between the attempts of a delivery. After the last one it is dead. */
const pauses = ["5 seconds", "30 seconds", "5 minutes", "1 hour", "6 hours"] as const

const webhooksAtOnce = 100

export const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

/** The work of one round of a delivery. */
export const deliveryWork = (deliveryId: DeliveryId, round: number) =>
  newFollowUp({ kind: deliverKind, key: `${deliveryId}:${round}`, payload: { deliveryId, round } })

export const secretContext = (ownerId: string, { id }: Pick<Webhook, "id">): string =>
  JSON.stringify(["webhook", ownerId, id])

export const registerWorkers = Effect.gen(function* () {
  const store = yield* WebhookStore
  const inbox = yield* InboxStore
  const sender = yield* WebhookSender
  const secrets = yield* WebhookSecrets
  const followUps = yield* FollowUps
  const settings = yield* WebhookSettings

  /** Also those of an owner who has more than may be made by now. */
  const all = (after?: WebhookId): Effect.Effect<ReadonlyArray<Webhook>, StoreUnavailable, Principal> =>
    Effect.flatMap(store.list({ limit: webhooksAtOnce, ...(after === undefined ? {} : { after }) }), (page) =>
      page.length < webhooksAtOnce
        ? Effect.succeed(page)
        : Effect.map(all(page.at(-1)?.id), (rest) => [...page, ...rest])
    )

  /** The record of a run as the event tells it, also when the run is in another state by now. Null: the run is gone. */
  const recordOfRun = Effect.fnUntraced(function* (runId: RunId, type: WebhookEvent) {
    const run = yield* inbox.summary(runId)
    if (run === null) return null
    const { content_preview, fault, ...record } = summaryRecord(run)
    const status = statusOfEvent[type] ?? run.status
    const isEnded = status !== "REQUIRES_ACTION"
    const data = {
      ...record,
      status,
      ended_at: isEnded ? record.ended_at : null,
      content_preview: null,
      fault: fault === null || !isEnded ? null : { ...fault, detail: null }
    }
    return { data, content: { content_preview, fault: isEnded ? fault : null } }
  })

  yield* followUps.register(
    typedWorker({
      kind: eventKind,
      payload: EventPayload,
      // No record waits: the follow-up is stored with what it tells of.
      run: Effect.fnUntraced(function* ({ key, record, runId, type }: EventPayload, { createdAt }) {
        const { ownerId } = yield* Principal
        const webhooks = (yield* all()).filter(({ events }) => events.includes(type))
        if (webhooks.length === 0) return
        const told = runId === null ? record : yield* recordOfRun(runId, type)
        if (told === null) return
        const eventId = `evt_${yield* idOfWords(ownerId, type, key)}`
        for (const webhook of webhooks) {
          const data = webhook.includeContent ? { ...told.data, ...told.content } : told.data
          const at = yield* now
          const delivery: Delivery = {
            id: DeliveryId.make(yield* idOfWords(eventId, webhook.id)),
            webhookId: webhook.id,
            eventId,
            type,
            body: JSON.stringify({ type, timestamp: createdAt.toISOString(), data }),
            status: "pending",
            attempts: 0,
            round: 1,
            lastStatus: null,
            error: null,
            createdAt: at,
            updatedAt: at
          }
          yield* store.insertDelivery(delivery, yield* deliveryWork(delivery.id, 1), settings.keptDeliveries)
        }
        followUps.wake()
      })
    })
  )

  const validSecrets = Effect.fnUntraced(function* (webhook: Webhook, at: Date) {
    const { ownerId } = yield* Principal
    const valid = webhook.secrets.filter(({ until }) => until === null || until > at)
    const opened = yield* Effect.forEach(valid, ({ sealed }) => secrets.open(sealed, secretContext(ownerId, webhook)))
    return opened.filter((secret): secret is Redacted.Redacted<string> => secret !== null)
  })

  /** One attempt: the status of the answer, or why there was none. */
  const attempt = Effect.fnUntraced(function* (webhook: Webhook, { body, eventId }: Delivery) {
    const at = yield* now
    const known = yield* validSecrets(webhook, at)
    if (known.length === 0) {
      return { status: null, error: "The secret cannot be read any more. Rotate it.", isFinal: true }
    }
    const headers = yield* signedHeaders(known, { id: eventId, at, body })
    return yield* sender.send({ url: webhook.url, headers, body }).pipe(
      Effect.map((status) => {
        const error = status >= 200 && status < 300 ? null : `The address answered with status ${status}.`
        return { status, error, isFinal: false }
      }),
      Effect.catch(({ isFinal, message }) => Effect.succeed({ status: null, error: message, isFinal }))
    )
  })

  yield* followUps.register(
    typedWorker({
      kind: deliverKind,
      payload: DeliverPayload,
      // No record waits: the follow-up is stored with the delivery.
      run: Effect.fnUntraced(function* ({ deliveryId, round }) {
        const delivery = Option.getOrUndefined(yield* store.getDelivery(deliveryId))
        if (delivery?.status !== "pending" || delivery.round !== round) return
        const webhook = Option.getOrUndefined(yield* store.get(delivery.webhookId))
        if (webhook === undefined) return
        const { error, isFinal, status } = yield* attempt(webhook, delivery)
        const attempts = delivery.attempts + 1
        const pause = error === null || isFinal ? undefined : pauses[attempts - 1]
        const outcome: DeliveryOutcome = {
          id: deliveryId,
          round,
          attempts,
          lastStatus: status,
          error,
          status: error === null ? "delivered" : pause === undefined ? "dead" : "pending",
          updatedAt: yield* now
        }
        const isCurrent = yield* store.record(outcome)
        if (error === null || pause === undefined || !isCurrent) return
        // The delivery counts its attempts itself.
        return yield* new FollowUpFailed({
          message: error,
          isRetryable: true,
          isOutage: true,
          pauseMillis: Duration.toMillis(pause)
        })
      }),
      giveUp: Effect.fnUntraced(function* ({ payload }, error) {
        const known = Option.getOrUndefined(readDeliver(payload))
        const delivery = known && Option.getOrUndefined(yield* store.getDelivery(known.deliveryId))
        if (delivery?.status !== "pending" || delivery.round !== known?.round) return
        yield* store.record({ ...delivery, status: "dead", error, updatedAt: yield* now })
      })
    })
  )
})

const statusOfEvent: { readonly [Type in WebhookEvent]?: "COMPLETED" | "FAILED" | "REQUIRES_ACTION" } = {
  "run.completed": "COMPLETED",
  "run.failed": "FAILED",
  "run.requires_action": "REQUIRES_ACTION"
}
