import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, Crash, cut, fail, gate, hang, say, ScriptedModel, uses } from "@colloquy/testing"
import {
  Assistants,
  InsufficientCredit,
  Kernel,
  Metering,
  type MeteringPort,
  Principal,
  Providers,
  StoreUnavailable,
  Threads,
  Turns
} from "@colloquy/core"
import { firstPage, UsageLedger, type UsageReport } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { failureFrom, openKernel, quiet, story, weather } from "../support/Story.ts"

/** A meter that remembers what it was told. */
const meter = (ensureCredit: MeteringPort["ensureCredit"] = () => Effect.void) => {
  const reports: Array<UsageReport> = []
  let asked = 0
  const port: MeteringPort = {
    ensureCredit: (need) =>
      Effect.suspend(() => {
        asked++
        return ensureCredit(need)
      }),
    record: (report) => Effect.sync(() => void reports.push(report))
  }
  return { port, reports, asked: () => asked }
}

describe("credit", () => {
  const poor = meter(() => Effect.fail(new InsufficientCredit()))
  story(
    "that is missing refuses the message; nothing is stored, no model is asked, nothing is recorded",
    [],
    Effect.gen(function* () {
      assert.strictEqual((yield* failureFrom((yield* Turns).send({ content: "Hi" })))._tag, "InsufficientCredit")
      assert.deepStrictEqual(yield* (yield* Assistants).list(firstPage), [])
      assert.deepStrictEqual(poor.reports, [])
    }),
    { metering: poor.port }
  )

  const free = meter(() => Effect.fail(new InsufficientCredit()))
  story(
    "is not asked for a message that is only saved",
    [],
    Effect.gen(function* () {
      yield* (yield* Turns).send({ content: "note", sendToModel: false })
      assert.deepStrictEqual([free.asked(), free.reports], [0, []])
    }),
    { metering: free.port }
  )

  let credit = true
  const running = meter(() => (credit ? Effect.void : Effect.fail(new InsufficientCredit())))
  story(
    "that ran out before the tool outputs refuses them and leaves the run waiting",
    [callTool("weather", {}, "a"), say("Sunny.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "?", tools: [weather] })
      const submit = turns.submitToolOutputs({
        threadId: asked.threadId,
        outputs: [{ toolCallId: "a", output: "sun" }]
      })
      credit = false
      assert.strictEqual((yield* failureFrom(submit))._tag, "InsufficientCredit")
      credit = true
      assert.strictEqual((yield* (yield* submit).reply).content, "Sunny.")
    }),
    { metering: running.port }
  )

  const once = meter()
  story(
    "is asked once for a request that is repeated",
    [say("Hi.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const request = { content: "Hi", idempotency: { key: "k", fingerprint: "f" } }
      yield* turns.send(request)
      yield* turns.send(request)
      yield* turns.drain
      assert.deepStrictEqual([once.asked(), once.reports.length], [1, 1])
    }),
    { metering: once.port }
  )
})

describe("usage is recorded once a leg", () => {
  const start = Turns.use((turns) => turns.start({ content: "?", tools: [weather] }))
  const settled = Turns.use((turns) => turns.drain)

  const answered = meter()
  story(
    "that is answered, and once for each of several legs",
    [callTool("weather", {}, "a"), say("Sunny.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* (yield* start).reply
      const outputs = [{ toolCallId: "a", output: "sun" }]
      yield* (yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })).reply
      yield* settled
      assert.deepStrictEqual(
        answered.reports.map(({ leg, model, provider, runId, threadId }) => ({
          leg,
          model,
          provider,
          runId,
          threadId
        })),
        [0, 1].map((leg) => ({
          leg,
          model: "scripted-model",
          provider: "scripted",
          runId: asked.runId,
          threadId: asked.threadId
        }))
      )
      assert.isTrue(answered.reports.every(({ usage }) => usage.inputTokens === 10))
    }),
    { metering: answered.port }
  )

  const ends = { failed: [say("a"), fail("auth")], cut: [say("a"), cut], refused: [fail("refused")] }
  for (const [name, step] of Object.entries(ends)) {
    const ended = meter()
    story(
      `that is ${name}`,
      [step],
      Effect.gen(function* () {
        yield* (yield* start).reply
        yield* settled
        assert.strictEqual(ended.reports.length, 1)
        assert.isTrue(ended.reports[0]?.usage.estimated)
      }),
      { metering: ended.port }
    )
  }

  const cancelled = meter()
  story(
    "that is cancelled, however often",
    [[say("a"), gate()]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const turn = yield* start
      yield* (yield* ScriptedModel).reached()
      yield* turns.cancel(turn.threadId, turn.runId)
      yield* turns.cancel(turn.threadId, turn.runId)
      assert.strictEqual(cancelled.reports.length, 1)
    }),
    { metering: cancelled.port }
  )

  const unbegun = meter()
  story(
    "but not for one that never reached a model",
    [[gate(), say("one")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* start
      yield* (yield* ScriptedModel).reached()
      const second = yield* Effect.forkChild(failureFrom(turns.send({ content: "2", threadId: first.threadId })), {
        startImmediately: true
      })
      yield* TestClock.adjust("31 seconds")
      yield* Fiber.join(second)
      yield* (yield* ScriptedModel).release()
      yield* first.reply
      yield* settled
      assert.strictEqual(unbegun.reports.length, 1)
    }),
    { metering: unbegun.port }
  )

  const closed = meter()
  story(
    "that a shutdown ended",
    [],
    Effect.gen(function* () {
      const kernel = yield* openKernel([[say("a"), hang]], { metering: closed.port })
      yield* kernel.run(start)
      yield* Effect.yieldNow
      yield* kernel.close
      assert.strictEqual(closed.reports.length, 1)
    })
  )

  const recovered = meter()
  const state = InMemory.makeState()
  it.effect("that another process had to end", () =>
    Effect.gen(function* () {
      const doom = yield* Crash.make({ at: 4, hears: true })
      const scope = yield* Scope.make()
      const chat = () => Stream.concat(Stream.succeed({ _tag: "TextDelta" as const, text: "Half" }), Stream.never)
      const providers = Providers.layer({
        providers: [doom.provider({ id: "p", chat })],
        defaults: { provider: "p", model: "m" }
      })
      const kernel = Layer.fresh(Kernel.layer).pipe(
        Layer.provide([doom.stores(InMemory.layerFrom(state)), providers, Layer.succeed(Metering, recovered.port)])
      )
      const services = yield* Layer.buildWithScope(kernel, scope)
      yield* Effect.provideContext(
        Turns.use((turns) => turns.start({ content: "?", stream: true })),
        services
      )
      yield* openKernel([], { stores: InMemory.layerFrom(state), metering: recovered.port })
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual(recovered.reports.length, 1)
      assert.isAbove(recovered.reports[0]?.usage.outputTokens ?? 0, 0)
      yield* doom.bury
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(recovered.reports.length, 1)
    }).pipe(Principal.provide("ada"), Effect.provide(quiet))
  )

  const broken: ReadonlyArray<readonly [string, Effect.Effect<void, StoreUnavailable>]> = [
    ["is away", Effect.fail(new StoreUnavailable({ operation: "meter" }))],
    ["has a defect", Effect.die("broken")],
    ["never answers", Effect.never],
    ["never answers and does not let itself be interrupted", Effect.uninterruptible(Effect.never)]
  ]
  for (const [name, record] of broken) {
    story(
      `and a meter that ${name} takes nothing from the answer`,
      [say("Hi.")],
      Effect.gen(function* () {
        assert.strictEqual((yield* (yield* Turns).send({ content: "Hi" })).content, "Hi.")
        const drained = yield* Effect.forkChild(settled, { startImmediately: true })
        yield* TestClock.adjust("2 minutes")
        yield* Fiber.join(drained)
      }),
      { metering: { ensureCredit: () => Effect.void, record: () => record } }
    )
  }
})

describe("a thread that is deleted during a turn", () => {
  for (const what of ["thread", "assistant"] as const) {
    const paid = meter()
    story(
      `(by its ${what}) does not take the usage with it: the ledger and the meter are told once`,
      [[say("Half of it"), uses({ inputTokens: 40, outputTokens: 2 }), gate(), say(" more")]],
      Effect.gen(function* () {
        const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
        yield* (yield* ScriptedModel).reached()
        if (what === "thread") yield* (yield* Threads).remove(turn.threadId)
        else yield* (yield* Assistants).remove(turn.assistantId)
        yield* (yield* ScriptedModel).release()
        const reply = yield* Effect.forkChild(turn.reply, { startImmediately: true })
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(reply)).status, "CANCELLED")
        const { days } = yield* (yield* UsageLedger).recent(firstPage)
        assert.deepStrictEqual(
          days.map(({ usage }) => usage.inputTokens),
          [40]
        )
        assert.deepStrictEqual(
          paid.reports.map(({ runId, usage }) => [runId, usage.inputTokens]),
          [[turn.runId, 40]]
        )
      }),
      { metering: paid.port }
    )
  }

  const cutOff = meter()
  story(
    "pays for what was said until its process heard of it",
    [[say("Half of it"), hang]],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      yield* TestClock.adjust("1 second")
      yield* (yield* Threads).remove(turn.threadId)
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(cutOff.reports.length, 1)
      assert.isTrue(cutOff.reports[0]?.usage.estimated)
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.deepStrictEqual(days[0]?.usage, cutOff.reports[0]?.usage)
    }),
    { metering: cutOff.port }
  )
})
