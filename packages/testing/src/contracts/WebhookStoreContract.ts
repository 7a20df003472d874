/** The contract of `WebhookStore`, as a separate suite: only hosts with the wing `webhooks` need the store. */
import { Principal } from "@colloquy/core"
import {
  DeliveryId,
  FollowUpId,
  FollowUpStore,
  newId,
  type OwnerStore,
  RunStore,
  type ThreadStore,
  type AssistantStore,
  WebhookId
} from "@colloquy/core/adapters"
import { type Delivery, type Webhook, WebhookStore } from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Sentence, storeSuite } from "./ContractTest.ts"
import { eraseEverything } from "./Erasing.ts"
import { asNewOwner, awkwardJson, moment } from "./Samples.ts"
import { refusedWhileErasing, tenTimes } from "./Scenes.ts"

const nine = <A>(each: A): ReadonlyArray<A> => Array.from({ length: 9 }, () => each)

type Needed = AssistantStore | FollowUpStore | OwnerStore | RunStore | ThreadStore | WebhookStore

const kind = "webhooks.sample"

const sample = Effect.fnUntraced(function* (fields: Partial<Webhook> = {}) {
  const webhook: Webhook = {
    id: yield* newId(WebhookId),
    url: "https://example.com/hook",
    events: ["run.completed", "document.indexed"],
    description: null,
    includeContent: false,
    secrets: [{ sealed: "c2VhbGVk", until: null }],
    revision: 1,
    createdAt: moment(1),
    updatedAt: moment(1),
    ...fields
  }
  return webhook
})

const stored = Effect.fnUntraced(function* (fields: Partial<Webhook> = {}) {
  const webhook = yield* sample(fields)
  assert.strictEqual(yield* (yield* WebhookStore).insert(webhook, 100, null), "stored")
  return webhook
})

const sampleDelivery = Effect.fnUntraced(function* (webhookId: WebhookId, fields: Partial<Delivery> = {}) {
  const delivery: Delivery = {
    id: yield* newId(DeliveryId),
    webhookId,
    eventId: "evt_1",
    type: "run.completed",
    body: '{"text":"nul \\u0000"}',
    status: "pending",
    attempts: 0,
    round: 1,
    lastStatus: null,
    error: null,
    createdAt: moment(2),
    updatedAt: moment(2),
    ...fields
  }
  return delivery
})

const work = (key: string) =>
  Effect.map(newId(FollowUpId), (id) => ({
    id,
    kind,
    key,
    payload: null,
    sequence: null,
    delayMillis: 3_600_000,
    createdAt: moment(2)
  }))

const insertOrder = Effect.fnUntraced(function* (delivery: Delivery, keep = 100) {
  return yield* (yield* WebhookStore).insertDelivery(delivery, yield* work(delivery.id), keep)
})

const keys = Effect.gen(function* () {
  return (yield* (yield* FollowUpStore).list(kind, { skip: 0, limit: 100 })).map(({ key }) => key)
})

/** The layer is built once; every test has its own owner. */
export const webhookStoreSuite = (name: string, stores: Layer.Layer<Needed, unknown>): void =>
  storeSuite(name, stores, webhookStoreContract)

export const webhookStoreContract = (test: Sentence<Needed>): void => {
  const find = (id: WebhookId) => WebhookStore.use((store) => Effect.map(store.get(id), Option.getOrUndefined))
  const findDelivery = (id: DeliveryId) =>
    WebhookStore.use((store) => Effect.map(store.getDelivery(id), Option.getOrUndefined))

  test("MUST store a webhook equal in every field, no more than `most`, also of ten at a time, and list them newest first", function* () {
    const store = yield* WebhookStore
    const description = "nul \0 and half a pair \ud800"
    const secrets = [
      { sealed: "YQ==", until: null },
      { sealed: "Yg==", until: moment(9) }
    ]
    const one = yield* stored({ description, includeContent: true, secrets })
    const two = yield* stored()
    assert.deepStrictEqual(yield* find(one.id), one)
    assert.deepStrictEqual(yield* store.list({ limit: 10 }), [two, one])
    assert.deepStrictEqual(yield* store.list({ limit: 1 }), [two])
    assert.deepStrictEqual(yield* store.list({ limit: 1, after: two.id }), [one])
    assert.deepStrictEqual(yield* store.list({ limit: 1, after: yield* newId(WebhookId) }), [])
    const outcomes = yield* tenTimes(Effect.flatMap(sample(), (webhook) => store.insert(webhook, 5, null)))
    assert.strictEqual(outcomes.filter((outcome) => outcome === "stored").length, 3)
    assert.strictEqual((yield* store.list({ limit: 100 })).length, 5)
  })

  test("MUST replace a webhook once from each revision, and remove it with its deliveries", function* () {
    const store = yield* WebhookStore
    const webhook = yield* stored()
    const change: Webhook = { ...webhook, url: "https://example.com/other", revision: 2, updatedAt: moment(3) }
    const replaced = yield* tenTimes(store.replace(change, null))
    assert.deepStrictEqual(replaced.toSorted(), [...nine("changed"), "stored"])
    assert.deepStrictEqual(yield* find(webhook.id), change)
    const delivery = yield* sampleDelivery(webhook.id)
    const kept = yield* sampleDelivery((yield* stored()).id)
    for (const each of [delivery, kept]) assert.isTrue(yield* insertOrder(each))
    assert.isTrue(yield* store.remove(webhook.id))
    assert.isFalse(yield* store.remove(webhook.id))
    assert.strictEqual(yield* store.replace({ ...change, revision: 3 }, null), "changed")
    assert.isUndefined(yield* find(webhook.id))
    assert.isUndefined(yield* findDelivery(delivery.id))
    assert.deepStrictEqual(yield* findDelivery(kept.id), kept)
    assert.isFalse(yield* insertOrder(yield* sampleDelivery(webhook.id)))
  })

  test("MUST return the owners of all webhooks by rising marks", function* () {
    const store = yield* WebhookStore
    const readAll = Effect.fnUntraced(function* (from: number) {
      const found: Array<{ readonly ownerId: string; readonly mark: number }> = []
      for (let after = from; ;) {
        const page = yield* store.owners(after, 3)
        assert.isAtMost(page.length, 3)
        found.push(...page)
        const last = page.at(-1)
        if (last === undefined) return found
        assert.isAbove(last.mark, after)
        after = last.mark
      }
    })
    const before = (yield* readAll(0)).at(-1)?.mark ?? 0
    const { ownerId } = yield* Principal
    yield* tenTimes(stored())
    const theirs = yield* asNewOwner(
      Effect.andThen(
        stored(),
        Effect.map(Principal, (each) => each.ownerId)
      )
    )
    const all = yield* readAll(before)
    assert.lengthOf(
      all.filter((each) => each.ownerId === ownerId),
      10
    )
    assert.lengthOf(
      all.filter((each) => each.ownerId === theirs),
      1
    )
    assert.strictEqual(new Set(all.map(({ mark }) => mark)).size, all.length)
  })

  test("MUST store a delivery once, with its follow-up, list them newest first, and keep few of those at rest", function* () {
    const store = yield* WebhookStore
    const { id: webhookId } = yield* stored()
    const { id: other } = yield* stored()
    const one = yield* sampleDelivery(webhookId)
    const inserted = yield* tenTimes(insertOrder(one))
    assert.strictEqual(inserted.filter(Boolean).length, 1)
    assert.deepStrictEqual(yield* keys, [one.id])
    assert.deepStrictEqual(yield* findDelivery(one.id), one)
    const two = yield* sampleDelivery(webhookId, { status: "dead", error: "No.", lastStatus: 500, attempts: 6 })
    const three = yield* sampleDelivery(webhookId, { status: "delivered" })
    for (const each of [two, yield* sampleDelivery(other), three]) yield* insertOrder(each)
    assert.deepStrictEqual(yield* store.listDeliveries({ webhookId, limit: 10 }), [three, two, one])
    assert.deepStrictEqual(yield* store.listDeliveries({ webhookId, limit: 1, after: three.id }), [two])
    const theirs = yield* sampleDelivery(other, { status: "dead" })
    yield* insertOrder(theirs)
    for (const after of [yield* newId(DeliveryId), theirs.id])
      assert.deepStrictEqual(yield* store.listDeliveries({ webhookId, limit: 10, after }), [])
    const four = yield* sampleDelivery(webhookId)
    yield* insertOrder(four, 1)
    assert.deepStrictEqual(yield* store.listDeliveries({ webhookId, limit: 10 }), [four, three, one])
    assert.deepStrictEqual(yield* findDelivery(theirs.id), theirs)
  })

  test("MUST store what came of an attempt of this round, and begin another round once", function* () {
    const store = yield* WebhookStore
    const { id: webhookId } = yield* stored()
    const delivery = yield* sampleDelivery(webhookId)
    const { id } = delivery
    yield* insertOrder(delivery)
    const outcome = { id, round: 1, attempts: 6, lastStatus: 503, error: "No \0 \ud800.", updatedAt: moment(5) }
    assert.isTrue(yield* store.record({ ...outcome, status: "dead" }))
    const dead: Delivery = { ...delivery, ...outcome, status: "dead" }
    assert.deepStrictEqual(yield* findDelivery(id), dead)
    const again = yield* tenTimes(
      Effect.flatMap(work(`${id}:2`), (followUp) => store.retry({ id, round: 1 }, followUp, null))
    )
    assert.deepStrictEqual(again.toSorted(), [...nine("changed"), "stored"])
    assert.deepStrictEqual(yield* keys, [`${id}:2`, id])
    assert.deepInclude(yield* findDelivery(id), { status: "pending", attempts: 0, round: 2 })
    assert.isFalse(yield* store.record({ ...outcome, status: "delivered" }))
    assert.isFalse(yield* store.record({ ...outcome, id: yield* newId(DeliveryId), status: "delivered" }))
    const sent = { ...outcome, round: 2, status: "delivered", attempts: 1, lastStatus: null, error: null } as const
    assert.isTrue(yield* store.record(sent))
    assert.deepStrictEqual(yield* findDelivery(id), { ...delivery, ...sent })
  })

  test("MUST insert, replace and retry once for a key, with the answer that a repeat finds, and keep none when nothing is stored", function* () {
    const store = yield* WebhookStore
    const { findAnswered } = yield* RunStore
    const once = (key: string) => ({ key, fingerprint: "f", answer: awkwardJson })
    const answerTo = (key: string) => Effect.map(findAnswered(key), Option.getOrUndefined)
    assert.strictEqual(yield* store.insert(yield* sample(), 0, once("insert")), "too_many")
    assert.isUndefined(yield* answerTo("insert"))
    const inserted = yield* tenTimes(Effect.flatMap(sample(), (each) => store.insert(each, 1, once("insert"))))
    assert.deepStrictEqual(inserted.toSorted(), [...nine("repeated"), "stored"])
    const [webhook, ...others] = yield* store.list({ limit: 10 })
    assert.deepStrictEqual(others, [])
    const change = { ...webhook!, revision: 2 }
    const early = yield* store.replace({ ...change, revision: 3 }, once("replace"))
    assert.deepStrictEqual([early, yield* answerTo("replace")], ["changed", undefined])
    const replaced = yield* tenTimes(store.replace(change, once("replace")))
    assert.deepStrictEqual(replaced.toSorted(), [...nine("repeated"), "stored"])
    const delivery = yield* sampleDelivery(change.id)
    yield* insertOrder(delivery)
    const retry = (round: number) =>
      Effect.flatMap(work(`${delivery.id}:2`), (followUp) =>
        store.retry({ id: delivery.id, round }, followUp, once("retry"))
      )
    assert.deepStrictEqual([yield* retry(2), yield* answerTo("retry")], ["changed", undefined])
    assert.deepStrictEqual((yield* tenTimes(retry(1))).toSorted(), [...nine("repeated"), "stored"])
    assert.deepInclude(yield* findDelivery(delivery.id), { round: 2 })
    assert.isTrue(yield* store.remove(change.id))
    // More than a store may count in 32 bits.
    assert.strictEqual(yield* store.insert({ ...change, revision: 1 }, 2 ** 40, null), "stored")
    assert.isTrue(yield* insertOrder(delivery, 2 ** 40))
    for (const key of ["insert", "replace", "retry"]) {
      const { answer, fingerprint } = (yield* answerTo(key))!
      assert.deepStrictEqual({ answer, fingerprint }, { answer: awkwardJson, fingerprint: "f" })
    }
  })

  test("MUST NOT show or change what another owner has, and MUST refuse writes during an erasure", function* () {
    const store = yield* WebhookStore
    const webhook = yield* stored()
    const delivery = yield* sampleDelivery(webhook.id)
    yield* insertOrder(delivery)
    yield* asNewOwner(
      Effect.gen(function* () {
        assert.isUndefined(yield* find(webhook.id))
        assert.deepStrictEqual(yield* store.list({ limit: 10 }), [])
        assert.strictEqual(yield* store.replace({ ...webhook, revision: 2 }, null), "changed")
        assert.isFalse(yield* store.remove(webhook.id))
        assert.isFalse(yield* insertOrder(yield* sampleDelivery(webhook.id)))
        assert.isUndefined(yield* findDelivery(delivery.id))
        assert.deepStrictEqual(yield* store.listDeliveries({ webhookId: webhook.id, limit: 10 }), [])
        assert.isFalse(yield* store.record({ ...delivery, status: "dead" }))
        assert.strictEqual(yield* store.retry(delivery, yield* work("theirs"), null), "changed")
      })
    )
    assert.deepStrictEqual(yield* find(webhook.id), webhook)
    assert.deepStrictEqual(yield* findDelivery(delivery.id), delivery)
    yield* refusedWhileErasing(
      store.insert(yield* sample(), 100, null),
      store.replace({ ...webhook, revision: 2 }, null),
      insertOrder(yield* sampleDelivery(webhook.id)),
      store.retry(delivery, yield* work("late"), null)
    )
  })

  test("MUST be gone when everything of the principal is erased, and stay for other owners", function* () {
    const make = Effect.gen(function* () {
      const webhook = yield* stored()
      const delivery = yield* sampleDelivery(webhook.id)
      assert.isTrue(yield* insertOrder(delivery))
      return Effect.all([find(webhook.id), findDelivery(delivery.id)])
    })
    const ours = yield* make
    const before = yield* ours
    yield* asNewOwner(
      Effect.gen(function* () {
        const theirs = yield* make
        yield* eraseEverything
        assert.deepStrictEqual(yield* theirs, [undefined, undefined])
      })
    )
    assert.deepStrictEqual(yield* ours, before)
    assert.isFalse(before.includes(undefined))
  })
}
