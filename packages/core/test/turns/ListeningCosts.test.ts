/** What listening to a message has cost is charged once, whether the message waits for its thread, waits too long, or is cancelled. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { gate, hang, say, ScriptedModel, type ScriptStep, TestKernel } from "@colloquy/testing"
import { Assistants, defaultTurnSettings, Principal, Threads, type TurnPart, TurnParts, Turns } from "@colloquy/core"
import { chargeOfCost, firstPage, UsageLedger, type UsageReport } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { quiet, type Services, storedLog, tags, terminalEvent, transcript } from "../support/Story.ts"
import { faultyStores, slowStores } from "../support/WatchedStores.ts"

const ear: TurnPart<null> = {
  name: "ear",
  plan: Schema.Null,
  decide: () => Effect.succeed(null),
  listen: (_, { spend, tell }) =>
    Effect.sync(() => {
      tell({ type: "heard", data: {} })
      spend(chargeOfCost({ provider: "ears", model: "e", purpose: "listen" }, 1))
      return { content: "heard" }
    })
}

const heard = { options: { ear: {} } } as const

const withEar = (
  title: string,
  steps: ReadonlyArray<ScriptStep>,
  body: Effect.Effect<void, unknown, Services | Principal | Scope.Scope>,
  options: TestKernel.TestKernelOptions = {}
) =>
  it.effect(title, () =>
    body.pipe(
      Principal.provide("ada"),
      Effect.provide([Layer.provideMerge(TurnParts.part(ear), TestKernel.layer(steps, options)), quiet])
    )
  )

/** The dollars of the ledger for listening. */
const listeningCosts = Effect.gen(function* () {
  const { days } = yield* (yield* UsageLedger).recent(firstPage)
  return days.filter(({ purpose }) => purpose === "listen").map(({ usage }) => usage.costUsd)
})

const blocked = Effect.gen(function* () {
  const turn = yield* (yield* Turns).start({ content: "1" })
  yield* (yield* ScriptedModel).reached("1")
  return turn
})

const patient = { chat: { ...defaultTurnSettings.chat, firstEventTimeout: "1 hour", idleTimeout: "1 hour" } } as const

describe("what listening has cost is charged once", () => {
  withEar(
    "when the caller goes away while the message waits",
    [[gate("1"), say("one")], say("two")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { reply, threadId } = yield* blocked
      const second = yield* Effect.forkChild(turns.send({ content: "2", threadId, ...heard }), {
        startImmediately: true
      })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(second)
      yield* (yield* ScriptedModel).release("1")
      yield* reply
      yield* TestClock.adjust("1 second")
      const contents = (yield* transcript(threadId)).map(([, , content]) => content)
      assert.deepStrictEqual(contents, ["1", "one", "2\n\nheard", "two"])
      assert.deepStrictEqual(yield* listeningCosts, [1])
    })
  )

  for (const [title, request] of [
    ["a streamed message", { stream: true }],
    ["a message in the background", { background: true }],
    ["a message that is only to be saved", { background: true, sendToModel: false }]
  ] as const) {
    withEar(
      `when ${title} has waited too long`,
      [hang],
      Effect.gen(function* () {
        const turns = yield* Turns
        const { threadId } = yield* turns.start({ content: "1" })
        const second = yield* turns.start({ content: "2", threadId, ...heard, ...request })
        const reading = yield* Effect.forkChild(Stream.runCollect(second.events))
        yield* TestClock.adjust("40 seconds")
        assert.strictEqual(tags(yield* Fiber.join(reading)).at(-1), "RunFailed")
        assert.deepStrictEqual(yield* listeningCosts, [1])
      }),
      { settings: patient }
    )
  }

  withEar(
    "when a caller was told that the message has waited too long",
    [hang],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.start({ content: "1" })
      const second = yield* Effect.forkChild(Effect.flip(turns.send({ content: "2", threadId, ...heard })))
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual((yield* Fiber.join(second))._tag, "ThreadBusy")
      assert.deepStrictEqual(yield* listeningCosts, [1])
    }),
    { settings: patient }
  )

  withEar(
    "when a message that is only to be saved is cancelled",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { reply, threadId } = yield* blocked
      const second = yield* turns.start({ content: "2", threadId, ...heard, background: true, sendToModel: false })
      yield* turns.cancel(threadId, second.runId)
      yield* (yield* ScriptedModel).release("1")
      yield* reply
      assert.deepStrictEqual(yield* listeningCosts, [1])
    })
  )

  const reports: Array<UsageReport> = []
  withEar(
    "and reported to the host, when a message is cancelled that no model has read",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { reply, threadId } = yield* blocked
      const second = yield* turns.start({ content: "2", threadId, ...heard, background: true })
      yield* turns.cancel(threadId, second.runId)
      assert.deepStrictEqual(
        reports.map(({ charges, runId }) => [runId, charges.map(({ purpose }) => purpose)]),
        [[second.runId, ["listen"]]]
      )
      assert.deepStrictEqual(yield* listeningCosts, [1])
      yield* (yield* ScriptedModel).release("1")
      yield* reply
    }),
    {
      metering: { ensureCredit: () => Effect.void, record: (report) => Effect.sync(() => void reports.push(report)) }
    }
  )

  withEar(
    "for each of two streamed messages with one key that come at once, and the second one ends",
    [say("one")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const request = { content: "1", stream: true, idempotency: { key: "k", fingerprint: "f" }, ...heard }
      const started = yield* Effect.all([turns.start(request), turns.start(request)], { concurrency: 2 })
      const readers = yield* Effect.forEach(started, ({ events }) => Effect.forkChild(Stream.runCollect(events)))
      yield* TestClock.adjust("1 minute")
      const ends = yield* Effect.forEach(readers, (reader) => Effect.map(Fiber.join(reader), terminalEvent))
      assert.sameDeepMembers(
        ends.map((end) => (end._tag === "RunFailed" ? [end.code, end.retryable] : [end._tag])),
        [["RunEnded"], ["repeated", true]]
      )
      assert.deepStrictEqual(yield* listeningCosts, [2])
    }),
    { stores: slowStores(InMemory.makeState()) }
  )

  for (const [title, request] of [
    ["a streamed message", { stream: true }],
    ["a message", {}]
  ] as const) {
    withEar(
      `when the caller of ${title} was told that the store is away, and it was stored all the same`,
      [say("one")],
      Effect.gen(function* () {
        const turns = yield* Turns
        const assistant = yield* (yield* Assistants).create({ name: "A" })
        const { id: threadId } = Option.getOrThrow(yield* (yield* Threads).create(assistant.id, null))
        const sent = yield* Effect.forkChild(
          Effect.exit(
            Effect.flatMap(turns.start({ content: "1", threadId, ...heard, ...request }), ({ reply }) => reply)
          )
        )
        yield* TestClock.adjust("1 minute")
        const exit = yield* Fiber.join(sent)
        if (Exit.isSuccess(exit)) assert.deepInclude(exit.value.fault, { code: "not_stored" })
        assert.deepStrictEqual(yield* transcript(threadId), [
          ["user", "COMPLETED", "1\n\nheard"],
          ["assistant", "COMPLETED", "one"]
        ])
        const [run] = (yield* turns.list(threadId, { limit: 1 })).runs
        assert.strictEqual(terminalEvent(yield* storedLog({ runId: run!.run.id }))._tag, "RunEnded")
        assert.deepStrictEqual(yield* listeningCosts, [1])
      }),
      {
        settings: { startTimeout: "100 millis" },
        stores: faultyStores(InMemory.makeState(), (operation, nth) =>
          operation === "runs.begin" && nth <= 4 ? "lose" : null
        )
      }
    )
  }

  withEar(
    "when the store is away, and nothing was stored",
    [],
    Effect.gen(function* () {
      const sent = yield* Effect.forkChild(Effect.flip(Turns.use((turns) => turns.send({ content: "1", ...heard }))))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(sent))._tag, "StoreUnavailable")
      assert.deepStrictEqual(yield* listeningCosts, [1])
    }),
    {
      settings: { startTimeout: "100 millis" },
      stores: faultyStores(InMemory.makeState(), (operation) => (operation === "runs.begin" ? "refuse" : null))
    }
  )
})
