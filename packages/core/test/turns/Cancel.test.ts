import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, fail, gate, hang, say, ScriptedModel } from "@colloquy/testing"
import { RunId, type ThreadId, Turns } from "@colloquy/core"
import { newId, RunStore } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import {
  failureFrom,
  messagesIn,
  openKernel,
  storedRun,
  story,
  terminalEvent,
  transcript,
  weather
} from "../support/Story.ts"

const start = Turns.use((turns) => turns.start({ content: "Hi", stream: true }))
const cancel = (turn: { readonly threadId: ThreadId; readonly runId: RunId }) =>
  Turns.use((turns) => turns.cancel(turn.threadId, turn.runId))

const queue = InMemory.makeState()
const shared = InMemory.makeState()

describe("a cancel", () => {
  story(
    "ends the run at its next yield, keeps what was said, closes the model's stream, and frees the thread",
    [[say("Hel"), gate(), say("lo.")], say("Next.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turn = yield* start
      const events = yield* Effect.forkChild(Stream.runCollect(turn.events))
      yield* model.reached()
      const run = yield* cancel(turn)
      assert.deepInclude(run, { status: "CANCELLED", cancelRequested: true, fault: null })
      assert.deepInclude(terminalEvent(yield* Fiber.join(events)), { _tag: "RunCancelled", content: "Hel" })
      assert.strictEqual(model.interrupted(), 1)
      assert.deepStrictEqual((yield* transcript(turn.threadId))[1], ["assistant", "CANCELLED", "Hel"])
      const next = yield* (yield* Turns).send({ content: "2", threadId: turn.threadId, busy: "reject" })
      assert.strictEqual(next.content, "Next.")
      const said = model.requests[1]?.messages.map((message) => message.role)
      assert.deepStrictEqual(said, ["user", "assistant", "user"])
    })
  )

  story(
    "in the very moment in which the run begins settles it too",
    [{ _tag: "Text", deltas: ["never heard"] }],
    Effect.gen(function* () {
      const turn = yield* start
      const run = yield* cancel(turn)
      assert.include(["CANCELLED", "COMPLETED"], run.status)
      assert.include(["CANCELLED", "COMPLETED"], (yield* turn.reply).status)
      assert.strictEqual((yield* messagesIn(turn.threadId)).length, 2)
    }),
    { model: { otherwise: [] } }
  )

  story(
    "is idempotent, alone and ten at a time, and leaves one terminal event",
    [[say("Hel"), gate()]],
    Effect.gen(function* () {
      const turn = yield* start
      yield* (yield* ScriptedModel).reached()
      const runs = yield* Effect.all(
        Array.from({ length: 10 }, () => cancel(turn)),
        { concurrency: "unbounded" }
      )
      const again = yield* cancel(turn)
      for (const run of runs) assert.deepStrictEqual(run, again)
      assert.strictEqual(again.status, "CANCELLED")
      assert.strictEqual(terminalEvent(yield* Stream.runCollect(turn.events))._tag, "RunCancelled")
      assert.strictEqual((yield* messagesIn(turn.threadId)).length, 2)
    })
  )

  const ended: ReadonlyArray<readonly [string, Parameters<typeof story>[1][number], string]> = [
    ["completed", say("Hello."), "COMPLETED"],
    ["failed", fail("auth"), "FAILED"]
  ]
  for (const [name, step, status] of ended) {
    story(
      `leaves a run that has ${name} as it is`,
      [step],
      Effect.gen(function* () {
        const reply = yield* (yield* Turns).send({ content: "Hi" })
        const before = yield* storedRun(reply)
        assert.strictEqual((yield* cancel(reply)).status, status)
        assert.deepStrictEqual(
          { ...(yield* storedRun(reply)), cancelRequested: false },
          { ...before, cancelRequested: false }
        )
      })
    )
  }

  story(
    "races with the end: one of the two wins, everywhere the same one",
    [[say("Hel"), gate(), say("lo.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turn = yield* start
      const events = yield* Effect.forkChild(Stream.runCollect(turn.events))
      yield* model.reached()
      const [, run] = yield* Effect.all([model.release(), cancel(turn)], { concurrency: "unbounded" })
      const end = terminalEvent(yield* Fiber.join(events))
      const stored = (yield* messagesIn(turn.threadId))[1]
      assert.strictEqual(end._tag, run.status === "COMPLETED" ? "RunEnded" : "RunCancelled")
      assert.deepStrictEqual([stored?.status, (yield* storedRun(turn)).status], [run.status, run.status])
    })
  )

  story(
    "of a run that waits in the queue ends it before it began, with its message kept",
    [[gate("1"), say("one")], say("three")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const first = yield* turns.start({ content: "1" })
      yield* model.reached("1")
      const second = yield* Effect.forkChild(turns.send({ content: "2", threadId: first.threadId }), {
        startImmediately: true
      })
      yield* Effect.yieldNow
      const queued = [...queue.runs.values()].find(({ run }) => run.status === "QUEUED")
      const run = yield* cancel({ threadId: first.threadId, runId: queued!.run.id })
      assert.strictEqual(run.status, "CANCELLED")
      assert.strictEqual((yield* Fiber.join(second)).status, "CANCELLED")
      const third = yield* Effect.forkChild(turns.send({ content: "3", threadId: first.threadId }), {
        startImmediately: true
      })
      yield* model.release("1")
      assert.strictEqual((yield* Fiber.join(third)).content, "three")
      assert.deepStrictEqual(
        (yield* transcript(first.threadId)).map(([, status, content]) => `${status} ${content}`),
        ["COMPLETED 1", "COMPLETED 2", "CANCELLED null", "COMPLETED one", "COMPLETED 3", "COMPLETED three"]
      )
    }),
    { stores: InMemory.layerFrom(queue) }
  )

  story(
    "of a run that waits for its client ends it, and its calls are closed for the next turn",
    [callTool("weather", {}, "a"), say("Next.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "?", tools: [weather] })
      assert.strictEqual((yield* cancel(asked)).status, "CANCELLED")
      assert.strictEqual((yield* messagesIn(asked.threadId))[1]?.status, "CANCELLED")
      const outputs = [{ toolCallId: "a", output: "sun" }]
      const late = yield* failureFrom(
        turns.submitToolOutputs({ threadId: asked.threadId, runId: asked.runId, outputs })
      )
      assert.strictEqual(late._tag, "ToolOutputsRejected")
      yield* turns.send({ content: "2", threadId: asked.threadId })
      const roles = (yield* ScriptedModel).requests[1]?.messages.map((message) => message.role)
      assert.deepStrictEqual(roles, ["user", "assistant", "tool", "user"])
    })
  )

  story(
    "between two legs, and in the second one, keeps the first",
    [
      [say("a"), callTool("weather", {}, "c")],
      [say("b"), gate()]
    ],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "?", tools: [weather] })
      const next = yield* turns.submitToolOutputs({
        threadId: asked.threadId,
        outputs: [{ toolCallId: "c", output: "sun" }]
      })
      yield* (yield* ScriptedModel).reached()
      yield* cancel(next)
      assert.deepStrictEqual(yield* transcript(asked.threadId), [
        ["user", "COMPLETED", "?"],
        ["assistant", "COMPLETED", "a"],
        ["assistant", "CANCELLED", "b"]
      ])
    })
  )

  story(
    "from another process reaches the one that works on the run",
    [[say("Hel"), gate()]],
    Effect.gen(function* () {
      const other = yield* openKernel([], { stores: InMemory.layerFrom(shared) })
      const turn = yield* start
      yield* (yield* ScriptedModel).reached()
      assert.strictEqual((yield* other.run(cancel(turn))).status, "CANCELLED")
      assert.deepInclude(yield* turn.reply, { status: "CANCELLED", content: "Hel" })
      assert.strictEqual((yield* ScriptedModel).interrupted(), 1)
    }),
    { stores: InMemory.layerFrom(shared) }
  )

  story(
    "of a run whose process does not react takes it away from there after a grace, with what is stored",
    [],
    Effect.gen(function* () {
      const state = InMemory.makeState()
      // Deaf: it neither gets hints nor asks.
      const deaf = yield* openKernel([[say("Hel"), hang]], {
        stores: InMemory.layerFrom({ ...state, listeners: new Set() }),
        settings: { lease: "1 day" }
      })
      const other = yield* openKernel([], { stores: InMemory.layerFrom(state) })
      const turn = yield* deaf.run(start)
      yield* TestClock.adjust("1 second")
      const cancelling = yield* Effect.forkChild(other.run(cancel(turn)), { startImmediately: true })
      yield* TestClock.adjust("499 millis")
      assert.isUndefined(cancelling.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(cancelling)).status, "CANCELLED")
      assert.deepStrictEqual((yield* other.run(transcript(turn.threadId)))[1], ["assistant", "CANCELLED", "Hel"])
      const events = yield* other.run(
        Stream.runCollect(yield* other.run(Turns.use((turns) => turns.follow(turn.threadId, turn.runId, 0))))
      )
      assert.strictEqual(terminalEvent(events)._tag, "RunCancelled")
    })
  )

  story(
    "of a run that does not exist, or of another thread, is refused",
    [say("1"), say("2")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const [one, two] = [yield* turns.send({ content: "1" }), yield* turns.send({ content: "2" })]
      const wrong = [
        { threadId: one.threadId, runId: yield* newId(RunId) },
        { threadId: one.threadId, runId: two.runId }
      ]
      for (const turn of wrong) assert.strictEqual((yield* failureFrom(cancel(turn)))._tag, "RunNotFound")
    })
  )

  story(
    "whose caller goes away is carried out",
    [[say("Hel"), gate()]],
    Effect.gen(function* () {
      const turn = yield* start
      yield* (yield* ScriptedModel).reached()
      const caller = yield* Effect.forkChild(cancel(turn), { startImmediately: true })
      yield* Fiber.interrupt(caller)
      const store = yield* RunStore
      const run = yield* store.get(turn.runId)
      assert.isTrue(run._tag === "Some" && run.value.cancelRequested)
      assert.strictEqual((yield* turn.reply).status, "CANCELLED")
    })
  )
})
