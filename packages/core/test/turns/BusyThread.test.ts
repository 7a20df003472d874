import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, fail, gate, hang, say, ScriptedModel } from "@colloquy/testing"
import {
  defaultTurnSettings,
  Principal,
  type RunId,
  type ThreadId,
  Threads,
  type TurnEvent,
  Turns
} from "@colloquy/core"
import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import {
  failureFrom,
  openKernel,
  storedRun,
  story,
  tags,
  terminalEvent,
  transcript,
  weather
} from "../support/Story.ts"
import { faultyStores, watchedStores } from "../support/WatchedStores.ts"

const patient = { ...defaultTurnSettings.chat, firstEventTimeout: "1 hour", idleTimeout: "1 hour" } as const
const contents = (threadId: ThreadId) =>
  Effect.map(transcript(threadId), (lines) => lines.map(([, , content]) => content))

const shared = InMemory.makeState()
const elsewhere = InMemory.makeState()

/** A turn that stands at the gate of this name. */
const blocked = Effect.fnUntraced(function* (name: string) {
  const turn = yield* (yield* Turns).start({ content: name })
  yield* (yield* ScriptedModel).reached(name)
  return turn
})

describe("two messages on one thread", () => {
  story(
    "enqueue: the second is answered after the first, in its own turn",
    [[gate("1"), say("one")], say("two")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const second = yield* Effect.forkChild(turns.send({ content: "2", threadId: first.threadId }), {
        startImmediately: true
      })
      assert.deepStrictEqual(yield* contents(first.threadId), ["1", null])
      yield* (yield* ScriptedModel).release("1")
      assert.strictEqual((yield* Fiber.join(second)).content, "two")
      assert.deepStrictEqual(yield* contents(first.threadId), ["1", "one", "2", "two"])
    })
  )

  story(
    "enqueue: one in the background has started as soon as it is stored",
    [[gate("1"), say("one")], say("two")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* blocked("1")
      const second = yield* turns.start({ content: "2", threadId, background: true })
      assert.strictEqual((yield* turns.report(threadId, second.runId)).run.status, "QUEUED")
      yield* (yield* ScriptedModel).release("1")
      assert.strictEqual((yield* second.reply).content, "two")
      assert.deepStrictEqual(yield* contents(threadId), ["1", "one", "2", "two"])
    })
  )

  story(
    "enqueue: many are answered in their order of arrival, whoever waits in whichever process",
    [[gate("1"), say("a1")], ...[2, 4, 6, 8].map((n) => say(`a${n}`))],
    Effect.gen(function* () {
      const other = yield* openKernel(
        [3, 5, 7, 9].map((n) => say(`a${n}`)),
        { stores: InMemory.layerFrom(shared) }
      )
      const first = yield* blocked("1")
      const waiting = []
      for (let n = 2; n <= 9; n++) {
        const send = Turns.use((turns) => turns.send({ content: `${n}`, threadId: first.threadId }))
        const sent = n % 2 === 0 ? send : other.run(send)
        waiting.push(yield* Effect.forkChild(sent, { startImmediately: true }))
        yield* Effect.yieldNow
      }
      yield* (yield* ScriptedModel).release("1")
      yield* Effect.forEach(waiting, (fiber) => Fiber.join(fiber))
      const expected = Array.from({ length: 9 }, (_, index) => [`${index + 1}`, `a${index + 1}`]).flat()
      assert.deepStrictEqual(yield* contents(first.threadId), expected)
    }),
    { stores: InMemory.layerFrom(shared) }
  )

  story(
    "enqueue: the second is refused after its time, leaves no trace, and the first goes on",
    [[gate("1"), say("one")], say("three")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const second = yield* Effect.forkChild(failureFrom(turns.send({ content: "2", threadId: first.threadId })), {
        startImmediately: true
      })
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(second.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const refused = yield* Fiber.join(second)
      assert.deepInclude(refused, { _tag: "ThreadBusy", threadId: first.threadId, runId: first.runId })
      yield* (yield* ScriptedModel).release("1")
      yield* first.reply
      yield* turns.send({ content: "3", threadId: first.threadId })
      assert.deepStrictEqual(yield* contents(first.threadId), ["1", "one", "3", "three"])
    }),
    { settings: { chat: patient } }
  )

  story(
    "enqueue: no more wait than the host allows",
    [[gate("1"), say("one")], say("two")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const { threadId } = first
      const second = yield* Effect.forkChild(turns.send({ content: "2", threadId }), { startImmediately: true })
      const third = yield* failureFrom(turns.send({ content: "3", threadId }))
      assert.deepInclude(third, { _tag: "ThreadBusy", runId: first.runId })
      yield* (yield* ScriptedModel).release("1")
      yield* Fiber.join(second)
      assert.deepStrictEqual(yield* contents(threadId), ["1", "one", "2", "two"])
    }),
    { settings: { maxQueued: 1 } }
  )

  story(
    "enqueue: one whose caller goes away keeps its place and is answered",
    [
      [gate("1"), say("one")],
      [gate("2"), say("two")]
    ],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const { threadId } = yield* blocked("1")
      const second = yield* Effect.forkChild(turns.send({ content: "2", threadId }), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(second)
      yield* model.release("1")
      yield* model.reached("2")
      yield* model.release("2")
      yield* turns.drain
      assert.deepStrictEqual(yield* contents(threadId), ["1", "one", "2", "two"])
    })
  )

  story(
    "reject: the second is refused with the run in its way, and nothing is stored",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const first = yield* blocked("1")
      const request = { content: "2", threadId: first.threadId, busy: "reject" as const }
      const refused = yield* failureFrom((yield* Turns).send(request))
      assert.deepInclude(refused, { _tag: "ThreadBusy", runId: first.runId })
      yield* (yield* ScriptedModel).release("1")
      yield* first.reply
      assert.deepStrictEqual(yield* contents(first.threadId), ["1", "one"])
    })
  )

  story(
    "interrupt: the second ends the first, which keeps what it said, and is answered at once",
    [[say("on"), gate("1"), say("e")], say("two")],
    Effect.gen(function* () {
      const first = yield* blocked("1")
      const second = yield* (yield* Turns).send({ content: "2", threadId: first.threadId })
      assert.strictEqual(second.content, "two")
      assert.deepInclude(yield* first.reply, { status: "CANCELLED", content: "on" })
      assert.deepStrictEqual(yield* transcript(first.threadId), [
        ["user", "COMPLETED", "1"],
        ["assistant", "CANCELLED", "on"],
        ["user", "COMPLETED", "2"],
        ["assistant", "COMPLETED", "two"]
      ])
    }),
    { settings: { busy: "interrupt" } }
  )

  story(
    "interrupt: also when the first one runs in another process",
    [say("two")],
    Effect.gen(function* () {
      const other = yield* openKernel([[say("on"), hang]], { stores: InMemory.layerFrom(elsewhere) })
      const first = yield* other.run(Turns.use((turns) => turns.start({ content: "1" })))
      const second = yield* (yield* Turns).send({ content: "2", threadId: first.threadId, busy: "interrupt" })
      assert.strictEqual(second.content, "two")
      assert.deepInclude(yield* other.run(first.reply), { status: "CANCELLED", content: "on" })
    }),
    { stores: InMemory.layerFrom(elsewhere) }
  )

  story(
    "interrupt: of many that come at once every one is answered or cancelled, and the thread is free",
    [[gate("1"), say("one")], ...Array.from({ length: 5 }, (_, n) => say(`answer ${n}`))],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* blocked("1")
      const sends = Array.from({ length: 5 }, (_, n) =>
        turns.send({ content: `${n + 2}`, threadId, busy: "interrupt" })
      )
      const replies = yield* Effect.all(sends, { concurrency: "unbounded" })
      assert.isTrue(replies.every(({ status }) => status === "COMPLETED" || status === "CANCELLED"))
      assert.strictEqual((yield* transcript(threadId)).length, 12)
    })
  )

  story(
    "race: ten at once under reject give one answer and nine refusals",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const saved = yield* turns.send({ content: "note", sendToModel: false })
      const sends = Array.from({ length: 10 }, (_, n) =>
        Effect.exit(turns.send({ content: `${n}`, threadId: saved.threadId, busy: "reject" }))
      )
      const all = yield* Effect.forkChild(Effect.all(sends, { concurrency: "unbounded" }))
      yield* (yield* ScriptedModel).reached("1")
      yield* (yield* ScriptedModel).release("1")
      const exits = yield* Fiber.join(all)
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
      assert.strictEqual((yield* transcript(saved.threadId)).length, 3)
    })
  )

  story(
    "enqueue: one that is only saved takes its turn: the answer stays behind its question",
    [[gate("1"), say("one")], say("two")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const note = { content: "note", threadId: first.threadId, sendToModel: false }
      const saved = yield* Effect.forkChild(turns.send(note), { startImmediately: true })
      yield* Effect.yieldNow
      const second = yield* Effect.forkChild(turns.send({ content: "2", threadId: first.threadId }), {
        startImmediately: true
      })
      yield* TestClock.adjust("15 seconds")
      assert.isUndefined(saved.pollUnsafe())
      yield* (yield* ScriptedModel).release("1")
      assert.deepInclude(yield* Fiber.join(saved), { status: "COMPLETED", role: "user", content: "note" })
      yield* Fiber.join(second)
      assert.deepStrictEqual(yield* contents(first.threadId), ["1", "one", "note", "2", "two"])
      assert.deepInclude(yield* storedRun(yield* Fiber.join(saved)), { status: "COMPLETED" })
    })
  )

  story(
    "enqueue: no more may wait than the host allows, and the refusal says so",
    [[gate("1"), say("one")], say("two")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const next = turns.send({ content: "2", threadId: first.threadId })
      const second = yield* Effect.forkChild(next, { startImmediately: true })
      yield* TestClock.adjust("1 second")
      const refused = yield* failureFrom(next)
      assert.deepInclude(refused, { _tag: "ThreadBusy", full: 1 })
      assert.match(refused.message, /1 messages wait/u)
      const rejected = yield* failureFrom(turns.send({ content: "3", threadId: first.threadId, busy: "reject" }))
      assert.isUndefined(rejected._tag === "ThreadBusy" ? rejected.full : 0)
      yield* (yield* ScriptedModel).release("1")
      yield* Fiber.join(second)
    }),
    { settings: { maxQueued: 1 } }
  )

  story(
    "one that is only saved is refused under reject, and after its time in the queue, and leaves nothing",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const note = { content: "note", threadId: first.threadId, sendToModel: false }
      assert.strictEqual((yield* failureFrom(turns.send({ ...note, busy: "reject" })))._tag, "ThreadBusy")
      const late = yield* Effect.forkChild(failureFrom(turns.send(note)), { startImmediately: true })
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual((yield* Fiber.join(late))._tag, "ThreadBusy")
      yield* (yield* ScriptedModel).release("1")
      yield* first.reply
      assert.deepStrictEqual(yield* contents(first.threadId), ["1", "one"])
    }),
    { settings: { chat: patient } }
  )

  story(
    "interrupt: one that is only saved ends the first one",
    [[say("Half"), gate("1"), say("one")]],
    Effect.gen(function* () {
      const first = yield* blocked("1")
      const note = { content: "note", threadId: first.threadId, sendToModel: false, busy: "interrupt" } as const
      assert.strictEqual((yield* (yield* Turns).send(note)).status, "COMPLETED")
      assert.deepStrictEqual(yield* contents(first.threadId), ["1", "Half", "note"])
      assert.strictEqual((yield* storedRun(first)).status, "CANCELLED")
    })
  )

  const notes = InMemory.makeState()
  story(
    "one that is only saved, and whose kernel is closed while it waits, leaves nothing",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const first = yield* blocked("1")
      const other = yield* openKernel([], { stores: InMemory.layerFrom(notes) })
      const note = Turns.use((turns) => turns.send({ content: "note", threadId: first.threadId, sendToModel: false }))
      const saved = yield* Effect.forkChild(failureFrom(other.run(note)), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* other.close
      assert.strictEqual((yield* Fiber.join(saved))._tag, "ThreadBusy")
      yield* (yield* ScriptedModel).release("1")
      yield* first.reply
      assert.deepStrictEqual(yield* contents(first.threadId), ["1", "one"])
    }),
    { stores: InMemory.layerFrom(notes) }
  )

  story(
    "after a failed first one the second is answered",
    [[gate("1"), fail("auth")], say("two")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const second = yield* Effect.forkChild(turns.send({ content: "2", threadId: first.threadId }), {
        startImmediately: true
      })
      yield* (yield* ScriptedModel).release("1")
      assert.strictEqual((yield* Fiber.join(second)).content, "two")
    })
  )
})

describe("a streamed message that waits for its turn", () => {
  const streamed = Effect.fnUntraced(function* (content: string, threadId: ThreadId, more: object = {}) {
    const turn = yield* (yield* Turns).start({ content, threadId, stream: true, ...more })
    return { ...turn, events: yield* Stream.toPull(turn.events) }
  })
  const patiently = { settings: { chat: patient } }

  story(
    "is known at once: its stream begins with the message, its run is in the list, and its answer follows in its turn",
    [[gate("1"), say("one")], say("two")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const { threadId } = first
      const second = yield* streamed("2", threadId)
      assert.deepStrictEqual(tags(yield* second.events), ["UserMessage"])
      const { runs } = yield* turns.list(threadId, { limit: 10 })
      assert.deepStrictEqual(
        runs.map(({ run }) => [run.id, run.status]),
        [
          [second.runId, "QUEUED"],
          [first.runId, "IN_PROGRESS"]
        ]
      )
      yield* (yield* ScriptedModel).release("1")
      const reply = yield* second.reply
      assert.strictEqual(reply.content, "two")
      assert.deepStrictEqual(
        tags(yield* Stream.runCollect(yield* turns.follow(threadId, second.runId, 1)))[0],
        "RunStarted"
      )
      assert.deepStrictEqual(yield* contents(threadId), ["1", "one", "2", "two"])
    })
  )

  story(
    "can be cancelled before its turn: its stream ends without a beginning, its message stays, and no model is asked",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* blocked("1")
      const second = yield* streamed("2", threadId)
      yield* second.events
      assert.strictEqual((yield* turns.cancel(threadId, second.runId)).status, "CANCELLED")
      assert.deepInclude(yield* second.reply, { status: "CANCELLED", runId: second.runId, content: "" })
      const followed = yield* Stream.runCollect(yield* turns.follow(threadId, second.runId, 0))
      assert.deepStrictEqual(tags(followed), ["UserMessage", "RunCancelled"])
      assert.deepInclude(followed[1], {
        provider: "scripted",
        model: "scripted-model",
        messageId: (yield* second.reply).messageId
      })
      yield* (yield* ScriptedModel).release("1")
      yield* turns.drain
      assert.deepStrictEqual(yield* contents(threadId), ["1", "2", null, "one"])
    })
  )

  story(
    "ends its stream with the refusal after its time, and leaves no trace",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const second = yield* (yield* Turns).start({ content: "2", threadId: first.threadId, stream: true })
      const seen = yield* Effect.forkChild(Stream.runCollect(second.events), { startImmediately: true })
      yield* TestClock.adjust("31 seconds")
      const events = yield* Fiber.join(seen)
      assert.deepStrictEqual(tags(events), ["UserMessage", "RunFailed"])
      assert.deepInclude(events[1], { code: "thread_busy", retryable: true, content: "" })
      assert.strictEqual((yield* failureFrom(turns.report(first.threadId, second.runId)))._tag, "RunNotFound")
      yield* (yield* ScriptedModel).release("1")
      yield* first.reply
      assert.deepStrictEqual(yield* contents(first.threadId), ["1", "one"])
    }),
    patiently
  )

  /** What a reader in another process gets of a message that waits here. */
  const seenElsewhere = Effect.fnUntraced(function* (state: InMemory.State, threadId: ThreadId, runId: RunId) {
    const other = yield* openKernel([], { stores: InMemory.layerFrom(state), ...patiently })
    const events = yield* other.run(Turns.use((turns) => turns.follow(threadId, runId, 0)))
    const seen: Array<TurnEvent> = []
    const all = events.pipe(Stream.runForEach((event) => Effect.sync(() => void seen.push(event))))
    return { seen, all: yield* Effect.forkChild(all, { startImmediately: true }) }
  })

  for (const [end, change, tag] of [
    ["the refusal when it has waited too long", "wait", "RunFailed"],
    ["its end when the thread is deleted", "delete", "RunCancelled"],
    ["its answer when the thread is free", "release", "RunEnded"]
  ] as const) {
    const state = InMemory.makeState()
    story(
      `shows itself at once to a reader in another process, and ${end}`,
      [[gate("1"), say("one")], ...(change === "release" ? [say("two")] : [])],
      Effect.gen(function* () {
        const { threadId } = yield* blocked("1")
        const second = yield* streamed("2", threadId)
        const { all, seen } = yield* seenElsewhere(state, threadId, second.runId)
        assert.deepStrictEqual(tags(seen), ["UserMessage"])
        if (change === "wait") yield* TestClock.adjust("31 seconds")
        if (change === "release") yield* (yield* ScriptedModel).release("1")
        if (change === "delete") yield* (yield* Threads).remove(threadId)
        yield* Fiber.join(all)
        assert.strictEqual(seen.at(-1)?._tag, tag)
        if (change === "wait") assert.deepInclude(seen[1], { code: "thread_busy", retryable: true, sequence: 2 })
      }),
      { stores: InMemory.layerFrom(state), ...patiently }
    )
  }

  story(
    "and is only to be saved: is known, saved in its turn, and cancelled without a trace",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* blocked("1")
      const kept = yield* streamed("kept", threadId, { sendToModel: false })
      const dropped = yield* streamed("dropped", threadId, { sendToModel: false })
      for (const { events } of [kept, dropped]) assert.deepStrictEqual(tags(yield* events), ["UserMessage"])
      assert.strictEqual((yield* turns.cancel(threadId, dropped.runId)).status, "CANCELLED")
      assert.deepStrictEqual(tags(yield* dropped.events), ["RunCancelled"])
      yield* (yield* ScriptedModel).release("1")
      assert.deepStrictEqual(tags(yield* kept.events), ["MessageSaved"])
      yield* turns.drain
      assert.deepStrictEqual(yield* contents(threadId), ["1", "one", "kept"])
    })
  )

  story(
    "is unknown to others, as its thread is",
    [say("1")],
    Effect.gen(function* () {
      const { threadId } = yield* (yield* Turns).send({ content: "1" })
      const list = Turns.use((turns) => turns.list(threadId, { limit: 10 }))
      assert.strictEqual((yield* list).runs.length, 1)
      assert.strictEqual((yield* failureFrom(list.pipe(Principal.provide("bob"))))._tag, "ThreadNotFound")
    })
  )
})

describe("a new message while tool outputs are awaited", () => {
  story(
    "supersedes the run: it is cancelled, its calls are closed in the history, late outputs are refused by name",
    [[say("Let me see."), callTool("weather", { city: "Paris" }, "call_a")], say("Never mind, then.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "Weather?", tools: [weather] })
      assert.strictEqual(asked.status, "REQUIRES_ACTION")
      yield* turns.send({ content: "Forget it.", threadId: asked.threadId })
      assert.strictEqual((yield* storedRun(asked)).status, "CANCELLED")
      assert.deepStrictEqual((yield* transcript(asked.threadId))[1], ["assistant", "CANCELLED", "Let me see."])
      const roles = model.requests[1]?.messages.map((message) => message.role)
      assert.deepStrictEqual(roles, ["user", "assistant", "tool", "user"])
      const closed = model.requests[1]?.messages[2]
      assert.isTrue(closed?.role === "tool" && closed.toolCallId === "call_a" && closed.output.includes("No result"))
      const late = (runId?: typeof asked.runId) =>
        failureFrom(
          turns.submitToolOutputs({
            threadId: asked.threadId,
            ...(runId === undefined ? {} : { runId }),
            outputs: [{ toolCallId: "call_a", output: "sun" }]
          })
        )
      assert.deepInclude(yield* late(asked.runId), {
        _tag: "ToolOutputsRejected",
        problems: [{ toolCallId: "call_a", index: 0, problem: "already_answered" }]
      })
      assert.strictEqual((yield* late())._tag, "NothingPending")
    })
  )

  story(
    "that is only saved supersedes it too",
    [callTool("weather")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "Weather?", tools: [weather] })
      yield* turns.send({ content: "note", threadId: asked.threadId, sendToModel: false })
      assert.strictEqual((yield* storedRun(asked)).status, "CANCELLED")
    })
  )

  story(
    "is refused before it is stored when it cannot be planned, and the run goes on waiting",
    [callTool("weather", {}, "c"), say("Sunny.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "Weather?", tools: [weather] })
      yield* failureFrom(turns.send({ content: "", threadId: asked.threadId }))
      const outputs = [{ toolCallId: "c", output: "sun" }]
      const next = yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })
      assert.strictEqual(terminalEvent(yield* Stream.runCollect(next.events))._tag, "RunEnded")
    })
  )
})

describe("a message that is withdrawn after its time while the store is away", () => {
  for (const how of ["refuse", "lose"] as const) {
    story(
      `(${how}) is not refused before it is gone: who was told 409 does not find it in the thread`,
      [[gate("1"), say("one")], say("three")],
      Effect.gen(function* () {
        const turns = yield* Turns
        const first = yield* blocked("1")
        const second = yield* Effect.forkChild(failureFrom(turns.send({ content: "2", threadId: first.threadId })), {
          startImmediately: true
        })
        yield* TestClock.adjust("32 seconds")
        assert.strictEqual((yield* Fiber.join(second))._tag, "ThreadBusy")
        yield* (yield* ScriptedModel).release("1")
        yield* first.reply
        yield* turns.send({ content: "3", threadId: first.threadId })
        assert.deepStrictEqual(yield* contents(first.threadId), ["1", "one", "3", "three"])
      }),
      {
        stores: faultyStores(InMemory.makeState(), (operation, nth) =>
          operation === "runs.withdraw" && nth <= 3 ? how : null
        )
      }
    )
  }

  story(
    "for long is not told that it was refused: nobody knows",
    [[gate("1"), say("one")]],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* blocked("1")
      const second = yield* Effect.forkChild(failureFrom(turns.send({ content: "2", threadId: first.threadId })), {
        startImmediately: true
      })
      yield* TestClock.adjust("95 seconds")
      assert.strictEqual((yield* Fiber.join(second))._tag, "StoreUnavailable")
      yield* (yield* ScriptedModel).release("1")
      yield* first.reply
    }),
    {
      settings: { chat: patient },
      stores: faultyStores(InMemory.makeState(), (operation) => (operation === "runs.withdraw" ? "refuse" : null))
    }
  )
})

describe("a message that is being saved while its kernel closes", () => {
  const held = Deferred.makeUnsafe<void>()
  const state = InMemory.makeState()
  const activated = Deferred.makeUnsafe<void>()
  story(
    "is told as saved, and not as refused",
    [],
    Effect.gen(function* () {
      const stores = watchedStores(state, (operation, call) =>
        operation !== "runs.activate"
          ? call
          : Effect.tap(call, (outcome) =>
              Predicate.isTagged(outcome, "Saved")
                ? Effect.andThen(Deferred.succeed(activated, undefined), Deferred.await(held))
                : Effect.void
            )
      )
      const kernel = yield* openKernel([[gate("1"), say("one")]], { stores })
      const note = yield* kernel.run(
        Effect.gen(function* () {
          const { threadId } = yield* blocked("1")
          const started = yield* (yield* Turns).start({
            content: "note",
            threadId,
            sendToModel: false,
            background: true
          })
          yield* (yield* ScriptedModel).release("1")
          return started
        })
      )
      yield* Deferred.await(activated)
      const reading = yield* Effect.forkChild(Stream.runCollect(note.events), { startImmediately: true })
      const closing = yield* Effect.forkChild(kernel.close, { startImmediately: true })
      yield* Effect.yieldNow
      yield* Deferred.succeed(held, undefined)
      yield* TestClock.adjust("20 seconds")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(tags(yield* Fiber.join(reading)), ["UserMessage", "MessageSaved"])
    })
  )
})
