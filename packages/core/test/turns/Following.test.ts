import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, cut, fail, gate, say, ScriptedModel, type ScriptStep, TestKernel, think } from "@colloquy/testing"
import {
  defaultTurnSettings,
  type HostedTool,
  isTerminal,
  Principal,
  RunId,
  type RunId as Run,
  type ThreadId,
  type TurnEvent,
  Turns
} from "@colloquy/core"
import { foldReply, newId } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import {
  failureFrom,
  joinedText,
  messagesIn,
  openKernel,
  quiet,
  storedLog,
  story,
  tags,
  terminalEvent,
  weather
} from "../support/Story.ts"
import { faultyStores } from "../support/WatchedStores.ts"

const followed = (turn: { readonly threadId: ThreadId; readonly runId: Run }, after: number) =>
  Turns.use((turns) => Effect.flatMap(turns.follow(turn.threadId, turn.runId, after), Stream.runCollect))

/** Nothing is asked again, and no model is given up: only the reader's waits take time. */
const patient = { chat: { ...defaultTurnSettings.chat, firstEventTimeout: "1 hour", idleTimeout: "1 hour" } } as const

const isStored = (event: TurnEvent) => event._tag !== "ReasoningDelta" && event._tag !== "ReasoningEnded"

describe("following a run", () => {
  story(
    "keeps a thousand deltas in their order, for every reader and in the store",
    [say(...Array.from({ length: 1000 }, (_, index) => `${index} `))],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const [one, two] = yield* Effect.all([Stream.runCollect(turn.events), Stream.runCollect(turn.events)], {
        concurrency: 2
      })
      const expected = Array.from({ length: 1000 }, (_, index) => `${index} `).join("")
      assert.deepStrictEqual([joinedText(one), joinedText(two)], [expected, expected])
      assert.deepStrictEqual(
        one.map((event) => event.sequence),
        one.map((_, index) => index + 1)
      )
      assert.deepStrictEqual(yield* storedLog(turn), one)
      assert.strictEqual((yield* messagesIn(turn.threadId))[1]?.content, expected)
    })
  )

  story(
    "from the store gives more events than one page of it holds",
    [say(...Array.from({ length: 2500 }, (_, index) => `${index} `))],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const live = yield* Stream.runCollect(turn.events)
      yield* Effect.yieldNow
      assert.deepStrictEqual(yield* followed(turn, 0), live)
      assert.deepStrictEqual(yield* followed(turn, 2000), live.slice(2000))
    })
  )

  story(
    "from the end gives nothing and ends, and from beyond it too",
    [say("Hello.")],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const last = terminalEvent(yield* Stream.runCollect(turn.events)).sequence
      for (const after of [last, last + 1, 1e9]) assert.deepStrictEqual(yield* followed(turn, after), [])
    })
  )

  story(
    "of a run that does not exist, or through another thread, is refused",
    [say("1"), say("2")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const [one, two] = [yield* turns.send({ content: "1" }), yield* turns.send({ content: "2" })]
      for (const runId of [yield* newId(RunId), two.runId]) {
        assert.strictEqual((yield* failureFrom(followed({ threadId: one.threadId, runId }, 0)))._tag, "RunNotFound")
      }
    })
  )

  story(
    "ends with the leg's own end, and goes on behind it with the next leg",
    [callTool("weather", {}, "a"), say("Sunny.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "?", tools: [weather] })
      const first = yield* followed(asked, 0)
      assert.strictEqual(terminalEvent(first)._tag, "ToolSubmitRequired")
      assert.deepStrictEqual(yield* followed(asked, first.length), [])
      const outputs = [{ toolCallId: "a", output: "sun" }]
      yield* (yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })).reply
      assert.deepStrictEqual(yield* followed(asked, 0), first)
      const second = yield* followed(asked, terminalEvent(first).sequence)
      assert.deepStrictEqual([second[0]?._tag, terminalEvent(second)._tag], ["RunContinuing", "RunEnded"])
    })
  )

  const shared = InMemory.makeState()
  story(
    "from another process is live: events come as they are stored, without the run's end",
    [[say("Hel"), gate(), say("lo.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const other = yield* openKernel([], { stores: InMemory.layerFrom(shared) })
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      yield* model.reached()
      const events = yield* other.run(Turns.use((turns) => turns.follow(turn.threadId, turn.runId, 0)))
      const untilText = Stream.takeUntil(events, (event) => event._tag === "TextDelta")
      const first = yield* Effect.forkChild(other.run(Stream.runCollect(untilText)), { startImmediately: true })
      yield* TestClock.adjust("50 millis")
      assert.strictEqual(joinedText(yield* Fiber.join(first)), "Hel")
      const whole = yield* Effect.forkChild(other.run(Stream.runCollect(events)), { startImmediately: true })
      yield* model.release()
      assert.strictEqual(joinedText(yield* Fiber.join(whole)), "Hello.")
    }),
    { stores: InMemory.layerFrom(shared) }
  )

  const silent = InMemory.makeState()
  story(
    "from another process goes on where the store gives no hints: by looking",
    [[say("Hel"), gate(), say("lo.")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const other = yield* openKernel([], { stores: InMemory.layerFrom({ ...silent, listeners: new Set() }) })
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      yield* model.reached()
      const events = yield* other.run(Turns.use((turns) => turns.follow(turn.threadId, turn.runId, 0)))
      const whole = yield* Effect.forkChild(other.run(Stream.runCollect(events)), { startImmediately: true })
      yield* model.release()
      yield* turn.reply
      yield* TestClock.adjust("1 second")
      assert.strictEqual(joinedText(yield* Fiber.join(whole)), "Hello.")
    }),
    { stores: InMemory.layerFrom(silent) }
  )

  story(
    "slowly delays neither the run nor the other readers",
    [[say("a"), gate(), say("b")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const slow = yield* Effect.forkChild(Stream.runCollect(Stream.tap(turn.events, () => Effect.sleep("1 hour"))), {
        startImmediately: true
      })
      yield* model.reached()
      yield* model.release()
      assert.strictEqual((yield* turn.reply).content, "ab")
      assert.isUndefined(slow.pollUnsafe())
      yield* TestClock.adjust("10 hours")
      assert.strictEqual(joinedText(yield* Fiber.join(slow)), "ab")
    })
  )

  story(
    "may begin behind any event while the run goes on, and misses none",
    [[think("hm"), say("a", "b", "c"), gate(), say("d", "e")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const whole = yield* Effect.forkChild(Stream.runCollect(turn.events))
      yield* model.reached()
      const places = Array.from({ length: 12 }, (_, after) => after)
      const readers = yield* Effect.forEach(places, (after) =>
        Effect.forkChild(followed(turn, after), { startImmediately: true })
      )
      yield* model.release()
      const events = yield* Fiber.join(whole)
      for (const [after, reader] of readers.entries()) {
        assert.deepStrictEqual(yield* Fiber.join(reader), events.slice(after))
      }
    })
  )

  story(
    "by a thousand readers who come and go leaves nothing behind",
    [[say("a"), gate(), say("b")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      yield* model.reached()
      for (let n = 0; n < 1000; n++) {
        const reader = yield* Effect.forkChild(Stream.runDrain(turn.events), { startImmediately: true })
        if (n % 2 === 0) yield* Fiber.interrupt(reader)
      }
      yield* model.release()
      assert.strictEqual((yield* turn.reply).content, "ab")
    })
  )
})

describe("a reader in another process while the store is away", () => {
  const reading = ["runs.read", "runs.get"]

  for (const [seconds, end] of [
    [20, "reads on when it is back"],
    [45, "is told so after the time of a lease"]
  ] as const) {
    const state = InMemory.makeState()
    story(
      `for ${seconds} seconds ${end}`,
      [[say("a"), gate(), say("b")]],
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        let isAway = false
        const stores = faultyStores(state, (operation) => (isAway && reading.includes(operation) ? "refuse" : null))
        const other = yield* openKernel([], { stores, settings: patient })
        const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
        yield* model.reached()
        yield* TestClock.adjust("1 second")
        const seen: Array<TurnEvent> = []
        const events = yield* other.run(Turns.use((turns) => turns.follow(turn.threadId, turn.runId, 0)))
        const reader = yield* Effect.forkChild(
          Effect.exit(events.pipe(Stream.runForEach((event) => Effect.sync(() => void seen.push(event))))),
          { startImmediately: true }
        )
        yield* TestClock.adjust("1 second")
        isAway = true
        yield* model.release()
        yield* turn.reply
        yield* TestClock.adjust(`${seconds} seconds`)
        isAway = false
        yield* TestClock.adjust("2 seconds")
        const exit = yield* Fiber.join(reader)
        if (seconds > 30) assert.isTrue(Exit.isFailure(exit))
        else assert.deepStrictEqual(seen, yield* Stream.runCollect(turn.events))
      }),
      { stores: InMemory.layerFrom(state), settings: patient }
    )
  }
})

const Step = Schema.Struct({
  thoughts: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
  deltas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
  calls: Schema.Array(Schema.Literals(["hosted", "client", "failing", "nobody", "malformed"])).check(
    Schema.isMaxLength(3)
  ),
  end: Schema.Literals(["well", "well", "well", "failed", "cut"])
})
const Script = Schema.Array(Step).check(Schema.isMaxLength(5))

const play = (step: typeof Step.Type, index: number): ScriptStep => [
  think(...Array.from({ length: step.thoughts }, (_, n) => `t${n}`)),
  say(...Array.from({ length: step.deltas }, (_, n) => `${index}.${n} `)),
  step.calls.map((call) => (call === "malformed" ? callTool("client", "{") : callTool(call))),
  step.end === "failed" ? fail("refused") : step.end === "cut" ? cut : []
]

const hosted: ReadonlyArray<HostedTool> = [
  { definition: { name: "hosted", description: null, parameters: null }, run: () => Effect.succeed({ ok: true }) },
  { definition: { name: "failing", description: null, parameters: null }, run: () => Effect.die("broken") }
]
const tools = [{ name: "client", description: null, parameters: null }]
/** Nothing is asked again: a retry would wait for a clock that nobody moves. */
const settings = { chat: { ...defaultTurnSettings.chat, retries: 0 } }

describe("property: whatever the model does", () => {
  it.effect.prop(
    "a follower who is cut off at any event and resumes, from memory or the store, here or elsewhere, has the same events, and they fold to what is stored",
    [Script],
    ([script]) =>
      Effect.gen(function* () {
        const state = InMemory.makeState()
        const stores = InMemory.layerFrom(state)
        const steps = script.map(play)
        const here = yield* openKernel(steps, { stores, hosted, settings, model: { otherwise: say("The end.") } })
        const elsewhere = yield* openKernel([], { stores })
        const turn = yield* here.run(Turns.use((turns) => turns.start({ content: "?", tools, stream: true })))
        let events = turn.events
        const log: Array<TurnEvent> = []
        while (true) {
          const live = yield* here.run(Stream.runCollect(events))
          const end = terminalEvent(live)
          log.push(...live)

          // The leg's fold is the stored message, and the reply that nobody streamed.
          const stored = (yield* here.run(messagesIn(turn.threadId))).find((message) => message.id === end.messageId)
          const reply = foldReply(turn, live)
          const said = end._tag === "MessageSaved" ? "" : end.content
          assert.strictEqual(stored?.content ?? "", said)
          assert.strictEqual(joinedText(live), said)
          assert.deepStrictEqual(
            [stored?.status, stored?.usage, stored?.model],
            [reply?.status, reply?.usage, reply?.model]
          )
          assert.deepStrictEqual(stored?.toolCalls, reply?.toolCalls)

          // Cut anywhere, and resumed.
          const from = live[0]?.sequence ?? 0
          for (let cutAt = from - 1; cutAt < end.sequence; cutAt++) {
            const expected = live.filter((event) => event.sequence > cutAt)
            const memory = yield* here.run(Stream.runCollect(Stream.filter(events, (event) => event.sequence > cutAt)))
            assert.deepStrictEqual(memory, expected)
            assert.deepStrictEqual(yield* elsewhere.run(followed(turn, cutAt)), expected.filter(isStored))
          }
          if (end._tag !== "ToolSubmitRequired") break
          const outputs = end.toolCalls.map(({ id }) => ({ toolCallId: id, output: `out ${id}` }))
          const next = Turns.use((turns) => turns.submitToolOutputs({ threadId: turn.threadId, outputs, stream: true }))
          events = (yield* here.run(next)).events
        }
        assert.deepStrictEqual(
          log.map((event) => event.sequence),
          log.map((_, index) => index + 1)
        )
        assert.deepStrictEqual(yield* here.run(storedLog(turn)), log.filter(isStored))
        assert.strictEqual(
          log.filter(isTerminal).length,
          tags(log).filter((tag) => /^Run(Started|Continuing)$/u.test(tag)).length
        )
      }).pipe(Principal.provide("ada"), Effect.scoped, Effect.provide(quiet)),
    { timeout: 60_000, arbitrary: { runs: 60 } }
  )

  it.effect.prop(
    "the next turn's history is well-formed: every call has its result behind it, and nothing else has one",
    [Script],
    ([script]) =>
      Effect.gen(function* () {
        const turns = yield* Turns
        const model = yield* ScriptedModel
        let reply = yield* turns.send({ content: "?", tools })
        const { threadId } = reply
        for (let legs = 0; legs < 3 && reply.status === "REQUIRES_ACTION"; legs++) {
          const outputs = reply.toolCalls.map(({ id }) => ({ toolCallId: id, output: "out" }))
          reply = yield* (yield* turns.submitToolOutputs({ threadId, outputs })).reply
        }
        yield* turns.send({ content: "next", threadId })
        for (const { messages } of model.requests) {
          let open: ReadonlyArray<string> = []
          for (const message of messages) {
            if (message.role === "tool") {
              assert.strictEqual(message.toolCallId, open[0])
              open = open.slice(1)
            } else {
              assert.deepStrictEqual(open, [])
              if (message.role === "assistant") open = message.toolCalls.map(({ id }) => id)
            }
          }
          assert.deepStrictEqual(open, [])
        }
      }).pipe(
        Principal.provide("ada"),
        Effect.provide([
          TestKernel.layer(script.map(play), { hosted, settings, model: { otherwise: say("The end.") } }),
          quiet
        ])
      ),
    { timeout: 60_000, arbitrary: { runs: 60 } }
  )
})
