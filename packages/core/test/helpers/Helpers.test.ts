/** The limits of helpers: model calls, budgets, a process that dies at any of its writes, two tools of one name. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, Crash, pause, say, ScriptedModel, uses } from "@colloquy/testing"
import {
  Assistants,
  Inbox,
  Kernel,
  Principal,
  type Provider,
  Providers,
  type ThreadId,
  Threads,
  Turns
} from "@colloquy/core"
import {
  type ChatEvent,
  type ChatRequest,
  type Colleague,
  firstPage,
  RunStore,
  UsageLedger
} from "@colloquy/core/adapters"
import { Helpers } from "@colloquy/core/helpers"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { failureFrom, quiet, storedRun, story } from "../support/Story.ts"
import { loopTurn } from "../support/PassTime.ts"

const helper = (assistantId: Colleague["assistantId"], name: string): Colleague => ({
  assistantId,
  name,
  description: `Asks ${name}`
})

const createChief = Effect.fnUntraced(function* (...names: ReadonlyArray<string>) {
  const assistants = yield* Assistants
  const { id } = yield* assistants.create({ name: "Helper" })
  return yield* assistants.create({ name: "Chief", helpers: names.map((name) => helper(id, name)) })
})

describe("helpers", () => {
  story(
    "take from one count of 64 model calls with the turn that asks them, which always has one left to answer",
    [],
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const { id } = yield* assistants.create({ name: "Circle" })
      yield* assistants.update(id, { helpers: [helper(id, "a")] })
      const reply = yield* Turns.use((turns) => turns.send({ content: "?", assistantId: id }))
      assert.deepInclude(reply, { status: "COMPLETED", stopReason: "steps" })
      const { requests } = yield* ScriptedModel
      assert.strictEqual(requests.length, 64)
      // The last call of each that is above the last helper is asked without tools.
      assert.deepStrictEqual(
        requests.slice(-4).map(({ toolChoice }) => toolChoice),
        ["none", "none", "none", "none"]
      )
    }),
    // Everybody asks as long as there is anybody to ask.
    { settings: { hostedRounds: 100 }, model: { otherwise: callTool("a", { message: "?" }) } }
  )

  story(
    "count for the limits of the run that asks them, before and after",
    [
      [callTool("a", { message: "?" }), uses({ inputTokens: 100, outputTokens: 0 })],
      [say("word ".repeat(2000)), uses({ inputTokens: 900, outputTokens: 2000 })]
    ],
    Effect.gen(function* () {
      const chief = yield* createChief("a")
      const reply = yield* Turns.use((turns) => turns.send({ content: "?", assistantId: chief.id }))
      assert.deepInclude(reply.fault, { code: "budget_exceeded" })
      const used = reply.usage.inputTokens + reply.usage.outputTokens
      const run = yield* storedRun(reply)
      assert.deepStrictEqual(run.usage, reply.usage)
      assert.isBelow(used, 5000)
    }),
    { quota: { tokensPerRun: 2000 } }
  )

  story(
    "that work at the same time stay within the limits of one run together",
    [
      callTools(["a", { message: "?" }, "1"], ["b", { message: "?" }, "2"], ["c", { message: "?" }, "3"]),
      // Each alone would be within the limit.
      ...["a", "b", "c"].map(() =>
        Array.from({ length: 40 }, () => [say("word ".repeat(60)), pause("1 second")]).flat()
      )
    ],
    Effect.gen(function* () {
      const chief = yield* createChief("a", "b", "c")
      const turns = yield* Turns
      const turn = yield* Effect.forkChild(turns.send({ content: "?", assistantId: chief.id }), {
        startImmediately: true
      })
      // The pauses of all three begin before the time passes.
      const { requests } = yield* ScriptedModel
      while (requests.length < 4) yield* loopTurn
      yield* TestClock.adjust("1 minute")
      const reply = yield* Fiber.join(turn)
      assert.deepInclude(reply.fault, { code: "budget_exceeded" })
      const { usage } = yield* storedRun(reply)
      const used = usage.inputTokens + usage.outputTokens
      // Each of the three counts its text in pieces.
      assert.isBelow(used, 4000 + 4 * 100)
      assert.isAbove(used, 3000)
    }),
    { quota: { tokensPerRun: 4000 } }
  )

  story(
    "that work at the same time make 64 model calls together, and each of them can answer",
    [],
    Effect.gen(function* () {
      const chief = yield* createChief("a", "b", "c")
      const assistants = yield* Assistants
      const below = yield* assistants.create({ name: "Below" })
      for (const { assistantId } of chief.helpers) {
        yield* assistants.update(assistantId, { helpers: ["a", "b", "c"].map((name) => helper(below.id, name)) })
      }
      const reply = yield* Turns.use((turns) => turns.send({ content: "?", assistantId: chief.id }))
      assert.deepInclude(reply, { status: "COMPLETED" })
      const { requests } = yield* ScriptedModel
      assert.isAtMost(requests.length, 64)
      const runs = yield* Inbox.use((inbox) => inbox.list({ limit: 100 }))
      // No run was without a call for its answer: one that failed had nobody to ask, and called a tool that it does not have.
      assert.isFalse(runs.runs.some(({ fault }) => fault?.message.includes("64") === true))
    }),
    {
      settings: { hostedRounds: 100 },
      model: {
        otherwise: callTools(["a", { message: "?" }, "1"], ["b", { message: "?" }, "2"], ["c", { message: "?" }, "3"])
      }
    }
  )

  story(
    "that have the name of a tool of the host are refused as the owner's mistake",
    [],
    Effect.gen(function* () {
      const chief = yield* createChief("clock")
      const error = yield* failureFrom(Turns.use((turns) => turns.send({ content: "?", assistantId: chief.id })))
      assert.deepInclude(error, { _tag: "TurnRefused", part: "helpers", reason: "invalid" })
    }),
    {
      hosted: [
        { definition: { name: "clock", description: null, parameters: null }, run: () => Effect.succeed("12 o'clock") }
      ]
    }
  )
})

const finished: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }

/** Who is asked says so; who has a helper asks it once. Each call counts what was asked. */
const vendor = (asked: Array<string>): Provider => ({
  id: "p",
  chat: ({ messages, tools }: ChatRequest) => {
    const last = messages.at(-1)
    const isAsked = tools.length > 0 && last?.role !== "tool"
    asked.push(isAsked ? "chief" : last?.role === "tool" ? "end" : "helper")
    return Stream.fromIterable<ChatEvent>(
      isAsked
        ? [
            { _tag: "ToolCallStart", id: "c", name: "a" },
            { _tag: "ToolCallReady", call: { id: "c", name: "a", arguments: '{"message":"?"}' } },
            finished
          ]
        : [{ _tag: "TextDelta", text: "Yes." }, finished]
    ).pipe(Stream.concat(Stream.fromEffectDrain(Effect.sleep("1 second"))))
  }
})

const kernelLayer = (doom: Crash.Doom, state: InMemory.State, asked: Array<string>) =>
  Helpers.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(doom.stores(InMemory.layerFrom(state))),
    Layer.provide(
      Providers.layer({ providers: [doom.provider(vendor(asked))], defaults: { provider: "p", model: "m" } })
    ),
    Layer.fresh,
    Layer.merge(quiet)
  )

const live = Effect.fnUntraced(function* (point: Crash.CrashPoint) {
  const state = InMemory.makeState()
  const asked: Array<string> = []
  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  const services = yield* Layer.buildWithScope(kernelLayer(doom, state, asked), scope)
  const begin = Effect.gen(function* () {
    const chief = yield* createChief("a")
    return (yield* Assistants.use((assistants) => assistants.createThread(chief.id, null))).id
  })
  const threadId = yield* Effect.provideContext(begin, services)
  const before = doom.writes()
  const turn = Turns.use((turns) => turns.send({ content: "?", threadId }))
  const client = yield* Effect.forkDetach(Effect.provideContext(turn, services), { startImmediately: true })
  // Time passes until the turn has ended or the process is dead.
  const passing = Effect.forever(Effect.andThen(TestClock.adjust("100 millis"), Effect.yieldNow))
  yield* Effect.raceFirst(Effect.raceFirst(doom.died, Fiber.await(client)), passing)
  return { asked, before, client, doom, scope, services, state, threadId }
})

/** The runs of a thread and of the threads of its helpers, each with its status. */
const chiefAndHelperRuns = Effect.fnUntraced(function* (threadId: ThreadId) {
  const runs = yield* RunStore
  const all = yield* Threads.use((threads) => threads.list({ page: firstPage, includeMessages: false }))
  const lists = yield* Effect.forEach(all, ({ thread }) => runs.list(thread.id, { limit: 10 }))
  const found = lists.flatMap((list) => list.runs)
  return {
    chief: found.filter((run) => run.threadId === threadId),
    helpers: found.filter((run) => run.threadId !== threadId)
  }
})

describe("a process that dies while a helper is asked", () => {
  for (const hears of [true, false]) {
    it.effect(`leaves two runs that have ended, and nobody is asked twice (it hears of its last write: ${hears})`, () =>
      Effect.gen(function* () {
        const whole = yield* live({})
        assert.deepStrictEqual(whole.asked, ["chief", "helper", "end"])
        const writes = whole.doom.writes()
        yield* Scope.close(whole.scope, Exit.void)
        assert.isAbove(writes - whole.before, 5)
        let deaths = 0
        for (let at = whole.before + 1; at <= writes; at++) {
          const { asked, client, doom, scope, state, threadId } = yield* live({ at, hears })
          // How many pieces a log is written in depends on time, so the last ones may not be reached.
          if (doom.isDead()) deaths++
          const nextScope = yield* Scope.make()
          const again: Array<string> = []
          const next = yield* Layer.buildWithScope(kernelLayer(yield* Crash.make(), state, again), nextScope)
          yield* TestClock.adjust("60 seconds")
          yield* Effect.gen(function* () {
            const { chief, helpers } = yield* chiefAndHelperRuns(threadId)
            for (const { status } of [...chief, ...helpers])
              assert.include(["COMPLETED", "FAILED"], status, `write ${at}`)
            assert.isAtMost(helpers.length, 1)
            assert.deepStrictEqual(again, [], `write ${at}`)
            assert.isTrue(asked.filter((who) => who === "helper").length <= 1)
            for (const { id, threadId: thread, usage: stored } of chief) {
              const { ownUsage, run } = yield* Turns.use((turns) => turns.report(thread, id))
              const own = ownUsage.inputTokens + ownUsage.outputTokens
              const below = helpers.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0)
              assert.strictEqual(run.usage.inputTokens + run.usage.outputTokens, own + below, `write ${at}`)
              // Lists of runs show what is stored with the run.
              assert.deepStrictEqual(stored, run.usage, `write ${at}`)
            }
            yield* UsageLedger.use((ledger) => ledger.recent(firstPage))
          }).pipe(Effect.provideContext(next))
          yield* doom.bury
          yield* Scope.close(scope, Exit.void)
          yield* Scope.close(nextScope, Exit.void)
          client.interruptUnsafe()
        }
        assert.isAbove(deaths, 5)
      }).pipe(Principal.provide("ada"), Effect.provide(quiet))
    )
  }
})
