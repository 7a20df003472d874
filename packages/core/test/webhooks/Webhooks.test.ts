/** Webhooks in virtual time: pauses, dead letters, another round, two secrets, and what is in a body. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Assistants, Kernel, Principal, Providers, Turns } from "@colloquy/core"
import { NotSent, type WebhookRequest, Webhooks, WebhookSecrets, WebhookSender } from "@colloquy/core/webhooks"
import type { WebhookId } from "@colloquy/core/adapters"
import { say, ScriptedModel } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { createHmac } from "node:crypto"
import { loopTurn } from "../support/PassTime.ts"

interface Sent extends WebhookRequest {
  readonly at: number
}

/** Answers are taken from the front; without one it is a 204. */
const wing = (
  sent: Array<Sent>,
  answers: Array<number | NotSent>,
  { most = 20, state = InMemory.makeState() }: { readonly most?: number; readonly state?: InMemory.State } = {}
) =>
  Layer.unwrap(
    Effect.map(ScriptedModel, ({ provider }) =>
      Webhooks.layer({ most }).pipe(
        Layer.provide([
          Layer.succeed(WebhookSecrets, {
            seal: (secret, place) => Effect.succeed(`${place}|${Redacted.value(secret)}`),
            open: (sealed, place) =>
              Effect.succeed(sealed.startsWith(`${place}|`) ? Redacted.make(sealed.slice(place.length + 1)) : null)
          }),
          Layer.succeed(WebhookSender, {
            problem: (url) => (url.startsWith("https://") ? null : "No."),
            send: (request) =>
              TestClock.testClockWith((clock) => Effect.sync(() => clock.currentTimeMillisUnsafe())).pipe(
                Effect.flatMap((at) => {
                  sent.push({ ...request, at })
                  const answer = answers.shift() ?? 204
                  return typeof answer === "number" ? Effect.succeed(answer) : Effect.fail(answer)
                })
              )
          })
        ]),
        Layer.provideMerge(Kernel.layer),
        Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: provider.id, model: "m" } })),
        Layer.provide(InMemory.layerFrom(state))
      )
    )
  ).pipe(Layer.provide(ScriptedModel.layer([], { otherwise: say("The secret answer.") })), Layer.fresh)

/** Virtual time goes on in steps until the condition holds. Signing takes real time, so each step lets the event loop turn. */
const until = <E, R>(step: Duration.Input, condition: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.gen(function* () {
    while (!(yield* condition)) {
      yield* TestClock.adjust(step)
      yield* loopTurn
    }
  })

const newest = (id: WebhookId) =>
  Webhooks.use((webhooks) => Effect.map(webhooks.deliveries(id, { limit: 10 }), ({ deliveries }) => deliveries[0]))

/** The newest delivery of a webhook once it was tried this often, and is at rest. */
const atRest = (id: WebhookId, attempts: number, eventId?: string) =>
  until(
    "1 second",
    Effect.map(
      newest(id),
      (found) =>
        found !== undefined && found.status !== "pending" && found.attempts === attempts && found.eventId !== eventId
    )
  )

const turn = Effect.gen(function* () {
  const assistant = yield* (yield* Assistants).create({ name: "A" })
  return yield* (yield* Turns).send({ assistantId: assistant.id, content: "The secret question." })
})

const expectedSignatures = ({ body, headers }: Sent, ...secrets: ReadonlyArray<string>) =>
  secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice("whsec_".length), "base64")
      const text = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`
      return `v1,${createHmac("sha256", key).update(text).digest("base64")}`
    })
    .join(" ")

const inVirtualTime = <A, E>(
  effect: Effect.Effect<A, E, Webhooks | Kernel.Kernel | Principal>,
  layer: ReturnType<typeof wing>
) => effect.pipe(Principal.provide("ada"), Effect.provide(Layer.provideMerge(layer, TestClock.layer())))

it.live("a delivery is tried six times with its pauses, is dead then, and is sent again by request", () => {
  const sent: Array<Sent> = []
  const answers: Array<number | NotSent> = [
    500,
    302,
    500,
    new NotSent({ message: "No way.", isFinal: false }),
    410,
    500
  ]
  return inVirtualTime(
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const { secret, webhook } = yield* webhooks.create({ url: "https://a.example", events: ["run.completed"] })
      yield* turn
      for (const [index, step] of (
        ["1 second", "1 second", "5 seconds", "1 minute", "10 minutes", "1 hour"] as const
      ).entries())
        yield* until(
          step,
          Effect.map(newest(webhook.id), (found) => (found?.attempts ?? 0) > index)
        )
      const times = sent.map(({ at }) => at)
      const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0))
      const least = [5000, 30_000, 300_000, 3_600_000, 21_600_000]
      assert.strictEqual(pauses.length, 5)
      least.forEach((pause, index) => assert.isAtLeast(pauses[index] ?? 0, pause))
      assert.strictEqual(new Set(sent.map(({ body, headers }) => `${headers["webhook-id"]} ${body}`)).size, 1)
      for (const each of sent)
        assert.strictEqual(each.headers["webhook-signature"], expectedSignatures(each, Redacted.value(secret)))
      const { deliveries } = yield* webhooks.deliveries(webhook.id, { limit: 10 })
      assert.strictEqual(deliveries.length, 1)
      const [dead] = deliveries
      assert.deepInclude(dead, { status: "dead", attempts: 6, lastStatus: 500 })
      yield* webhooks.retry(webhook.id, dead!.id)
      yield* atRest(webhook.id, 1)
      assert.strictEqual(sent.length, 7)
      const after = (yield* webhooks.deliveries(webhook.id, { limit: 10 })).deliveries
      assert.deepInclude(after[0], { id: dead!.id, status: "delivered", attempts: 1, lastStatus: 204, error: null })
    }),
    wing(sent, answers)
  )
})

it.live("every webhook is told, also those of an owner who has more than may be made by now", () => {
  const sent: Array<Sent> = []
  const state = InMemory.makeState()
  const urls = ["https://a.example", "https://b.example", "https://c.example"]
  const made = Webhooks.use((webhooks) =>
    Effect.forEach(urls, (url) => webhooks.create({ url, events: ["run.completed"] }))
  )
  const told = Effect.andThen(
    turn,
    until(
      "1 second",
      Effect.sync(() => [...state.followUps.values()].every(({ followUp }) => followUp.status === "done"))
    )
  )
  return Effect.gen(function* () {
    yield* inVirtualTime(made, wing(sent, [], { state }))
    yield* inVirtualTime(told, wing(sent, [], { most: 2, state }))
    assert.sameMembers(
      sent.map(({ url }) => url),
      urls
    )
  })
})

it.live(
  "after a rotation both secrets sign for a day; a body has no text of a conversation unless it is wanted",
  () => {
    const sent: Array<Sent> = []
    const state = InMemory.makeState()
    const rotated = Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const first = yield* webhooks.create({ url: "https://a.example", events: ["run.completed"] })
      yield* webhooks.create({ url: "https://b.example", events: ["run.failed"] })
      const { id } = first.webhook
      const second = yield* webhooks.rotate(id)
      const [before, after] = [Redacted.value(first.secret), Redacted.value(second.secret)]
      assert.match(after, /^whsec_[A-Za-z0-9+/]{43}=$/u)
      yield* turn
      yield* atRest(id, 1)
      assert.strictEqual(sent.length, 1)
      assert.strictEqual(sent[0]!.headers["webhook-signature"], expectedSignatures(sent[0]!, after, before))
      assert.notInclude(sent[0]!.body, "secret")
      const body = JSON.parse(sent[0]!.body)
      assert.deepStrictEqual(Object.keys(body), ["type", "timestamp", "data"])
      assert.deepInclude(body.data, { status: "COMPLETED", content_preview: null })
      yield* webhooks.update(id, { includeContent: true })
      return { after, id }
    })
    const aDayLater = Effect.fnUntraced(function* ({ after, id }: Effect.Success<typeof rotated>) {
      const webhooks = yield* Webhooks
      yield* turn
      yield* atRest(id, 1, sent[0]!.headers["webhook-id"])
      assert.strictEqual(sent[1]!.headers["webhook-signature"], expectedSignatures(sent[1]!, after))
      assert.strictEqual(JSON.parse(sent[1]!.body).data.content_preview, "The secret answer.")
      const refused = yield* Effect.flip(
        webhooks.create({ url: "http://10.0.0.1", events: [], description: "x".repeat(501) })
      )
      assert.deepStrictEqual(
        refused._tag === "WebhookRefused" ? refused.problems.map(({ field }) => field) : refused._tag,
        ["url", "events", "description"]
      )
    })
    // No kernel works through the hours between: it would look for work thousands of times.
    return Effect.gen(function* () {
      const first = yield* Effect.provide(rotated, wing(sent, [], { state }))
      yield* TestClock.adjust("25 hours")
      yield* Effect.provide(aDayLater(first), wing(sent, [], { state }))
    }).pipe(Principal.provide("ada"), Effect.provide(TestClock.layer()))
  }
)

it.live("an address that may not be used is dead at once, with the reason", () => {
  const sent: Array<Sent> = []
  return inVirtualTime(
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const { webhook } = yield* webhooks.create({ url: "https://a.example", events: ["run.completed"] })
      yield* turn
      yield* atRest(webhook.id, 1)
      const { deliveries } = yield* webhooks.deliveries(webhook.id, { limit: 10 })
      assert.deepInclude(deliveries[0], { status: "dead", attempts: 1, lastStatus: null, error: "It is private." })
    }),
    wing(sent, [new NotSent({ message: "It is private.", isFinal: true })])
  )
})
