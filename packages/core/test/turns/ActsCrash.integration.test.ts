/**
 * A process dies at any of its writes in every act on a conversation, over a real database: forks, rewinds, edits, regenerations, restored
 * versions, approvals, helpers, handoffs, schedules and webhooks. The client repeats what it had sent, with the same keys, in another
 * process: each act is done once, every run ends, and no tool runs twice. All deaths are tried at the same time, each by an owner of its own.
 */
import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import { PgClient } from "@effect/sql-pg/PgClient"
import { Crash } from "@colloquy/testing"
import {
  type AssistantId,
  Assistants,
  Conversations,
  defaultTurnSettings,
  FollowUpSettings,
  type HostedTool,
  HostedTools,
  Inbox,
  Kernel,
  OwnerId,
  Principal,
  Providers,
  type ThreadId,
  Threads,
  Turns,
  type TurnRequest,
  TurnSettings
} from "@colloquy/core"
import { type ChatEvent, type ChatRequest, firstPage, newId, RunStore, type Stores } from "@colloquy/core/adapters"
import { Helpers } from "@colloquy/core/helpers"
import { Schedules } from "@colloquy/core/schedules"
import { Webhooks, WebhookSecrets, WebhookSender } from "@colloquy/core/webhooks"
import { ScheduleStore, WebhookStore } from "@colloquy/core/wings"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { onEmbedded } from "../../../../test/databases.ts"
import { quiet } from "../support/Story.ts"
import { until } from "../support/Until.ts"

/** What was really done, in whichever process: the runs that paid, and the ids of events that were sent. */
const paid: Array<string> = []
const sent: Array<string> = []

const callsByVerb: { readonly [verb: string]: readonly [string, object] } = {
  pay: ["pay", {}],
  ask: ["poet", { message: "say it" }],
  hand: ["hand_off_to_other", { reason: "it knows" }]
}

/** The first word of the newest question says what the model does. */
const answer = ({ messages }: ChatRequest): ReadonlyArray<ChatEvent> => {
  const finished: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }
  const question = JSON.stringify(messages.findLast(({ role }) => role === "user"))
  const [, call] = Object.entries(callsByVerb).find(([verb]) => question.includes(`${verb} `)) ?? []
  if (call === undefined || messages.at(-1)?.role === "tool") return [{ _tag: "TextDelta", text: "Said." }, finished]
  const [name, args] = call
  return [
    { _tag: "ToolCallStart", id: "c", name },
    { _tag: "ToolCallReady", call: { id: "c", name, arguments: JSON.stringify(args) } },
    finished
  ]
}

const pay: HostedTool = {
  definition: { name: "pay", description: null, parameters: null },
  needsApproval: () => Effect.succeed(true),
  run: (_, { runId }) =>
    Effect.sync(() => {
      paid.push(runId)
      return "paid"
    })
}

/** The writes of the wings' stores are writes of the process too. */
const mortalWings = (doom: Crash.Doom) =>
  Layer.merge(
    Layer.effect(
      ScheduleStore,
      ScheduleStore.useSync((store) => ({
        ...store,
        insert: (...args) => doom.write(store.insert(...args)),
        replace: (...args) => doom.write(store.replace(...args)),
        advance: (...args) => doom.write(store.advance(...args)),
        note: (...args) => doom.write(store.note(...args))
      }))
    ),
    Layer.effect(
      WebhookStore,
      WebhookStore.useSync((store) => ({
        ...store,
        insert: (...args) => doom.write(store.insert(...args)),
        replace: (...args) => doom.write(store.replace(...args)),
        insertDelivery: (...args) => doom.write(store.insertDelivery(...args)),
        record: (...args) => doom.write(store.record(...args)),
        retry: (...args) => doom.write(store.retry(...args))
      }))
    )
  )

const receiver = (doom: Crash.Doom) =>
  Layer.merge(
    Layer.succeed(WebhookSecrets, {
      seal: (secret) => Effect.succeed(Redacted.value(secret)),
      open: (sealed) => Effect.succeed(Redacted.make(sealed))
    }),
    Layer.succeed(WebhookSender, {
      problem: () => null,
      send: ({ headers }) => Effect.sync(() => (doom.isDead() ? 0 : (sent.push(headers["webhook-id"] ?? ""), 204)))
    })
  )

/** Long enough for a busy machine, short enough to wait for. */
const settings = (poll: string) =>
  Layer.mergeAll(
    Layer.succeed(TurnSettings, Object.assign({}, defaultTurnSettings, { lease: "5 seconds", sweep: "500 millis" })),
    Layer.effect(
      FollowUpSettings,
      Effect.map(FollowUpSettings, (usual) => Object.assign({}, usual, { poll, claim: "5 seconds" }))
    )
  )

const kernelLayer = (doom: Crash.Doom, stores: Layer.Layer<Stores | ScheduleStore | WebhookStore>, poll: string) => {
  const provider = doom.provider({ id: "p", chat: (request) => Stream.fromIterable(answer(request)) })
  return Layer.mergeAll(Helpers.layer(), Schedules.layer(), Webhooks.layer(), HostedTools.tools([doom.tool(pay)])).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide(settings(poll)),
    Layer.provide([receiver(doom), Layer.provide(mortalWings(doom), stores)]),
    Layer.provideMerge(doom.stores(stores)),
    Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: "p", model: "m" } })),
    Layer.fresh,
    Layer.merge(quiet)
  )
}

const keyed = (key: string) => ({ idempotency: { key, fingerprint: key } })

/** A dead process holds the thread until its lease expires. */
const patiently = <A, E extends { readonly _tag: string }, R>(act: Effect.Effect<A, E, R>) =>
  Effect.retry(act, { while: ({ _tag }) => _tag === "ThreadBusy", schedule: Schedule.spaced("200 millis") })

const send = (key: string, request: TurnRequest) =>
  Turns.use((turns) => patiently(turns.send({ ...request, ...keyed(key) })))

interface Place {
  readonly assistantId: AssistantId
  readonly threadId: ThreadId
}

/** Everything that the owner has, as the checks see it. */
const everything = Effect.fnUntraced(function* ({ assistantId }: Place) {
  const threads = yield* Threads.use((all) => all.list({ page: firstPage, includeMessages: true }))
  const { runs } = yield* Inbox.use((inbox) => inbox.list({ limit: 100 }))
  const { versions } = yield* Assistants.use((assistants) => assistants.versions(assistantId, { limit: 10 }))
  const questions = threads
    .map(({ messages }) => messages.filter(({ role }) => role === "user").map(({ content }) => content))
    .filter((said) => said.length > 0)
    .map((said) => said.join(", "))
    .toSorted()
  return { questions, runs, versions: versions.length }
})

type Told = Effect.Success<ReturnType<typeof everything>>
type Services = Layer.Success<ReturnType<typeof kernelLayer>> | Principal

interface Story {
  readonly tell: (place: Place) => Effect.Effect<unknown, unknown, Services>
  /** What must be there after it, however often it was told. */
  readonly questions: ReadonlyArray<string>
  readonly versions?: number
  readonly check?: (place: Place, told: Told) => Effect.Effect<void, unknown, Services>
}

const stories: { readonly [name: string]: Story } = {
  "a conversation that is cut": {
    tell: ({ threadId }) =>
      Effect.gen(function* () {
        const conversations = yield* Conversations
        const first = yield* send("a", { content: "a", threadId })
        const second = yield* send("b", { content: "b", threadId })
        const [question] = yield* RunStore.use((store) => store.messages(second.runId))
        const edit = { messageId: question?.id ?? assert.fail(), in: "fork", edited: "c" } as const
        yield* send("edit", { content: "", threadId, instead: edit })
        const instead = { messageId: second.messageId, in: "place" } as const
        yield* send("regenerate", { content: "", threadId, instead })
        yield* patiently(conversations.rewind({ threadId, messageId: first.messageId, ...keyed("rewind") }))
        yield* patiently(conversations.fork({ threadId, ...keyed("fork") }))
      }),
    questions: ["a", "a", "a, b", "a, b", "a, c"]
  },
  "a version that is restored": {
    tell: ({ assistantId }) =>
      Assistants.use((assistants) => assistants.restore(assistantId, 1, undefined, keyed("restore").idempotency)),
    questions: [],
    versions: 3
  },
  "an approval": {
    tell: ({ threadId }) =>
      Effect.gen(function* () {
        const { runId, status } = yield* send("pay", { content: "pay it", threadId })
        if (status !== "REQUIRES_ACTION") return
        const decisions = [{ toolCallId: "c", decision: "approve" }] as const
        const turn = yield* Turns.use((turns) => turns.decide({ threadId, runId, decisions, ...keyed("approve") }))
        yield* turn.reply
      }),
    questions: ["pay it"],
    check: (_, { runs }) =>
      Effect.sync(() => {
        for (const { id, status } of runs) {
          const times = paid.filter((each) => each === id).length
          if (status === "COMPLETED") assert.strictEqual(times, 1)
          else assert.isAtMost(times, 1)
        }
      })
  },
  "a helper": {
    tell: ({ threadId }) => send("ask", { content: "ask it", threadId }),
    questions: ["ask it", "say it"],
    check: (_, { runs }) =>
      Effect.sync(() => {
        const above = runs.find(({ parentRunId }) => parentRunId === null)
        if (above?.status === "COMPLETED")
          assert.deepStrictEqual(
            runs.map(({ parentRunId, status }) => [parentRunId, status]),
            [
              [above.id, "COMPLETED"],
              [null, "COMPLETED"]
            ]
          )
      })
  },
  "a handoff": {
    tell: ({ threadId }) =>
      Effect.andThen(send("hand", { content: "hand it", threadId }), send("after", { content: "say it", threadId })),
    questions: ["hand it, say it"],
    check: ({ threadId }) =>
      Effect.gen(function* () {
        const { messages, thread } = yield* Threads.use((threads) => threads.get(threadId))
        const first = messages.find(({ role }) => role === "assistant")
        if (first?.status === "COMPLETED") assert.isDefined(thread.actingAssistantId)
      })
  },
  "a schedule": {
    tell: ({ assistantId }) =>
      Effect.gen(function* () {
        const schedules = yield* Schedules
        const yearly = { cron: "0 0 1 1 *", timezone: "UTC", content: "say it" }
        const { schedule } = yield* schedules.create(assistantId, yearly, keyed("schedule").idempotency)
        const turn = yield* schedules.run(assistantId, schedule.id, keyed("run").idempotency)
        yield* turn.reply
      }),
    questions: ["say it"],
    check: ({ assistantId }, { runs }) =>
      Effect.gen(function* () {
        const { schedules } = yield* Schedules.use((all) => all.list(assistantId, { limit: 10 }))
        assert.deepStrictEqual(
          runs.map(({ scheduleId }) => scheduleId),
          schedules.map(({ schedule }) => schedule.id)
        )
      })
  },
  "a webhook": {
    tell: ({ threadId }) =>
      Effect.gen(function* () {
        const webhooks = yield* Webhooks
        const wanted = { url: "https://a.example", events: ["run.completed", "run.failed"] } as const
        const { webhook } = yield* webhooks.create(wanted, keyed("webhook").idempotency)
        yield* send("say", { content: "say it", threadId })
        yield* webhooks.rotate(webhook.id, keyed("rotate").idempotency)
        const delivered = Effect.map(webhooks.deliveries(webhook.id, { limit: 10 }), ({ deliveries }) =>
          deliveries[0]?.status === "delivered" ? deliveries[0] : null
        )
        const { id } = yield* until(delivered)
        yield* webhooks.retry(webhook.id, id, keyed("retry").idempotency)
      }),
    questions: ["say it"],
    check: () =>
      Effect.gen(function* () {
        const webhooks = yield* Webhooks
        const { webhooks: all } = yield* webhooks.list({ limit: 10 })
        assert.deepStrictEqual(
          all.map(({ secrets }) => secrets.length),
          [2]
        )
        const again = Effect.map(webhooks.deliveries(all[0]?.id ?? assert.fail(), { limit: 10 }), ({ deliveries }) =>
          deliveries.every(({ round, status }) => round === 2 && status === "delivered") ? deliveries : null
        )
        const deliveries = yield* until(again)
        assert.lengthOf(deliveries, 1)
        assert.isAtLeast(sent.filter((id) => id === deliveries[0]?.eventId).length, 2)
      })
  }
}

const open = Effect.gen(function* () {
  const assistants = yield* Assistants
  const other = yield* assistants.create({ name: "Other" })
  const poet = { assistantId: other.id, name: "poet", description: "Rhymes" }
  const handoff = { assistantId: other.id, name: "other", description: "Knows" }
  const { id } = yield* assistants.create({ name: "Chief", helpers: [poet], handoffs: [handoff] })
  yield* assistants.update(id, { systemPrompt: "Second." })
  return { assistantId: id, threadId: (yield* assistants.createThread(id, null)).id }
})

const never = "1 hour"
const often = "200 millis"

const builtIn = Effect.fnUntraced(function* (
  stores: Parameters<typeof kernelLayer>[1],
  point: Crash.CrashPoint,
  poll: string
) {
  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  return { doom, scope, services: yield* Layer.buildWithScope(kernelLayer(doom, stores, poll), scope) }
})

/** Opens the place in a process that lives; the story may end in one that dies, and is told again in a third. */
const toldWith = Effect.fnUntraced(function* (
  { check, questions, tell, versions = 2 }: Story,
  stores: Parameters<typeof kernelLayer>[1],
  point: Crash.CrashPoint,
  where: string,
  expire: Effect.Effect<void, never, Principal>
) {
  const second = yield* builtIn(stores, {}, often)
  const place = yield* Effect.provideContext(open, second.services)
  const first = yield* builtIn(stores, point, never)
  const client = yield* Effect.forkDetach(Effect.provideContext(tell(place), first.services))
  yield* Effect.raceFirst(first.doom.died, Effect.asVoid(Fiber.await(client)))
  const writes = first.doom.writes()
  yield* expire
  yield* Effect.gen(function* () {
    yield* tell(place)
    const told = yield* until(
      Effect.map(everything(place), (found) =>
        found.runs.some(({ status }) => status === "IN_PROGRESS" || status === "QUEUED") ? null : found
      )
    )
    // A helper that was not asked before its chief's process died is not asked later.
    const isWhole = told.runs.every(({ status }) => status === "COMPLETED")
    const expected = isWhole ? questions : questions.filter((each) => told.questions.includes(each))
    assert.deepStrictEqual([told.questions, told.versions], [expected, versions])
    if (check !== undefined) yield* check(place, told)
  }).pipe(
    Effect.provideContext(second.services),
    Effect.timeout("2 minutes"),
    Effect.catch((error) => Effect.die(new Error(`${where}: ${String(error)}`, { cause: error })))
  )
  yield* first.doom.bury
  yield* Scope.close(first.scope, Exit.void)
  yield* Scope.close(second.scope, Exit.void)
  client.interruptUnsafe()
  return writes
})

const owned = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(newId(OwnerId), (ownerId) => Principal.provide(ownerId)(effect))

/** The leases of the dead process expire now, as if their time had passed. No other process has run anything of this owner yet. */
const expireLeases = Effect.gen(function* () {
  const { ownerId } = yield* Principal
  const client = yield* PgClient
  yield* client`update colloquy.runs set lease_until = clock_timestamp() where owner = ${ownerId} and lease_until is not null`
}).pipe(Effect.orDie)

const everyDeath = (story: Story) =>
  Effect.gen(function* () {
    const database = Layer.provideMerge(Postgres.layerFromClient(), Pglite.layerClient())
    const services = yield* Layer.build(Layer.orDie(database))
    const stores = Layer.succeedContext(services)
    const expire = Effect.provideContext(expireLeases, services)
    const writes = yield* owned(toldWith(story, stores, {}, "without a death", expire))
    assert.isAtLeast(writes, 1)
    const points = Array.from({ length: writes }, (_, index) => index + 1).flatMap((at) =>
      [true, false].map((hears) => ({ at, hears }))
    )
    const die = (point: { readonly at: number; readonly hears: boolean }) =>
      owned(toldWith(story, stores, point, `write ${point.at} of ${writes}, hears: ${point.hears}`, expire))
    yield* Effect.forEach(points, die, { concurrency: 8, discard: true })
  }).pipe(Effect.scoped, Effect.provide(quiet))

onEmbedded("PGlite", () => {
  for (const [name, story] of Object.entries(stories))
    it.live(`${name}: each act is done once, whichever write its process dies at`, () => everyDeath(story), 300_000)
})
