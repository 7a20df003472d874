/** `WebhookStore` in memory. */
import type { OwnerId } from "@colloquy/core"
import type { AnsweredOnce, DeliveryId, WebhookId } from "@colloquy/core/adapters"
import { WebhookStore } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import { storeFollowUps } from "./FollowUpStore.ts"
import { findKey, keepAnswer } from "./IdempotencyKeys.ts"
import { insertNew, ownedStep, ownedWrite, pageBehind, type State, step } from "./State.ts"

export const webhookStore = (state: State): typeof WebhookStore.Service => {
  const find = (ownerId: OwnerId, id: WebhookId) => {
    const row = state.webhooks.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }
  const findDelivery = (ownerId: OwnerId, id: DeliveryId) => {
    const row = state.deliveries.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }
  const all = (ownerId: OwnerId) => [...state.webhooks.values()].filter((row) => row.ownerId === ownerId)
  const isRepeated = (ownerId: OwnerId, once: AnsweredOnce | null, now: number) =>
    once !== null && findKey(state, ownerId, once.key, now) !== undefined
  const findDeliveries = (webhookId: WebhookId) =>
    [...state.deliveries.values()].map(({ delivery }) => delivery).filter((each) => each.webhookId === webhookId)

  return WebhookStore.of({
    insert: (webhook, most, once) =>
      ownedWrite(state, "WebhookStore.insert", (ownerId, now) => {
        if (isRepeated(ownerId, once, now)) return "repeated"
        if (all(ownerId).length >= most) return "too_many"
        insertNew(state.webhooks, webhook.id, { ownerId, mark: ++state.webhookMark, webhook })
        keepAnswer(state, ownerId, once, now)
        return "stored"
      }),
    get: (id) => ownedStep((ownerId) => Option.fromNullishOr(find(ownerId, id)?.webhook)),
    list: ({ after, limit }) =>
      ownedStep((ownerId) =>
        pageBehind(
          all(ownerId).map(({ webhook }) => webhook),
          limit,
          after
        )
      ),
    replace: (webhook, once) =>
      ownedWrite(state, "WebhookStore.replace", (ownerId, now) => {
        if (isRepeated(ownerId, once, now)) return "repeated"
        const row = find(ownerId, webhook.id)
        if (row?.webhook.revision !== webhook.revision - 1) return "changed"
        row.webhook = webhook
        keepAnswer(state, ownerId, once, now)
        return "stored"
      }),
    remove: (id) =>
      ownedStep((ownerId) => {
        if (find(ownerId, id) === undefined) return false
        for (const delivery of findDeliveries(id)) state.deliveries.delete(delivery.id)
        return state.webhooks.delete(id)
      }),
    owners: (after, limit) =>
      step(() =>
        [...state.webhooks.values()]
          .filter(({ mark }) => mark > after)
          .slice(0, limit)
          .map(({ mark, ownerId }) => ({ ownerId, mark }))
      ),
    insertDelivery: (delivery, followUp, keep) =>
      ownedWrite(state, "WebhookStore.insertDelivery", (ownerId, now) => {
        if (find(ownerId, delivery.webhookId) === undefined || state.deliveries.has(delivery.id)) return false
        state.deliveries.set(delivery.id, { ownerId, delivery })
        storeFollowUps(state, ownerId, now, [followUp])
        const atRest = findDeliveries(delivery.webhookId).filter(({ status }) => status !== "pending")
        for (const { id } of atRest.slice(0, Math.max(0, atRest.length - keep))) state.deliveries.delete(id)
        return true
      }),
    getDelivery: (id) => ownedStep((ownerId) => Option.fromNullishOr(findDelivery(ownerId, id)?.delivery)),
    listDeliveries: ({ after, limit, webhookId }) =>
      ownedStep((ownerId) =>
        find(ownerId, webhookId) === undefined ? [] : pageBehind(findDeliveries(webhookId), limit, after)
      ),
    record: ({ attempts, error, id, lastStatus, round, status, updatedAt }) =>
      ownedStep((ownerId) => {
        const row = findDelivery(ownerId, id)
        if (row?.delivery.round !== round) return false
        row.delivery = { ...row.delivery, attempts, error, lastStatus, status, updatedAt }
        return true
      }),
    retry: ({ id, round }, followUp, once) =>
      ownedWrite(state, "WebhookStore.retry", (ownerId, now) => {
        if (isRepeated(ownerId, once, now)) return "repeated"
        const row = findDelivery(ownerId, id)
        if (row?.delivery.round !== round) return "changed"
        row.delivery = { ...row.delivery, status: "pending", attempts: 0, round: round + 1 }
        storeFollowUps(state, ownerId, now, [followUp])
        keepAnswer(state, ownerId, once, now)
        return "stored"
      })
  })
}
