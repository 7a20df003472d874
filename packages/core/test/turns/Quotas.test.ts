import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, Crash, gate, hang, pause, say, sayInChunks, ScriptedModel, uses } from "@colloquy/testing"
import { Allowances, type HostedTool, Principal, Threads, Turns } from "@colloquy/core"
import { firstPage, QuotaStore } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import { failureFrom, inKernel, openKernel, storedRun, story, transcript, weather } from "../support/Story.ts"

const send = (content = "?") => Turns.use((turns) => turns.send({ content }))

const limitRefusal = Effect.fnUntraced(function* () {
  const error = yield* failureFrom(send())
  return error._tag === "OverLimit" ? error : assert.fail(error.message)
})

describe("turns a minute", () => {
  story(
    "are admitted up to the limit; the next one is stored nowhere, and the refusal says when to come back",
    [say("One."), say("Two."), say("Three.")],
    Effect.gen(function* () {
      yield* send()
      yield* send()
      const error = yield* limitRefusal()
      assert.strictEqual(error.waitMillis, 60_000)
      assert.strictEqual(
        error.message,
        `The limit of 2 turns a minute is reached: 0 left. There is room again at ${error.resetsAt?.toISOString()}.`
      )
      assert.strictEqual((yield* (yield* Threads).list({ page: firstPage, includeMessages: false })).length, 2)
      yield* TestClock.adjust("1 minute")
      yield* send()
      assert.strictEqual((yield* (yield* Allowances).report()).turns.used, 1)
    }),
    { quota: { turnsPerMinute: 2 } }
  )

  story(
    "do not count messages that are only saved, or repeats of a request",
    [say("One.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const idempotency = { key: "k", fingerprint: "f" }
      const first = yield* turns.send({ content: "?", idempotency })
      yield* turns.send({ content: "note", sendToModel: false })
      assert.strictEqual((yield* turns.send({ content: "?", idempotency })).runId, first.runId)
    }),
    { quota: { turnsPerMinute: 1 } }
  )
})

describe("turns at once", () => {
  story(
    "hold their place until they end",
    [gate(), say("Free.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* turns.start({ content: "?" })
      yield* (yield* ScriptedModel).reached()
      assert.strictEqual((yield* limitRefusal()).limit, "turnsAtOnce")
      yield* turns.cancel(first.threadId, first.runId)
      yield* send()
    }),
    { quota: { turnsAtOnce: 1 } }
  )

  it.effect("of a process that died are free when their runs are settled by another", () =>
    Effect.gen(function* () {
      const state = InMemory.makeState()
      const quota = { turnsAtOnce: 1, tokensPerDay: 10_000 }
      const other = yield* openKernel([], {
        stores: InMemory.layerFrom(state),
        quota,
        model: { otherwise: [say("Back.")] }
      })
      const doom = yield* Crash.make()
      const dying = yield* openKernel([], {
        stores: doom.stores(InMemory.layerFrom(state)),
        quota,
        model: { otherwise: [hang] }
      })
      yield* dying.run(Turns.use((turns) => turns.start({ content: "?" })))
      doom.kill()
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* other.run(limitRefusal())).limit, "turnsAtOnce")
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* other.run(send())).content, "Back.")
      assert.isTrue([...state.runs.values()].every(({ run }) => run.status !== "IN_PROGRESS"))
      yield* doom.bury
    }).pipe(Principal.provide("ada"))
  )
})

describe("the budget of the day", () => {
  const budget = { tokensPerDay: 5000 }

  it.effect(
    "is reserved before a turn and settled after it; what is used up refuses the next one until the day ends",
    () => {
      const steps = [[say("One."), uses({ inputTokens: 4000, outputTokens: 999 })], say("Two.")]
      const spending = Effect.gen(function* () {
        yield* send()
        const { inputTokens, outputTokens } = yield* (yield* Allowances).report()
        assert.deepStrictEqual([inputTokens.used, outputTokens.used, inputTokens.limit], [4000, 999, 5000])
        const error = yield* limitRefusal()
        assert.deepStrictEqual([error.limit, error.left, error.resetsAt], ["tokensPerDay", 1, inputTokens.resetsAt])
        yield* TestClock.adjust("10 minutes")
        yield* send()
      })
      // The kernel is opened five minutes before the end of the day, because its timers tick through all hours.
      const evening = Effect.andThen(TestClock.adjust("1435 minutes"), inKernel(steps, { quota: budget }, spending))
      return evening.pipe(Principal.provide("ada"))
    }
  )

  story(
    "holds for one assistant, and does not concern another",
    [[say("One."), uses({ inputTokens: 4000, outputTokens: 999 })], say("Two.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { assistantId } = yield* turns.send({ content: "?" })
      const error = yield* failureFrom(turns.send({ content: "?", assistantId }))
      assert.strictEqual(error._tag === "OverLimit" && error.limit, "tokensPerDayOfAssistant")
      assert.include(error.message, "5000 tokens a day of the assistant is reached: 1 left")
      yield* turns.send({ content: "?" })
      const allowances = yield* Allowances
      const { inputTokens } = yield* allowances.report(assistantId)
      assert.deepStrictEqual([inputTokens.used, inputTokens.limit], [4000, 5000])
      assert.isNull((yield* allowances.report()).inputTokens.limit)
    }),
    { quota: { tokensPerDayOfAssistant: 5000 } }
  )

  story(
    "in dollars is used up by a vendor that tells no costs, at the prices that are assumed",
    [[say("One."), uses({ inputTokens: 100_000, outputTokens: 10_000, costUsd: null })]],
    Effect.gen(function* () {
      yield* send()
      assert.strictEqual((yield* limitRefusal()).limit, "usdPerDay")
      assert.closeTo((yield* (yield* Allowances).report()).costUsd.used, 0.45, 1e-9)
    }),
    { quota: { usdPerDay: 0.45 } }
  )

  const long = sayInChunks("word ".repeat(20_000), 500)
  const paced = Array.from({ length: 200 }, () => [say("word ".repeat(100)), pause("1 millis")])

  story(
    "stops an answer that does not fit: FAILED budget_exceeded with what was said",
    [paced],
    Effect.gen(function* () {
      const turns = yield* Turns
      const turn = yield* turns.start({ content: "?" })
      yield* TestClock.adjust("1 second")
      yield* turn.reply
      const { fault, status } = yield* storedRun(turn)
      assert.deepStrictEqual([status, fault?.code, fault?.retryable], ["FAILED", "budget_exceeded", false])
      assert.match(fault?.message ?? "", /limit of 5000 tokens a day is reached/u)
      const [, [, stored, said] = assert.fail()] = yield* transcript(turn.threadId)
      assert.strictEqual(stored, "FAILED")
      assert.isAbove(said?.length ?? 0, 10_000)
      const report = yield* (yield* Allowances).report()
      const used = report.inputTokens.used + report.outputTokens.used
      assert.isAbove(used, 4500)
      assert.isBelow(used, 5500)
    }),
    { quota: budget }
  )

  story(
    "lets an answer that fits be as long as it is",
    [long],
    Effect.gen(function* () {
      assert.strictEqual((yield* send()).content.length, 100_000)
    }),
    { quota: { tokensPerDay: 1_000_000 } }
  )

  const tool: HostedTool = {
    definition: { name: "tool", description: null, parameters: null },
    run: () => Effect.succeed("done")
  }
  story(
    "in dollars is looked at between the steps of a turn",
    [[say("First. "), callTool("tool"), uses({ inputTokens: 1, outputTokens: 1, costUsd: 2 })]],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "?" })
      yield* turn.reply
      assert.strictEqual((yield* transcript(turn.threadId))[1]?.[2], "First. ")
      assert.strictEqual((yield* storedRun(turn)).fault?.code, "budget_exceeded")
      assert.strictEqual((yield* ScriptedModel).requests.length, 1)
      assert.strictEqual((yield* limitRefusal()).limit, "usdPerDay")
    }),
    { quota: { usdPerDay: 1 }, hosted: [tool] }
  )

  story(
    "holds for a run with all its legs",
    [[callTool("weather", {}, "a"), uses({ inputTokens: 90, outputTokens: 5 })]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "?", tools: [weather] })
      const outputs = [{ toolCallId: "a", output: "sun" }]
      const next = yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })
      yield* next.reply
      const { fault } = yield* storedRun(next)
      assert.strictEqual(fault?.code, "budget_exceeded")
      assert.match(fault?.message ?? "", /limit of 100 tokens a run/u)
    }),
    { quota: { tokensPerRun: 100 } }
  )
})

describe("a plain turn", () => {
  const calls: Array<string> = []
  const counted = Layer.effect(
    QuotaStore,
    QuotaStore.useSync((store) => ({
      ...store,
      takeRequests: (...args) => (calls.push("takeRequests"), store.takeRequests(...args)),
      used: (...args) => (calls.push("used"), store.used(...args))
    }))
  )
  story(
    "asks the store for its limits in the calls that it makes anyway",
    [say("One."), say("Two.")],
    Effect.gen(function* () {
      yield* send()
      yield* send()
      assert.deepStrictEqual(calls, [])
    }),
    {
      quota: { turnsPerMinute: 60, turnsAtOnce: 8, tokensPerDay: 1_000_000, usdPerDay: 5 },
      stores: Layer.provideMerge(counted, InMemory.layer)
    }
  )
})
