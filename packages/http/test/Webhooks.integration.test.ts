/** Webhooks over HTTP, sent over real connections to a receiver on this machine; the pauses pass in virtual time. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { type NodeWebhookOptions, NodeWebhooks } from "@colloquy/adapters/webhooks"
import { Kernel, Providers } from "@colloquy/core"
import { Documents, TextExtractor } from "@colloquy/core/documents"
import { Schedules } from "@colloquy/core/schedules"
import { Webhooks, WebhookSender } from "@colloquy/core/webhooks"
import { callTool, fail, say, ScriptedModel, type ScriptStep, TestKernel } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { fileForm, readText } from "./DocumentService.ts"
import { keys, serve, type Service, tool } from "./Service.ts"
import { openReceiver, type Receiver, signers } from "./WebhookReceiver.ts"
import { loopTurn } from "../../../test/until.ts"

interface Options extends Partial<NodeWebhookOptions> {
  readonly steps?: ReadonlyArray<ScriptStep>
  readonly state?: InMemory.State
  /** The first moment of the clock. */
  readonly now?: string
}

/** Every name leads to this machine, unless the test says otherwise. */
const open = async ({ now = "2026-03-01T00:00:00Z", state, steps = [], ...options }: Options = {}) => {
  const sending = new Set<object>()
  const sentAt: Array<number> = []
  const ports = NodeWebhooks.layer({
    secret: Redacted.make("a secret of the host"),
    privateAddresses: true,
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
    ...options
  })
  const counted = Layer.effect(
    WebhookSender,
    WebhookSender.useSync(({ problem, send }) => ({
      problem,
      send: (request) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => {
          sending.add(request)
          sentAt.push(at)
          return Effect.ensuring(
            send(request),
            Effect.sync(() => sending.delete(request))
          )
        })
    }))
  ).pipe(Layer.provide(ports))
  const service = await serve(
    Layer.mergeAll(Webhooks.layer(), Schedules.layer(), Documents.layer()).pipe(
      Layer.provide([ports, counted, Layer.succeed(TextExtractor, { readable: ["txt"], extract: readText })]),
      Layer.provideMerge(Kernel.layer),
      Layer.provide(
        Layer.unwrap(
          Effect.map(ScriptedModel, ({ provider }) =>
            Providers.layer({ providers: [provider], defaults: { provider: provider.id, model: "m" } })
          )
        )
      ),
      Layer.provideMerge(ScriptedModel.layer(steps, { otherwise: say("The secret answer.") })),
      Layer.provideMerge(InMemory.layerFrom(state ?? InMemory.makeState())),
      Layer.provideMerge(Layer.effectDiscard(TestClock.setTime(Date.parse(now)))),
      Layer.provideMerge(TestKernel.clock()),
      Layer.fresh
    )
  )
  /** Virtual time goes on in steps until the condition holds, but not while a request is on its way. */
  const until = async (step: Duration.Input, isDone: () => Promise<boolean> | boolean): Promise<void> => {
    while (sending.size > 0 || !(await isDone())) {
      if (sending.size === 0) await service.run(TestClock.adjust(step))
      await loopTurn()
    }
  }
  return { service, until, sentAt }
}

const createWebhook = async (service: Service, { port }: Pick<Receiver, "port">, fields: object = {}) => {
  const url = `http://hooks.example:${port}/in`
  const made = await service.call("POST", "/webhooks", { url, events: ["run.completed"], ...fields })
  assert.strictEqual(made.status, 201, made.text)
  const { secret, webhook_id }: Record<string, string> = made.body
  return { id: webhook_id ?? "", secret: secret ?? "" }
}

const webhookDeliveries = async (service: Service, id: string) =>
  (await service.call("GET", `/webhooks/${id}/deliveries`)).body.deliveries

it("an event is sent signed, again after its pauses with the same bytes, is dead then, and is sent again by request", async () => {
  await using receiver = await openReceiver((response, index) => {
    if (index === 1) return void response.writeHead(302, { location: "/elsewhere" }).end()
    if (index === 6) return void response.writeHead(204).end()
    response.writeHead(index === 0 ? 500 : 410)
    // An endless answer is not read to its end.
    if (index === 2) for (let piece = 0; piece < 64; piece++) response.write("x".repeat(16_384))
    else response.end("no")
  })
  const { sentAt, service, until } = await open()
  await using _service = service
  const { id, secret } = await createWebhook(service, receiver)
  const turn = (await service.call("POST", "/threads/messages", { content: "The secret question." })).body
  const steps = ["1 second", "1 second", "5 seconds", "1 minute", "10 minutes", "1 hour"] as const
  for (const [index, step] of steps.entries())
    await until(step, async () => (await webhookDeliveries(service, id))[0]?.attempts === index + 1)
  const pauses = sentAt.slice(1).map((time, index) => time - sentAt[index]!)
  const least = [5000, 30_000, 300_000, 3_600_000, 21_600_000]
  assert.strictEqual(pauses.length, least.length)
  least.forEach((pause, index) => assert.isAtLeast(pauses[index]!, pause))
  const { body } = await service.call("GET", `/webhooks/${id}/deliveries`)
  assert.deepStrictEqual([body.deliveries.length, body.next_cursor], [1, null])
  const [dead] = body.deliveries
  assert.deepInclude(dead, {
    type: "run.completed",
    status: "dead",
    attempts: 6,
    last_status: 410,
    error: "The address answered with status 410."
  })
  await service.run(TestClock.adjust("12 hours"))
  assert.lengthOf(receiver.received, 6)
  assert.strictEqual(
    new Set(receiver.received.map(({ headers, text }) => `${String(headers["webhook-id"])} ${text}`)).size,
    1
  )
  for (const each of receiver.received) {
    assert.deepStrictEqual(signers(each, [secret]), [secret])
    assert.deepStrictEqual([each.path, each.headers["content-type"]], ["/in", "application/json"])
    assert.strictEqual(each.headers["webhook-id"], dead.event_id)
  }
  const sent = JSON.parse(receiver.received[0]!.text)
  assert.deepStrictEqual([Object.keys(sent), sent.type], [["type", "timestamp", "data"], "run.completed"])
  const { thread_id, run_id } = turn
  assert.deepInclude(sent.data, { thread_id, run_id, status: "COMPLETED", content_preview: null })
  assert.notInclude(receiver.received[0]!.text, "secret")

  const again = await service.call("POST", `/webhooks/${id}/deliveries/${dead.delivery_id}/retry`)
  assert.deepStrictEqual([again.status, again.body.status, again.body.attempts], [202, "pending", 0])
  await until("1 second", async () => (await webhookDeliveries(service, id))[0].status === "delivered")
  assert.deepInclude((await webhookDeliveries(service, id))[0], { attempts: 1, last_status: 204, error: null })
  assert.strictEqual(receiver.received[6]!.headers["webhook-id"], dead.event_id)
})

it("after a rotation both secrets sign for a day, and repeats of a key get the first answer from what is encrypted", async () => {
  const state = InMemory.makeState()
  await using receiver = await openReceiver()
  const { service, until } = await open({ state })
  await using _service = service
  const url = `http://hooks.example:${receiver.port}/in`
  const create = (name: string, body: object = {}) =>
    service.call(
      "POST",
      "/webhooks",
      { url, events: ["run.completed"], ...body },
      { headers: { "idempotency-key": name } }
    )
  const made = await create("make")
  assert.strictEqual(made.status, 201)
  assert.match(made.body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/u)
  const repeated = await create("make")
  assert.deepStrictEqual([repeated.status, repeated.body], [201, made.body])
  assert.strictEqual((await create("make", { include_content: true })).status, 409)
  assert.lengthOf((await service.call("GET", "/webhooks")).body.webhooks, 1)
  const { secret, webhook_id } = made.body
  const rotate = (name: string) =>
    service.call("POST", `/webhooks/${webhook_id}/rotate`, undefined, { headers: { "idempotency-key": name } })
  const rotated = await rotate("turn")
  assert.strictEqual(rotated.status, 200)
  assert.notStrictEqual(rotated.body.secret, secret)
  assert.deepStrictEqual((await rotate("turn")).body, rotated.body)
  assert.strictEqual((await rotate("make")).status, 409)
  assert.deepStrictEqual((await create("make")).body, made.body)

  const oneMore = async () => {
    const count = receiver.received.length + 1
    await service.call("POST", "/threads/messages", { content: "?" })
    await until("1 second", () => receiver.received.length === count)
    return signers(receiver.received.at(-1)!, [secret, rotated.body.secret])
  }
  assert.deepStrictEqual(await oneMore(), [rotated.body.secret, secret])
  const delivery = () => webhookDeliveries(service, webhook_id).then(([newest]) => newest)
  await until("1 second", async () => (await delivery()).status === "delivered")
  const path = `/webhooks/${webhook_id}/deliveries/${(await delivery()).delivery_id}/retry`
  const retry = () => service.call("POST", path, undefined, { headers: { "idempotency-key": "again" } })
  const first = await retry()
  assert.strictEqual(first.status, 202)
  await until("1 second", () => receiver.received.length === 2)
  assert.deepStrictEqual([(await retry()).status, (await retry()).body], [202, first.body])
  await service.run(TestClock.adjust("1 minute"))
  assert.lengthOf(receiver.received, 2)
  await service.run(TestClock.adjust("23 hours"))
  assert.notInclude(JSON.stringify([...state.repeated]), "whsec_")
  const { service: changed } = await open({
    state,
    now: "2026-03-01T01:00:00Z",
    secret: Redacted.make("another secret")
  })
  await using _changed = changed
  const unreadable = await changed.call("POST", `/webhooks/${webhook_id}/rotate`, undefined, {
    headers: { "idempotency-key": "turn" }
  })
  assert.strictEqual(unreadable.status, 409)
  assert.include(unreadable.body.detail, "cannot be read any more")

  // What a key made has gone since: its first answer stays.
  const other = await create("other")
  assert.strictEqual((await service.call("DELETE", `/webhooks/${other.body.webhook_id}`)).status, 200)
  assert.deepStrictEqual((await create("other")).body, other.body)
  await service.run(TestClock.adjust("2 hours"))
  assert.deepStrictEqual(await oneMore(), [rotated.body.secret])
})

it("a private address is refused: a literal one at once, a name when it is used", async () => {
  const { service, until } = await open({
    privateAddresses: false,
    resolve: async () => [{ address: "10.0.0.7", family: 4 }]
  })
  await using _service = service
  const literal = await service.call("POST", "/webhooks", { url: "http://127.0.0.1:9/", events: ["run.completed"] })
  assert.deepStrictEqual([literal.status, literal.body.detail[0].loc], [422, ["body", "url"]])
  const { id } = await createWebhook(service, { port: 80 })
  await service.call("POST", "/threads/messages", { content: "?" })
  await until("1 second", async () => (await webhookDeliveries(service, id))[0]?.status === "dead")
  const [dead] = await webhookDeliveries(service, id)
  assert.deepInclude(dead, { attempts: 1, last_status: null })
  assert.include(dead.error, "private network")
})

it("every problem of a webhook is listed at once, by its place", async () => {
  const { service } = await open({ privateAddresses: false })
  await using _service = service
  const { id } = await createWebhook(service, { port: 80 })
  const problems = async (method: "POST" | "PUT", body: object) => {
    const answer = await service.call(method, method === "POST" ? "/webhooks" : `/webhooks/${id}`, body)
    assert.strictEqual(answer.status, 422, answer.text)
    return answer.body.detail.map(({ loc }: { loc: ReadonlyArray<unknown> }) => loc.slice(1).join("."))
  }
  for (const method of ["POST", "PUT"] as const) {
    const wrong = { url: "http://10.0.0.1/", events: ["run.completed", "run.exploded"], include_content: "maybe" }
    assert.deepStrictEqual((await problems(method, { ...wrong, description: "x".repeat(501) })).toSorted(), [
      "description",
      "events.1",
      "include_content",
      "url"
    ])
    assert.deepStrictEqual((await problems(method, { url: 7, events: [] })).toSorted(), ["events", "url"])
    assert.deepStrictEqual((await problems(method, { url: "ftp://a.example", events: [] })).toSorted(), [
      "events",
      "url"
    ])
  }
  assert.deepStrictEqual((await problems("POST", { url: "x" })).toSorted(), ["events", "url"])
  for (const [path, body] of [
    [`/webhooks/${id}`, {}],
    [`/webhooks/${id}/rotate`, undefined],
    [`/webhooks/${id}/deliveries/${id}/retry`, undefined]
  ] as const)
    assert.strictEqual(
      (await service.call(body === undefined ? "POST" : "PUT", path, body, { key: keys.bob })).status,
      404
    )
})

it("runs that fail or wait, indexed documents and missed times of schedules arrive, with their text only on request", async () => {
  const state = InMemory.makeState()
  await using receiver = await openReceiver()
  const events = ["run.failed", "run.requires_action", "document.indexed", "schedule.missed"]
  const { place, signedWith } = await (async () => {
    const { service, until } = await open({ state, steps: [callTool("weather", {}), fail("quota")] })
    await using _service = service
    const { secret } = await createWebhook(service, receiver, { events })
    await createWebhook(service, receiver, { events: ["document.indexed"], include_content: true })
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    await service.call("POST", "/threads/messages", { content: "The secret question.", tools: [tool("weather")] })
    await service.call("POST", "/threads/messages", { content: "The secret question." })
    const file = fileForm({ file: new File(["The secret text."], "a.txt") })
    const { document_id } = (await service.call("POST", `/assistants/${assistant_id}/documents`, file)).body
    await until("1 second", () => receiver.received.length === 4)
    const told = receiver.received.map(({ text }) => JSON.parse(text))
    assert.deepStrictEqual(told.map(({ data, type }) => `${type} ${data.status}`).toSorted(), [
      "document.indexed completed",
      "document.indexed completed",
      "run.failed FAILED",
      "run.requires_action REQUIRES_ACTION"
    ])
    for (const { data } of told.filter(({ type }) => type === "document.indexed"))
      assert.strictEqual(data.document_id, document_id)
    const ids = receiver.received.filter(({ text }) => text.includes("document.indexed"))
    assert.strictEqual(new Set(ids.map(({ headers }) => headers["webhook-id"])).size, 1)
    const daily = { cron: "30 0 * * *", timezone: "UTC", content: "The secret task.", thread: "new", on_missed: "skip" }
    const made = (await service.call("POST", `/assistants/${assistant_id}/schedules`, daily)).body
    return { place: { assistant_id, schedule_id: made.schedule_id }, signedWith: secret }
  })()
  // No process was running at half past.
  const { service, until } = await open({ state, now: "2026-03-01T00:45:00Z" })
  await using _service = service
  await until("5 seconds", () => receiver.received.length === 5)
  const missed = receiver.received[4]!
  assert.deepStrictEqual(signers(missed, [signedWith]), [signedWith])
  const { data, type } = JSON.parse(missed.text)
  assert.strictEqual(type, "schedule.missed")
  assert.deepInclude(data, { ...place, content: null })
  assert.deepInclude(data.last, { time: "2026-03-01T00:30:00.000Z", run_id: null })
  assert.notInclude(receiver.received.map(({ text }) => text).join(""), "secret")
  const exported = (await service.call("GET", "/owners/me/export")).text
  assert.include(exported, "webhooks.jsonl")
  assert.lengthOf(exported.match(/"webhook_id":/gu) ?? [], 2)
  assert.notMatch(exported, /whsec_|sealed/u)
})
