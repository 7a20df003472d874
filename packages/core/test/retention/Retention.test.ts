/** What only serves for a while goes when it is old, in small steps; what is left of an old run is its end, and everything of the conversation. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, fail, say, type ScriptStep } from "@colloquy/testing"
import { Principal, type RunId, type ThreadId, type TurnRequest, Turns } from "@colloquy/core"
import { FollowUpStore, ThreadStore } from "@colloquy/core/adapters"
import { openThread, sampleFollowUp, startTurn } from "@colloquy/testing/contracts"
import {
  describePruned,
  Retention,
  type Pruned,
  type RetentionSettings,
  RetentionStore
} from "@colloquy/core/retention"
import { Inspections } from "@colloquy/core/inspection"
import { tool } from "@colloquy/core/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import {
  inKernel,
  messagesIn,
  openKernel,
  quiet,
  type Services,
  storedLog,
  tags,
  terminalEvent,
  weather
} from "../support/Story.ts"

const followed = (turn: { readonly threadId: ThreadId; readonly runId: RunId }, after: number) =>
  Turns.use((turns) => Effect.flatMap(turns.follow(turn.threadId, turn.runId, after), Stream.runCollect))

const nothing: Pruned = {
  logs: 0,
  idempotencyKeys: 0,
  deletedRuns: 0,
  chargeReceipts: 0,
  deadFollowUps: 0,
  learnedRuns: 0,
  followUps: 0
}

/** A database, and retention over it. */
const open = (settings: Partial<RetentionSettings> = {}) => {
  const state = InMemory.makeState()
  const stores = InMemory.layerFrom(state)
  const process = <A, E>(steps: ReadonlyArray<ScriptStep>, work: Effect.Effect<A, E, Services | Principal>) =>
    inKernel(steps, { stores }, work)
  return {
    state,
    process,
    prune: Effect.provide(Retention.prune(settings), stores),
    start: Layer.build(Layer.provideMerge(Retention.layer(settings), Layer.merge(stores, quiet)))
  }
}

const turnWithEvents = (request: TurnRequest) =>
  Effect.gen(function* () {
    const turn = yield* (yield* Turns).start(request)
    const live = yield* Stream.runCollect(turn.events)
    return { threadId: turn.threadId, runId: turn.runId, live }
  })

describe("retention", () => {
  it.effect("keeps every log unless it is told not to, and deletes what no promise needs", () =>
    Effect.gen(function* () {
      const { process, prune, state } = open()
      const turn = yield* process(
        [say("One.")],
        turnWithEvents({ content: "Hi", stream: true, idempotency: { key: "k", fingerprint: "f" } })
      )
      yield* TestClock.adjust("47 hours")
      assert.deepStrictEqual(yield* prune, nothing)
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(yield* prune, { ...nothing, idempotencyKeys: 1 })
      assert.strictEqual(state.repeated.size, 0)
      yield* TestClock.adjust("3650 days")
      assert.deepStrictEqual(yield* prune, nothing)
      assert.deepStrictEqual(yield* process([], storedLog(turn)), turn.live)
    }).pipe(Principal.provide("ada"))
  )

  it.effect(
    "a run whose log is gone is followed by its end alone, with the whole text, from wherever it is asked",
    () =>
      Effect.gen(function* () {
        const { process, prune } = open({ logs: "30 days" })
        const look = (turn: { readonly threadId: ThreadId; readonly runId: RunId }) =>
          Effect.all([
            messagesIn(turn.threadId),
            Effect.provide(
              Inspections.use(({ inspect }) => inspect(turn.threadId, turn.runId)),
              Inspections.layer()
            )
          ])
        const [turn, before] = yield* process(
          [say("It is ", "raining.")],
          Effect.flatMap(turnWithEvents({ content: "Weather?", stream: true }), (ended) =>
            Effect.map(look(ended), (seen) => [ended, seen] as const)
          )
        )
        yield* TestClock.adjust("31 days")
        assert.deepStrictEqual(yield* prune, { ...nothing, logs: 1 })
        const end = terminalEvent(turn.live)
        assert.strictEqual(end._tag, "RunEnded")
        yield* process(
          [],
          Effect.gen(function* () {
            for (const after of [0, 2, end.sequence - 1]) assert.deepStrictEqual(yield* followed(turn, after), [end])
            assert.deepStrictEqual(yield* followed(turn, end.sequence), [])
            const [messages, inspection] = yield* look(turn)
            assert.deepStrictEqual(messages, before[0])
            assert.deepStrictEqual(inspection, {
              ...before[1],
              steps: before[1].steps.filter(({ kind }) => kind === "settle"),
              charges: [],
              prompts: before[1].prompts.slice(-1).map((prompt) => Object.assign({}, prompt, { inputTokens: null }))
            })
            assert.lengthOf(inspection.prompts, 1)
          })
        )
      }).pipe(Principal.provide("ada"))
  )

  it.effect("the ends of failed, cancelled and saved runs are told as they were", () =>
    Effect.gen(function* () {
      const { process, prune } = open({ logs: "1 day" })
      const turns = yield* process(
        [fail("invalid_request"), callTool("weather", {})],
        Effect.gen(function* () {
          const failed = yield* turnWithEvents({ content: "No", stream: true })
          const waiting = yield* turnWithEvents({ content: "Ask", stream: true, tools: [weather] })
          yield* (yield* Turns).cancel(waiting.threadId, waiting.runId)
          const saved = yield* turnWithEvents({ content: "Keep this", stream: true, sendToModel: false })
          return { failed, waiting, saved }
        })
      )
      yield* TestClock.adjust("2 days")
      assert.strictEqual((yield* prune).logs, 3)
      const [failed, waiting, saved] = yield* process(
        [],
        Effect.all([followed(turns.failed, 0), followed(turns.waiting, 0), followed(turns.saved, 0)])
      )
      assert.deepStrictEqual(failed, [terminalEvent(turns.failed.live)])
      assert.deepStrictEqual(saved, [terminalEvent(turns.saved.live)])
      assert.deepStrictEqual(tags(waiting), ["RunCancelled"])
    }).pipe(Principal.provide("ada"))
  )

  it.effect("a decision about such a run that is repeated gets the reply with its time and its ignored options", () =>
    Effect.gen(function* () {
      const { prune, state } = open({ logs: "1 day" })
      const pay = tool({ name: "pay", description: "", parameters: null, needsApproval: true, execute: () => "paid" })
      yield* TestClock.adjust("1 day")
      const kernel = yield* openKernel([callTool("pay", {}, "a"), say("Paid.")], {
        stores: InMemory.layerFrom(state),
        hosted: [pay]
      })
      const turns = yield* kernel.run(Turns)
      const { runId, threadId } = yield* turns.send({ content: "Pay", jsonOutput: true })
      const decide = Effect.flatMap(
        turns.decide({ threadId, runId, decisions: [{ toolCallId: "a", decision: "approve" }] }),
        ({ reply }) => reply
      )
      const first = yield* decide
      yield* kernel.close
      yield* TestClock.adjust("2 days")
      assert.strictEqual((yield* prune).logs, 1)
      const other = yield* openKernel([], { stores: InMemory.layerFrom(state), hosted: [pay] })
      const again = yield* other.run(
        Turns.use(({ decide: decideAgain }) =>
          Effect.flatMap(
            decideAgain({ threadId, runId, decisions: [{ toolCallId: "a", decision: "approve" }] }),
            ({ reply }) => reply
          )
        )
      )
      assert.deepStrictEqual(first.ignored, [{ option: "json_output", because: "tools are active" }])
      const { content, createdAt, ignored } = first
      assert.deepInclude(again, { content, createdAt, ignored })
    }).pipe(Principal.provide("ada"))
  )

  it.effect("a run that waits for its client keeps its log, however long, and goes on", () =>
    Effect.gen(function* () {
      const { process, prune } = open({ logs: "1 day" })
      const asked = yield* process(
        [callTool("weather", {})],
        Turns.use(({ send }) => send({ content: "Ask", tools: [weather] }))
      )
      yield* TestClock.adjust("400 days")
      assert.strictEqual((yield* prune).logs, 0)
      const outputs = asked.toolCalls.map(({ id }) => ({ toolCallId: id, output: "sun" }))
      const submit = Turns.use(({ submitToolOutputs }) => submitToolOutputs({ threadId: asked.threadId, outputs }))
      const reply = yield* process(
        [say("Sunny.")],
        Effect.flatMap(submit, (turn) => turn.reply)
      )
      assert.strictEqual(reply.content, "Sunny.")
    }).pipe(Principal.provide("ada"))
  )

  it.effect("what is left of deleted threads goes, and done follow-ups; dead ones wait unless told otherwise", () =>
    Effect.gen(function* () {
      const { process, prune, state } = open({ deadFollowUps: "60 days" })
      yield* process(
        [],
        Effect.gen(function* () {
          const { id } = yield* openThread
          yield* startTurn(id)
          yield* (yield* ThreadStore).remove(id)
          const store = yield* FollowUpStore
          const minute = Duration.minutes(1)
          yield* store.add([yield* sampleFollowUp("done"), yield* sampleFollowUp("dead")])
          for (const claim of yield* store.claim(["done"], 1, minute)) yield* store.complete(claim)
          for (const claim of yield* store.claim(["dead"], 1, minute)) {
            yield* store.fail(claim, { error: "No.", pause: null, isCounted: true })
          }
        })
      )
      assert.strictEqual(state.deletedRuns.size, 1)
      yield* TestClock.adjust("31 days")
      assert.deepStrictEqual(yield* prune, { ...nothing, deletedRuns: 1, followUps: 1 })
      yield* TestClock.adjust("31 days")
      const pruned = yield* prune
      assert.deepStrictEqual(pruned, { ...nothing, deadFollowUps: 1 })
      assert.strictEqual(describePruned(pruned), "Deleted by age: 1 follow-ups that had failed.")
    }).pipe(Principal.provide("ada"))
  )

  it.effect("as a layer it does so again and again, in steps no larger than the batch", () =>
    Effect.gen(function* () {
      const { process, start, state } = open({ logs: "1 day", every: "1 hour", batch: 3, pause: "1 second" })
      const replies = Array.from({ length: 7 }, (_, index) => say(`${index}`))
      yield* process(
        replies,
        Effect.forEach(replies, () => turnWithEvents({ content: "Hi", stream: true }))
      )
      yield* start
      const logs = () => [...state.runs.values()].filter(({ log }) => log.length > 0).length
      yield* TestClock.adjust("24 hours")
      assert.strictEqual(logs(), 7)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(logs(), 4)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(logs(), 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(logs(), 0)
    }).pipe(Principal.provide("ada"), Effect.scoped)
  )

  it.effect("refuses ages that would break what is promised for a day", () =>
    Effect.gen(function* () {
      const { prune, start } = open({ idempotencyKeys: "23 hours", logs: "1 hour" })
      for (const { message } of [yield* Effect.flip(start), yield* Effect.flip(prune)]) {
        assert.include(
          message,
          "`logs` must be a day at least, or null. `idempotencyKeys` must be a day at least, or null."
        )
      }
    }).pipe(Effect.scoped)
  )

  it.effect("a store that is away is asked again at the next hour", () =>
    Effect.gen(function* () {
      let asked = 0
      const store = Layer.succeed(RetentionStore, {
        prune: () =>
          Effect.suspend(() => {
            asked++
            return asked === 1 ? Effect.die("gone") : Effect.succeed(0)
          })
      })
      const stores = Layer.merge(InMemory.layer, store)
      yield* Layer.build(Layer.provide(Retention.layer(), [stores, quiet]))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(asked, 1)
      yield* TestClock.adjust("1 hour")
      assert.isAbove(asked, 1)
    }).pipe(Effect.scoped)
  )
})
