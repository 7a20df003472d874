import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, expect, hang, say, uses } from "@colloquy/testing"
import { Assistants, defaultTurnSettings, Kernel, Principal, Providers, Turns } from "@colloquy/core"
import {
  type ChatEvent,
  ContentRefused,
  firstPage,
  RunStore,
  type Settlement,
  UsageLedger
} from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { failureFrom, openKernel, quiet, storedLog, storedRun, story, transcript, weather } from "../support/Story.ts"

const long = "n".repeat(5000)
const noUsage = {
  inputTokens: 1,
  outputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costUsd: null,
  estimated: false
}

/** A kernel whose provider says these events. */
const saying = (...events: ReadonlyArray<ChatEvent>) => sayingTo(quiet, events)

/** The same, with the logger of the test. */
const sayingTo = (logger: Layer.Layer<never>, events: ReadonlyArray<ChatEvent>) =>
  Layer.fresh(Kernel.layer).pipe(
    Layer.provide(
      Providers.layer({
        providers: [{ id: "p", chat: () => Stream.fromIterable(events) }],
        defaults: { provider: "p", model: "m" }
      })
    ),
    Layer.provideMerge(InMemory.layer),
    Layer.merge(logger)
  )

const finished: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }

describe("names at the door", () => {
  story(
    "of 5,000 characters are refused, for a message and for an assistant, and nothing is stored",
    [],
    Effect.gen(function* () {
      const [turns, assistants] = [yield* Turns, yield* Assistants]
      for (const field of ["model", "provider"] as const) {
        const refused = yield* failureFrom(turns.send({ content: "Hi", [field]: long }))
        assert.deepInclude(refused, { _tag: "NameTooLong", field, limit: 255 })
        assert.strictEqual((yield* failureFrom(assistants.create({ name: "A", [field]: long })))._tag, "NameTooLong")
      }
      const embedding = { model: long }
      assert.strictEqual((yield* failureFrom(assistants.create({ name: "A", embedding })))._tag, "NameTooLong")
      assert.deepStrictEqual(yield* assistants.list(firstPage), [])
      const kept = yield* assistants.create({ name: "A", model: "😀".repeat(255) })
      assert.strictEqual((yield* failureFrom(assistants.update(kept.id, { model: long })))._tag, "NameTooLong")
    })
  )
})

describe("what a provider reports", () => {
  it.effect("is brought into its bounds: a name of 5,000 characters, 2e19 tokens, a price that is no number", () =>
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "Hi" })
      assert.strictEqual(reply.status, "COMPLETED")
      assert.strictEqual(reply.model, long.slice(0, 255))
      assert.deepInclude(reply.usage, { inputTokens: 1e12, outputTokens: 0, costUsd: null, estimated: true })
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.deepStrictEqual(
        days.map(({ model, usage }) => [model.length, usage.inputTokens]),
        [[255, 1e12]]
      )
      assert.deepInclude(yield* storedRun(reply), { status: "COMPLETED", model: long.slice(0, 255) })
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(
        saying(
          { _tag: "TextDelta", text: "Hi" },
          { _tag: "Usage", usage: { ...noUsage, inputTokens: 2e19, outputTokens: -5, costUsd: Number.NaN } },
          { _tag: "Finished", reason: "stop", model: long, providerData: null }
        )
      )
    )
  )

  it.effect("is told in the log when something of it was cut, and only then", () =>
    Effect.gen(function* () {
      const warnings = Effect.fnUntraced(function* (inputTokens: number, model: string) {
        const logged: Array<string> = []
        const logger = Logger.layer([
          Logger.make(({ logLevel, message }) => logged.push(`${logLevel} ${String(message)}`))
        ])
        const usage = { ...noUsage, inputTokens }
        const answer: ReadonlyArray<ChatEvent> = [
          { _tag: "Usage", usage },
          { ...finished, model }
        ]
        yield* Turns.use((turns) => turns.send({ content: "Hi" })).pipe(Effect.provide(sayingTo(logger, answer)))
        return logged
      })
      const cut = ["Warn p reported names or figures beyond all bounds; they were cut"]
      assert.deepStrictEqual(
        [yield* warnings(1, "m"), yield* warnings(2e19, "m"), yield* warnings(1, long)],
        [[], cut, cut]
      )
    }).pipe(Principal.provide("ada"))
  )

  const calls = (count: number): ReadonlyArray<ChatEvent> =>
    Array.from({ length: count }, (_, index) => index).flatMap((index): ReadonlyArray<ChatEvent> => [
      { _tag: "ToolCallStart", id: "same", name: "weather" },
      { _tag: "ToolCallReady", call: { id: "same", name: "weather", arguments: `{"n":${index}}` } }
    ])

  it.effect("128 calls in one step are taken, each under an id of its own, which is that of its beginning", () =>
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "Hi", tools: [weather] })
      assert.strictEqual(reply.status, "REQUIRES_ACTION")
      assert.strictEqual(new Set(reply.toolCalls.map(({ id }) => id)).size, 128)
      const log = yield* storedLog(reply)
      assert.deepStrictEqual(
        log.flatMap((event) => (event._tag === "ToolCallStart" ? [event.toolCallId] : [])),
        log.flatMap((event) => (event._tag === "ToolCallReady" ? [event.call.id] : []))
      )
    }).pipe(Principal.provide("ada"), Effect.provide(saying(...calls(128), finished)))
  )

  it.effect("one more ends the run with a reason, and what came is bounded", () =>
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "Hi", tools: [weather] })
      assert.deepInclude(reply, { status: "FAILED" })
      assert.deepInclude(reply.fault, { code: "malformed", retryable: false })
      assert.match(reply.fault?.message ?? "", /too_many_tool_calls/u)
      const started = (yield* storedLog(reply)).filter(({ _tag }) => _tag === "ToolCallStart")
      assert.strictEqual(started.length, 128)
    }).pipe(Principal.provide("ada"), Effect.provide(saying(...calls(20_000), finished)))
  )

  story(
    "as many calls as the host allows",
    [callTools(["weather"], ["weather"], ["weather"])],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "Hi", tools: [weather] })
      assert.match(reply.fault?.message ?? "", /too_many_tool_calls/u)
    }),
    { settings: { chat: { ...defaultTurnSettings.chat, maxToolCalls: 2 } } }
  )

  it.effect("ids and names of calls are cut, and the calls can be answered", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const reply = yield* turns.send({ content: "Hi", tools: [weather] })
      const ids = reply.toolCalls.map(({ id }) => id)
      assert.deepStrictEqual([ids.length, new Set(ids).size], [2, 2])
      for (const id of ids) assert.isAtMost(id.length, 128)
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(
        saying(
          { _tag: "ToolCallReady", call: { id: long, name: "weather", arguments: "{}" } },
          { _tag: "ToolCallReady", call: { id: long, name: "weather", arguments: "{}" } },
          finished
        )
      )
    )
  )
})

describe("a tool that there is not", () => {
  story(
    "is answered once; called again, the model has to answer in words",
    [
      callTool("missing"),
      callTool("missing"),
      [expect((request) => assert.strictEqual(request.toolChoice, "none")), say("Sorry.")]
    ],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "Hi", tools: [weather] })
      assert.deepInclude(reply, { status: "COMPLETED", content: "Sorry." })
    })
  )

  story(
    "and a model that calls all the same ends the run, long before the rounds are used up",
    [callTool("missing"), callTool("missing"), callTool("missing")],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "Hi", tools: [weather] })
      assert.deepInclude(reply.fault, { code: "too_many_tool_rounds" })
    })
  )
})

/** Stores that refuse settlements for what is in them. */
const refusing = (state: InMemory.State, refuses: (settlement: Settlement) => boolean) => {
  let tried = 0
  const stores = Layer.effect(
    RunStore,
    RunStore.useSync((store) =>
      RunStore.of({
        ...store,
        settle: (lease, settlement) => {
          if (!refuses(settlement)) return store.settle(lease, settlement)
          tried++
          return Effect.die(new ContentRefused({ operation: "RunStore.settle", code: "54000" }))
        }
      })
    )
  ).pipe(Layer.provideMerge(InMemory.layerFrom(state)))
  return { stores, tried: () => tried }
}

describe("a settlement that the store refuses for its content", () => {
  const poisoned = refusing(InMemory.makeState(), ({ answer }) => answer.content === "poison")
  story(
    "ends the run as FAILED with what can be stored; its usage is charged and its thread is free",
    [[say("poison"), uses({ inputTokens: 7 })], say("Fine.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const reply = yield* turns.send({ content: "Hi" })
      assert.deepInclude(reply, { status: "FAILED" })
      assert.deepInclude(reply.fault, { code: "answer_not_stored", retryable: false })
      assert.deepInclude(yield* storedRun(reply), { status: "FAILED", fault: reply.fault })
      assert.deepStrictEqual((yield* transcript(reply.threadId))[1], ["assistant", "FAILED", null])
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.strictEqual(days[0]?.usage.inputTokens, 7)
      assert.strictEqual((yield* turns.send({ content: "b", threadId: reply.threadId })).content, "Fine.")
    }),
    { stores: poisoned.stores }
  )

  it.effect("not even so: recovery tries once more, says so, and does not go on for ever", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const broken = refusing(state, () => true)
      const kernel = yield* openKernel([], { stores: broken.stores, model: { otherwise: say("Hi") } })
      yield* kernel.run(Turns.use((turns) => turns.start({ content: "Hi" })))
      yield* TestClock.adjust("10 minutes")
      const after = broken.tried()
      assert.isAtMost(after, 4)
      yield* TestClock.adjust("10 hours")
      assert.strictEqual(broken.tried(), after)
      yield* kernel.close
    }).pipe(Principal.provide("ada"))
  )

  it.effect("a run that an older version left behind with such names is ended", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const tooLong = refusing(state, ({ charges, model }) =>
        [model, ...charges.map((each) => each.model)].some((name) => name.length > 255)
      )
      const old = yield* openKernel([], { stores: InMemory.layerFrom(state), model: { otherwise: hang } })
      const turn = yield* old.run(Turns.use((turns) => turns.start({ content: "Hi" })))
      const row = state.runs.get(turn.runId) ?? assert.fail()
      row.run = { ...row.run, model: long }
      row.token += 1
      row.expiresAt = 0
      const next = yield* openKernel([], { stores: tooLong.stores })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* next.run(storedRun(turn))).status, "FAILED")
    }).pipe(Principal.provide("ada"))
  )
})
