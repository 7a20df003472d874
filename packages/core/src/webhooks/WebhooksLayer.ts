/**
 * Webhooks: the use cases, and what turns an event into a follow-up. A turn must not ask the store whether its owner has webhooks, so each
 * process knows the owners who have (or had) any, and asks the store every few seconds for new ones. Until the first answer everybody may
 * have some: the follow-up of an owner without webhooks finds none.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { type DeliveryId, newId, type OwnerId, WebhookId } from "../primitives/Ids.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { InboxStore } from "../runs/InboxStore.ts"
import { OwnerEvents } from "../runs/OwnerEvents.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import { RunStore } from "../runs/RunStore.ts"
import { answeredBefore, firstAnswer, keptAnswer } from "../runs/AnsweredBefore.ts"
import { type FollowUpOrder, newFollowUp } from "../runs/FollowUp.ts"
import type { TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { deliveryWork, eventKind, type EventPayload, now, secretContext, registerWorkers } from "./Deliveries.ts"
import { newSecret } from "./Signature.ts"
import {
  Delivery,
  DeliveryNotFound,
  SecretUnreadable,
  TooManyWebhooks,
  Webhook,
  WebhookEvent,
  WebhookNotFound,
  WebhookRefused
} from "./Webhook.ts"
import { type NewWebhook, Webhooks } from "./Webhooks.ts"
import { WebhookSecrets, WebhookSender } from "./WebhookSender.ts"
import { WebhookSettings } from "./WebhookSettings.ts"
import { type WebhookPage, WebhookStore } from "./WebhookStore.ts"

const longestUrl = 2000
const longestDescription = 500
const ownersAtOnce = 1000
/** How many secrets of before sign as well, however often they are rotated. */
const mostSecrets = 4

const isEvent = Schema.is(WebhookEvent)
const Plan = Schema.Struct({})

/** The answers that a repeat gets. A webhook is kept with its encrypted secrets, of which the first one was shown. */
const webhookAnswer = Schema.toCodecJson(Webhook)
const encodeWebhook = Schema.encodeSync(webhookAnswer)
const decodeWebhook = Schema.decodeUnknownOption(webhookAnswer)
const deliveryAnswer = Schema.toCodecJson(Delivery)
const encodeDelivery = Schema.encodeSync(deliveryAnswer)
const decodeDelivery = Schema.decodeUnknownOption(deliveryAnswer)

export const layerWebhooks: Layer.Layer<
  Webhooks,
  never,
  FollowUps | InboxStore | OwnerEvents | RunStore | TurnParts | WebhookSecrets | WebhookSender | WebhookStore
> = Layer.effect(
  Webhooks,
  Effect.gen(function* () {
    const store = yield* WebhookStore
    const runs = yield* RunStore
    const sender = yield* WebhookSender
    const secrets = yield* WebhookSecrets
    const followUps = yield* FollowUps
    const settings = yield* WebhookSettings
    yield* registerWorkers

    // ------ who wants to hear of events

    const owners = new Set<OwnerId>()
    let newest = 0
    let isKnown = false
    const readOwners = Effect.gen(function* () {
      while (true) {
        const found = yield* store.owners(newest, ownersAtOnce)
        for (const { mark, ownerId } of found) {
          owners.add(ownerId)
          newest = mark
        }
        if (found.length < ownersAtOnce) break
      }
      isKnown = true
    })
    yield* readOwners.pipe(
      Effect.catchCause((cause) => Effect.logWarning("Webhooks could not be read; the store is asked again", cause)),
      Effect.andThen(Effect.sleep(settings.poll)),
      Effect.forever,
      Effect.forkScoped
    )
    const mayWant = Principal.use(({ ownerId }) => Effect.sync(() => !isKnown || owners.has(ownerId)))

    const toOrder = (payload: typeof EventPayload.Encoded): FollowUpOrder => ({
      kind: eventKind,
      key: `${payload.type}:${payload.key}`,
      payload
    })

    const part: TurnPart<typeof Plan.Type> = {
      name: "webhooks",
      plan: Plan,
      decide: () => Effect.map(mayWant, (isWanted) => (isWanted ? { plan: {} } : null)),
      followUps: (_, ended) => {
        const type = typeOfStatus[ended.status]
        if (type === undefined || ended.status === "SAVED") return []
        const { leg, runId } = ended
        return [toOrder({ type, key: `${runId}:${leg.messageId}`, runId, record: null })]
      }
    }
    yield* (yield* TurnParts).register(part)
    yield* (yield* OwnerEvents).register(({ content, data, key, type }) =>
      Effect.flatMap(mayWant, (isWanted) =>
        isWanted ? newFollowUp(toOrder({ type, key, runId: null, record: { data, content } })) : Effect.succeed(null)
      )
    )

    // ------ use cases

    const find = Effect.fnUntraced(function* (id: WebhookId) {
      const found = yield* store.get(id)
      return Option.isSome(found) ? found.value : yield* new WebhookNotFound({ webhookId: id })
    })

    const problems = ({ description, events, url }: Partial<NewWebhook>): WebhookRefused["problems"] => {
      const found: Array<WebhookRefused["problems"][number]> = []
      if (url !== undefined) {
        const message = url.length > longestUrl ? `It has more than ${longestUrl} characters.` : sender.problem(url)
        if (message !== null) found.push({ field: "url", message })
      }
      if (events !== undefined && (events.length === 0 || !events.every(isEvent)))
        found.push({ field: "events", message: `Give at least one of ${WebhookEvent.literals.join(", ")}.` })
      if ((description?.length ?? 0) > longestDescription)
        found.push({ field: "description", message: `It has more than ${longestDescription} characters.` })
      return found
    }

    const checked = (webhook: Webhook): Effect.Effect<Webhook, WebhookRefused> => {
      const found = problems(webhook)
      return found.length === 0 ? Effect.succeed(webhook) : Effect.fail(new WebhookRefused({ problems: found }))
    }

    const sealed = Effect.fnUntraced(function* (id: WebhookId) {
      const { ownerId } = yield* Principal
      const secret = yield* newSecret
      return { secret, kept: { sealed: yield* secrets.seal(secret, secretContext(ownerId, { id })), until: null } }
    })

    /** The webhook of an answer with its secret, as it was then. */
    const shownAgain = Effect.fnUntraced(function* (webhook: Webhook) {
      const { ownerId } = yield* Principal
      const [kept] = webhook.secrets
      const secret = kept === undefined ? null : yield* secrets.open(kept.sealed, secretContext(ownerId, webhook))
      return secret === null ? yield* new SecretUnreadable({ webhookId: webhook.id }) : { webhook, secret }
    })

    /** Of two changes at once the later one is made to what the other has left. */
    const changed = Effect.fnUntraced(function* <E, R>(
      id: WebhookId,
      change: (webhook: Webhook, at: Date) => Effect.Effect<Webhook, E, R>,
      idempotency?: IdempotencyKey
    ) {
      while (true) {
        const before = yield* find(id)
        const at = yield* now
        const made = yield* change(before, at)
        const after = { ...made, revision: before.revision + 1, updatedAt: at }
        const stored = yield* store.replace(after, keptAnswer(idempotency, encodeWebhook(after)))
        if (stored !== "changed") return { after, isRepeated: stored === "repeated" }
      }
    })

    return Webhooks.of({
      problems,
      create: tracedFn("Webhooks.create")(function* (asked: NewWebhook, idempotency?: IdempotencyKey) {
        const answered = yield* answeredBefore(runs, idempotency, decodeWebhook)
        const { ownerId } = yield* Principal
        // This process tells events from now on, also where another one has made the webhook.
        owners.add(ownerId)
        if (answered !== undefined) return yield* shownAgain(answered)
        const at = yield* now
        const id = yield* newId(WebhookId)
        const { kept, secret } = yield* sealed(id)
        const webhook = yield* checked({
          id,
          url: asked.url,
          events: [...new Set(asked.events)],
          description: asked.description ?? null,
          includeContent: asked.includeContent ?? false,
          secrets: [kept],
          revision: 1,
          createdAt: at,
          updatedAt: at
        })
        const stored = yield* store.insert(webhook, settings.most, keptAnswer(idempotency, encodeWebhook(webhook)))
        if (stored === "repeated") return yield* shownAgain(yield* firstAnswer(runs, idempotency, decodeWebhook))
        if (stored === "too_many") return yield* new TooManyWebhooks({ limit: settings.most })
        return { webhook, secret }
      }),
      get: tracedFn("Webhooks.get")(function* (id: WebhookId) {
        return yield* find(id)
      }),
      list: tracedFn("Webhooks.list")(function* (page: WebhookPage) {
        const found = yield* store.list({ ...page, limit: page.limit + 1 })
        const webhooks = found.slice(0, page.limit)
        return { webhooks, next: found.length > webhooks.length ? (webhooks.at(-1)?.id ?? null) : null }
      }),
      update: tracedFn("Webhooks.update")(function* (id: WebhookId, change: Partial<NewWebhook>) {
        const { after } = yield* changed(id, (before) =>
          checked({
            ...before,
            url: change.url ?? before.url,
            events: change.events === undefined ? before.events : [...new Set(change.events)],
            description: change.description === undefined ? before.description : change.description,
            includeContent: change.includeContent ?? before.includeContent
          })
        )
        return after
      }),
      remove: tracedFn("Webhooks.remove")(function* (id: WebhookId) {
        if (!(yield* store.remove(id))) return yield* new WebhookNotFound({ webhookId: id })
      }),
      rotate: tracedFn("Webhooks.rotate")(function* (id: WebhookId, idempotency?: IdempotencyKey) {
        const answered = yield* answeredBefore(runs, idempotency, decodeWebhook)
        if (answered !== undefined) return yield* shownAgain(answered)
        const { kept, secret } = yield* sealed(id)
        const withSecret = (before: Webhook, at: Date) => {
          const until = new Date(at.getTime() + Duration.toMillis(settings.overlap))
          const earlier = before.secrets
            .map((each) => ({ ...each, until: each.until ?? until }))
            .filter((each) => each.until > at)
          return Effect.succeed({ ...before, secrets: [kept, ...earlier.slice(0, mostSecrets)] })
        }
        const { after, isRepeated } = yield* changed(id, withSecret, idempotency)
        return isRepeated
          ? yield* shownAgain(yield* firstAnswer(runs, idempotency, decodeWebhook))
          : { webhook: after, secret }
      }),
      deliveries: tracedFn("Webhooks.deliveries")(function* (
        id: WebhookId,
        page: { readonly limit: number; readonly after?: DeliveryId }
      ) {
        yield* find(id)
        const found = yield* store.listDeliveries({ webhookId: id, ...page, limit: page.limit + 1 })
        const deliveries = found.slice(0, page.limit)
        return { deliveries, next: found.length > deliveries.length ? (deliveries.at(-1)?.id ?? null) : null }
      }),
      retry: tracedFn("Webhooks.retry")(function* (
        id: WebhookId,
        deliveryId: DeliveryId,
        idempotency?: IdempotencyKey
      ) {
        const answered = yield* answeredBefore(runs, idempotency, decodeDelivery)
        if (answered !== undefined) return answered
        yield* find(id)
        while (true) {
          const found = Option.getOrUndefined(yield* store.getDelivery(deliveryId))
          if (found?.webhookId !== id) return yield* new DeliveryNotFound({ deliveryId })
          const round = found.round + 1
          const again: Delivery = { ...found, status: "pending", attempts: 0, round }
          const once = keptAnswer(idempotency, encodeDelivery(again))
          const stored = yield* store.retry(found, yield* deliveryWork(deliveryId, round), once)
          if (stored === "repeated") return yield* firstAnswer(runs, idempotency, decodeDelivery)
          followUps.wake()
          // Another caller at the same moment began another round: this one begins the next.
          if (stored === "stored") return again
        }
      })
    })
  })
)

const typeOfStatus: { readonly [Status in string]?: "run.completed" | "run.failed" | "run.requires_action" } = {
  COMPLETED: "run.completed",
  FAILED: "run.failed",
  REQUIRES_ACTION: "run.requires_action"
}
