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
import { ordered } from "../turns/PartFollowUps.ts"
import type { FollowUpOrder, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { deliveryWork, eventKind, type EventPayload, now, placeOfSecret, registerWorkers } from "./Deliveries.ts"
import { newSecret } from "./Signature.ts"
import {
  DeliveryNotFound,
  TooManyWebhooks,
  type Webhook,
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

export const layerWebhooks: Layer.Layer<
  Webhooks,
  never,
  FollowUps | InboxStore | OwnerEvents | TurnParts | WebhookSecrets | WebhookSender | WebhookStore
> = Layer.effect(
  Webhooks,
  Effect.gen(function* () {
    const store = yield* WebhookStore
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

    const orderOf = (payload: typeof EventPayload.Encoded): FollowUpOrder => ({
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
        return [orderOf({ type, key: `${runId}:${leg.messageId}`, runId, record: null })]
      }
    }
    yield* (yield* TurnParts).register(part)
    yield* (yield* OwnerEvents).register(({ content, data, key, type }) =>
      Effect.flatMap(mayWant, (isWanted) =>
        isWanted
          ? Effect.map(
              ordered([orderOf({ type, key, runId: null, record: { data, content } })]),
              ([work]) => work ?? null
            )
          : Effect.succeed(null)
      )
    )

    // ------ use cases

    const find = Effect.fnUntraced(function* (id: WebhookId) {
      const found = yield* store.get(id)
      return Option.isSome(found) ? found.value : yield* new WebhookNotFound({ webhookId: id })
    })

    const checked = (webhook: Webhook): Effect.Effect<Webhook, WebhookRefused> => {
      const problems: Array<WebhookRefused["problems"][number]> = []
      const url =
        webhook.url.length > longestUrl ? `It has more than ${longestUrl} characters.` : sender.problem(webhook.url)
      if (url !== null) problems.push({ field: "url", message: url })
      if (webhook.events.length === 0 || !webhook.events.every(isEvent))
        problems.push({ field: "events", message: `Give at least one of ${WebhookEvent.literals.join(", ")}.` })
      if ((webhook.description?.length ?? 0) > longestDescription)
        problems.push({ field: "description", message: `It has more than ${longestDescription} characters.` })
      return problems.length === 0 ? Effect.succeed(webhook) : Effect.fail(new WebhookRefused({ problems }))
    }

    const sealed = Effect.fnUntraced(function* (id: WebhookId) {
      const { ownerId } = yield* Principal
      const secret = yield* newSecret
      return { secret, kept: { sealed: yield* secrets.seal(secret, placeOfSecret(ownerId, { id })), until: null } }
    })

    /** Of two changes at once the later one is made to what the other has left. */
    const changed = <E, R>(id: WebhookId, change: (webhook: Webhook, at: Date) => Effect.Effect<Webhook, E, R>) =>
      Effect.gen(function* () {
        while (true) {
          const before = yield* find(id)
          const at = yield* now
          const made = yield* change(before, at)
          const after = { ...made, revision: before.revision + 1, updatedAt: at }
          if (yield* store.replace(after)) return after
        }
      })

    return Webhooks.of({
      create: tracedFn("Webhooks.create")(function* (asked: NewWebhook) {
        const { ownerId } = yield* Principal
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
        if ((yield* store.insert(webhook, settings.most)) === "too_many")
          return yield* new TooManyWebhooks({ limit: settings.most })
        owners.add(ownerId)
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
        return yield* changed(id, (before) =>
          checked({
            ...before,
            url: change.url ?? before.url,
            events: change.events === undefined ? before.events : [...new Set(change.events)],
            description: change.description === undefined ? before.description : change.description,
            includeContent: change.includeContent ?? before.includeContent
          })
        )
      }),
      remove: tracedFn("Webhooks.remove")(function* (id: WebhookId) {
        if (!(yield* store.remove(id))) return yield* new WebhookNotFound({ webhookId: id })
      }),
      rotate: tracedFn("Webhooks.rotate")(function* (id: WebhookId) {
        const { kept, secret } = yield* sealed(id)
        const webhook = yield* changed(id, (before, at) => {
          const until = new Date(at.getTime() + Duration.toMillis(settings.overlap))
          const earlier = before.secrets
            .map((each) => ({ ...each, until: each.until ?? until }))
            .filter((each) => each.until > at)
          return Effect.succeed({ ...before, secrets: [kept, ...earlier.slice(0, mostSecrets)] })
        })
        return { webhook, secret }
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
      retry: tracedFn("Webhooks.retry")(function* (id: WebhookId, deliveryId: DeliveryId) {
        yield* find(id)
        const found = Option.getOrUndefined(yield* store.getDelivery(deliveryId))
        if (found?.webhookId !== id) return yield* new DeliveryNotFound({ deliveryId })
        // Another caller that asks at the same moment has the delivery sent again too.
        yield* store.retry(found, yield* deliveryWork(deliveryId, found.round + 1))
        followUps.wake()
        const after = yield* store.getDelivery(deliveryId)
        return Option.isSome(after) ? after.value : yield* new DeliveryNotFound({ deliveryId })
      })
    })
  })
)

const typeOfStatus: { readonly [Status in string]?: "run.completed" | "run.failed" | "run.requires_action" } = {
  COMPLETED: "run.completed",
  FAILED: "run.failed",
  REQUIRES_ACTION: "run.requires_action"
}
