import { InMemory } from "@colloquy/adapters/in-memory"
import {
  callTool,
  Crash,
  cut,
  fail,
  finish,
  gate,
  hang,
  pause,
  say,
  ScriptedModel,
  think,
  uses
} from "@colloquy/testing"
import { Assistants, defaultTurnSettings, Kernel, Principal, Providers, type TurnReply, Turns } from "@colloquy/core"
import { type ChatEvent, firstPage, UsageLedger } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import {
  failureFrom,
  messagesIn,
  openKernel,
  quiet,
  storedRun,
  story,
  terminalEvent,
  transcript,
  weather
} from "../support/Story.ts"
import { faultyStores } from "../support/WatchedStores.ts"

const send = Turns.use((turns) => turns.send({ content: "Hi" }))
const sending = Effect.forkChild(send, { startImmediately: true })

describe("a model that fails", () => {
  story(
    "before its first event is asked again, a bounded number of times",
    [fail("overloaded"), fail("connection"), say("Hello.")],
    Effect.gen(function* () {
      const reply = yield* sending
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(reply)).content, "Hello.")
    })
  )

  story(
    "more often than that fails the run with the provider's reason",
    [fail("overloaded"), fail("overloaded"), fail("overloaded")],
    Effect.gen(function* () {
      const reply = yield* sending
      yield* TestClock.adjust("1 minute")
      const { fault, status } = yield* Fiber.join(reply)
      assert.deepStrictEqual([status, fault?.code, fault?.retryable], ["FAILED", "overloaded", true])
    })
  )

  for (const reason of [
    "auth",
    "refused",
    "invalid_request",
    "context_too_long",
    "quota",
    "model_not_found"
  ] as const) {
    story(
      `for good is not asked again: ${reason}`,
      [fail(reason)],
      Effect.gen(function* () {
        const { fault, status } = yield* send
        assert.deepStrictEqual([status, fault?.code, fault?.retryable], ["FAILED", reason, false])
      })
    )
  }

  story(
    "is asked again when it said so, not earlier",
    [fail("rate_limited", { retryAfterMillis: 20_000 }), say("Hello.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const reply = yield* sending
      yield* TestClock.adjust("19 seconds")
      assert.strictEqual(model.requests.length, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(reply)).content, "Hello.")
    })
  )

  story(
    "and asks for a longer pause than the host waits is reported at once",
    [fail("rate_limited", { retryAfterMillis: 3_600_000 })],
    Effect.gen(function* () {
      assert.strictEqual((yield* send).fault?.code, "rate_limited")
    })
  )

  const heard: ReadonlyArray<readonly [string, ReadonlyArray<ReturnType<typeof say>>]> = [
    ["a word", [say("Hel")]],
    ["a thought", [think("hm")]],
    ["a call", [callTool("weather")]]
  ]
  for (const [what, beats] of heard) {
    story(
      `after ${what} is not asked again; what was said is kept, and the next history is well-formed`,
      [[...beats, fail("overloaded")], say("Next.")],
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const turns = yield* Turns
        const reply = yield* turns.send({ content: "Hi", tools: [weather] })
        assert.deepInclude(reply, { status: "FAILED" })
        const text = what === "a word" ? "Hel" : null
        assert.deepStrictEqual((yield* transcript(reply.threadId))[1], ["assistant", "FAILED", text])
        yield* turns.send({ content: "Again", threadId: reply.threadId })
        const roles = model.requests[1]?.messages.map((message) => message.role).join(" ")
        const expected = {
          "a word": "user assistant user",
          "a thought": "user user",
          "a call": "user assistant tool user"
        }
        assert.strictEqual(roles, expected[what as keyof typeof expected])
      })
    )
  }

  story(
    "by ending its stream early keeps the text, and says that it was cut off",
    [[say("Hel"), cut]],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const end = terminalEvent(yield* Stream.runCollect(turn.events))
      assert.deepInclude(end, { _tag: "RunFailed", code: "cut_off", retryable: true, content: "Hel" })
      assert.deepInclude((yield* messagesIn(turn.threadId))[1], { status: "FAILED", content: "Hel" })
    })
  )

  story(
    "by saying nothing at all is given up after the time for a first event, each attempt",
    [hang, hang, hang],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const reply = yield* sending
      yield* TestClock.adjust("119 seconds")
      assert.isUndefined(reply.pollUnsafe())
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* Fiber.join(reply)).fault?.code, "timeout")
      assert.strictEqual(model.interrupted(), 3)
    })
  )

  story(
    "by falling silent is cut off after the idle time, with what it had said",
    [[say("Hel"), hang]],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const events = yield* Effect.forkChild(Stream.runCollect(turn.events), { startImmediately: true })
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(events.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepInclude(terminalEvent(yield* Fiber.join(events)), {
        _tag: "RunFailed",
        code: "timeout",
        content: "Hel"
      })
    })
  )

  story(
    "slowly but steadily is not cut off",
    [Array.from({ length: 10 }, () => [say("a"), pause("50 seconds")])],
    Effect.gen(function* () {
      const reply = yield* sending
      yield* TestClock.adjust("500 seconds")
      assert.strictEqual((yield* Fiber.join(reply)).content, "aaaaaaaaaa")
    })
  )

  story(
    "has its reason in words as the reply's fault, never the provider's own text",
    [fail("auth")],
    Effect.gen(function* () {
      const reply = yield* send
      assert.match(reply.fault?.message ?? "", /did not accept the key/u)
      assert.strictEqual(reply.content, "")
      const [, answer] = yield* messagesIn(reply.threadId)
      assert.deepInclude(answer, { content: null, fault: reply.fault })
      assert.deepInclude(yield* storedRun(reply), { status: "FAILED", fault: reply.fault })
    })
  )

  for (const reason of ["auth", "invalid_request", "quota", "model_not_found"] as const) {
    story(
      `costs nothing when the provider has refused the request (${reason})`,
      [fail(reason)],
      Effect.gen(function* () {
        const reply = yield* send
        const nothing = { inputTokens: 0, outputTokens: 0, costUsd: 0, estimated: false }
        assert.deepInclude(reply.usage, nothing)
        assert.deepInclude((yield* storedRun(reply)).usage, nothing)
        const [, answer] = yield* messagesIn(reply.threadId)
        assert.deepInclude(answer?.usage, nothing)
      })
    )
  }

  story(
    "costs nothing when it is cancelled in the pause after a refusal, and the second request alone when that is answered",
    [fail("rate_limited"), fail("rate_limited"), say("Hello."), say("Hello.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const turn = yield* turns.start({ content: "Hi" })
      yield* TestClock.adjust("1 millis")
      yield* turns.cancel(turn.threadId, turn.runId)
      const reply = yield* turn.reply
      assert.strictEqual(reply.status, "CANCELLED")
      assert.deepInclude(reply.usage, { inputTokens: 0, outputTokens: 0, costUsd: 0, estimated: false })
      const next = yield* sending
      yield* TestClock.adjust("1 minute")
      const { content, usage } = yield* Fiber.join(next)
      assert.strictEqual(content, "Hello.")
      assert.deepStrictEqual(usage, (yield* send).usage)
    })
  )

  story(
    "is estimated when the provider may have run the model",
    [[say("Two "), fail("rate_limited")], [fail("cut_off")], [fail("cut_off")], [fail("cut_off")]],
    Effect.gen(function* () {
      const spoken = yield* send
      assert.deepInclude(spoken.usage, { costUsd: null, estimated: true })
      const retried = yield* Effect.forkChild(send)
      yield* TestClock.adjust("1 minute")
      assert.isTrue((yield* Fiber.join(retried)).usage.estimated)
    })
  )

  story(
    "leaves what was said as the content of reply and stored answer, with the reason beside it",
    [[say("Two and two "), fail("refused")], say("Four.")],
    Effect.gen(function* () {
      const reply = yield* send
      assert.deepInclude(reply, { status: "FAILED", content: "Two and two " })
      assert.strictEqual(reply.fault?.code, "refused")
      const [, answer] = yield* messagesIn(reply.threadId)
      assert.deepInclude(answer, { status: "FAILED", content: "Two and two ", fault: reply.fault })
      const next = yield* (yield* Turns).send({ content: "again", threadId: reply.threadId })
      assert.deepInclude(next, { status: "COMPLETED", content: "Four.", fault: null })
    })
  )
})

describe("a driver that does not keep its promises", () => {
  const drivers: ReadonlyArray<readonly [string, Stream.Stream<ChatEvent, never>, Partial<TurnReply>]> = [
    [
      "stays open after the end: the answer is complete",
      Stream.concat(
        Stream.fromIterable<ChatEvent>([
          { _tag: "TextDelta", text: "Hi" },
          { _tag: "Finished", reason: "stop", model: null, providerData: null },
          { _tag: "TextDelta", text: " not part of it" }
        ]),
        Stream.never
      ),
      { status: "COMPLETED", content: "Hi" }
    ],
    ["has a defect: the run fails", Stream.die(new Error("secret")), { status: "FAILED" }],
    [
      "never lets go when it is interrupted: it is given up all the same",
      Stream.concat(
        Stream.succeed<ChatEvent>({ _tag: "TextDelta", text: "Hi" }),
        Stream.fromEffectDrain(Effect.uninterruptible(Effect.never))
      ),
      { status: "FAILED" }
    ],
    [
      "never ends and never stops talking: it is cut at the host's limit",
      Stream.forever(Stream.succeed<ChatEvent>({ _tag: "TextDelta", text: "x".repeat(1000) })),
      { status: "FAILED" }
    ]
  ]
  for (const [name, stream, expected] of drivers) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const reply = yield* sending
        yield* TestClock.adjust("2 minutes")
        const { content, fault, status } = yield* Fiber.join(reply)
        assert.strictEqual(status, expected.status)
        if (expected.content !== undefined) assert.strictEqual(content, expected.content)
        assert.notInclude(JSON.stringify(fault), "secret")
      }).pipe(
        Principal.provide("ada"),
        Effect.provide(
          Layer.fresh(Kernel.layer).pipe(
            Layer.provide([
              InMemory.layer,
              Providers.layer({ providers: [{ id: "p", chat: () => stream }], defaults: { provider: "p", model: "m" } })
            ]),
            Layer.merge(quiet)
          )
        )
      )
    )
  }
})

describe("usage", () => {
  story(
    "is the provider's, added up over steps and legs",
    [
      [callTool("weather", {}, "a"), uses({ inputTokens: 5, outputTokens: 2, costUsd: 0.5 })],
      [say("Hi."), uses({ inputTokens: 9, outputTokens: 3, cachedInputTokens: 5 })]
    ],
    Effect.gen(function* () {
      const turns = yield* Turns
      const asked = yield* turns.send({ content: "Hi", tools: [weather] })
      assert.deepInclude(asked.usage, { inputTokens: 5, outputTokens: 2, costUsd: 0.5, estimated: false })
      const outputs = [{ toolCallId: "a", output: "" }]
      const reply = yield* (yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })).reply
      assert.deepInclude(reply.usage, { inputTokens: 9, outputTokens: 3, cachedInputTokens: 5, costUsd: null })
      assert.deepInclude((yield* storedRun(asked)).usage, {
        inputTokens: 14,
        outputTokens: 5,
        costUsd: 0.5,
        estimated: false
      })
    })
  )

  story(
    "is counted by the kernel and marked where the provider did not come to it",
    [[think("thinking aloud "), say("Hello there"), cut]],
    Effect.gen(function* () {
      const reply = yield* send
      assert.isTrue(reply.usage.estimated)
      assert.isAbove(reply.usage.inputTokens, 0)
      assert.isAtLeast(reply.usage.outputTokens, Math.ceil("thinking aloud Hello there".length / 3))
    })
  )

  story(
    "that came before the cut is kept as it came",
    [[say("Hello"), uses({ inputTokens: 7, outputTokens: 1 }), finish("length")]],
    Effect.gen(function* () {
      const reply = yield* send
      assert.deepInclude(reply, { status: "COMPLETED", content: "Hello" })
      assert.deepInclude(reply.usage, { inputTokens: 7, outputTokens: 1, estimated: false })
    })
  )

  story(
    "stands in the ledger by day and model, for every end",
    [
      [say("a"), uses({ inputTokens: 1 })],
      [say("b"), uses({ inputTokens: 2 }), finish("stop")],
      [say("c"), cut]
    ],
    Effect.gen(function* () {
      const turns = yield* Turns
      yield* send
      yield* send
      const { usage } = yield* turns.send({ content: "Hi" })
      const { days, total } = yield* (yield* UsageLedger).recent(firstPage)
      assert.strictEqual(total, 1)
      assert.deepInclude(days[0], { date: "1970-01-01", model: "scripted-model" })
      assert.deepInclude(days[0]?.usage, { inputTokens: 3 + usage.inputTokens, estimated: true })
    })
  )
})

describe("a process that dies", () => {
  const dying = Effect.fnUntraced(function* (state: InMemory.State, at: number) {
    const doom = yield* Crash.make({ at, hears: true })
    const scope = yield* Scope.make()
    const chat = () => Stream.concat(Stream.succeed<ChatEvent>({ _tag: "TextDelta", text: "Half" }), Stream.never)
    const providers = Providers.layer({
      providers: [doom.provider({ id: "p", chat })],
      defaults: { provider: "p", model: "m" }
    })
    const kernel = Layer.fresh(Kernel.layer).pipe(
      Layer.provide([doom.stores(InMemory.layerFrom(state)), providers]),
      Layer.merge(quiet)
    )
    const services = yield* Layer.buildWithScope(kernel, scope)
    yield* Effect.addFinalizer(() => Effect.andThen(doom.bury, Scope.close(scope, Exit.void)))
    return <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideContext(effect, services)
  })

  const left = InMemory.makeState()
  story(
    "leaves a run that the next one settles when its lease is over: FAILED, with what was stored",
    [say("Again.")],
    Effect.gen(function* () {
      // Assistant, thread, run, and one append of what was said.
      const first = yield* dying(left, 4)
      const turns = yield* Turns
      const turn = yield* first(Turns.use((each) => each.start({ content: "Hi", stream: true })))
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual((yield* storedRun(turn)).status, "IN_PROGRESS")
      yield* TestClock.adjust("16 seconds")
      assert.deepStrictEqual(yield* transcript(turn.threadId), [
        ["user", "COMPLETED", "Hi"],
        ["assistant", "FAILED", "Half"]
      ])
      assert.deepInclude((yield* storedRun(turn)).fault, { code: "interrupted", retryable: true })
      const events = yield* Stream.runCollect(yield* turns.follow(turn.threadId, turn.runId, 0))
      assert.deepInclude(terminalEvent(events), { _tag: "RunFailed", content: "Half" })
      yield* turns.send({ content: "Again", threadId: turn.threadId })
    }),
    { stores: InMemory.layerFrom(left) }
  )

  const next = InMemory.makeState()
  story(
    "does not block its thread: whoever comes next settles it, without waiting for a sweep",
    [say("Again.")],
    Effect.gen(function* () {
      const first = yield* dying(next, 3)
      const turn = yield* first(Turns.use((turns) => turns.start({ content: "Hi" })))
      yield* TestClock.adjust("31 seconds")
      const reply = yield* (yield* Turns).send({ content: "Again", threadId: turn.threadId, busy: "reject" })
      assert.strictEqual(reply.content, "Again.")
      assert.strictEqual((yield* storedRun(turn)).status, "FAILED")
    }),
    { stores: InMemory.layerFrom(next), settings: { sweep: "1 day" } }
  )

  const waits = InMemory.makeState()
  story(
    "lets those who wait for its thread go on when its lease is over",
    [say("Again.")],
    Effect.gen(function* () {
      const first = yield* dying(waits, 3)
      const turn = yield* first(Turns.use((turns) => turns.start({ content: "Hi" })))
      yield* TestClock.adjust("10 seconds")
      const second = yield* Effect.forkChild((yield* Turns).send({ content: "Again", threadId: turn.threadId }), {
        startImmediately: true
      })
      yield* TestClock.adjust("25 seconds")
      assert.strictEqual((yield* Fiber.join(second)).content, "Again.")
    }),
    { stores: InMemory.layerFrom(waits), settings: { sweep: "1 day" } }
  )

  const queued = InMemory.makeState()
  story(
    "keeps the messages that waited in its queue, also where nobody has their model",
    [say("Again.")],
    Effect.gen(function* () {
      const first = yield* dying(queued, 4)
      const turn = yield* first(Turns.use((turns) => turns.start({ content: "1" })))
      yield* Effect.forkChild(first(Turns.use((turns) => turns.start({ content: "2", threadId: turn.threadId }))), {
        startImmediately: true
      })
      yield* TestClock.adjust("46 seconds")
      assert.deepStrictEqual(yield* transcript(turn.threadId), [
        ["user", "COMPLETED", "1"],
        ["assistant", "FAILED", null],
        ["user", "COMPLETED", "2"],
        ["assistant", "FAILED", null]
      ])
      yield* (yield* Turns).send({ content: "3", threadId: turn.threadId })
    }),
    { stores: InMemory.layerFrom(queued) }
  )

  const paused = InMemory.makeState()
  story(
    "slowly, and comes back after its lease was taken, changes nothing any more and tells its followers the end",
    [],
    Effect.gen(function* () {
      let away = false
      const frozen = faultyStores(paused, (operation) => (away && operation.startsWith("runs.") ? "refuse" : null))
      const first = yield* openKernel([[say("Half"), gate(), say("whole.")]], { stores: frozen })
      const second = yield* openKernel([], { stores: InMemory.layerFrom(paused) })
      const turn = yield* first.run(Turns.use((turns) => turns.start({ content: "Hi", stream: true })))
      const events = yield* Effect.forkChild(first.run(Stream.runCollect(turn.events)), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      away = true
      yield* TestClock.adjust("46 seconds")
      assert.strictEqual((yield* second.run(storedRun(turn))).status, "FAILED")
      away = false
      yield* first.run(ScriptedModel.use((model) => model.release()))
      const seen = yield* Fiber.join(events)
      assert.deepInclude(terminalEvent(seen), { _tag: "RunFailed", code: "interrupted", content: "Half" })
      assert.deepStrictEqual((yield* second.run(transcript(turn.threadId)))[1], ["assistant", "FAILED", "Half"])
    })
  )
})

describe("a store that is away", () => {
  const chat = { ...defaultTurnSettings.chat, retries: 0 }
  const away = (fault: Parameters<typeof faultyStores>[1]) => ({
    stores: faultyStores(InMemory.makeState(), fault),
    settings: { chat }
  })

  for (const operation of ["assistants.insert", "threads.insert"]) {
    for (const how of ["refuse", "lose"] as const) {
      story(
        `at ${operation} (${how}) refuses the message; nothing of it is left, and the next one is answered`,
        [say("Hello.")],
        Effect.gen(function* () {
          const refused = yield* failureFrom(send)
          assert.strictEqual(refused._tag, "StoreUnavailable")
          const reply = yield* send
          assert.strictEqual(reply.content, "Hello.")
          assert.strictEqual((yield* (yield* Assistants).list(firstPage)).length, 1)
        }),
        away((each, nth) => (each === operation && nth === 1 ? how : null))
      )
    }
  }

  for (const how of ["refuse", "lose"] as const) {
    story(
      `at runs.begin (${how}) is asked again: the message is stored once and answered`,
      [say("Hello.")],
      Effect.gen(function* () {
        const turn = yield* (yield* Turns).start({ content: "Hi", idempotency: { key: "k", fingerprint: "f" } })
        const again = yield* (yield* Turns).start({ content: "Hi", idempotency: { key: "k", fingerprint: "f" } })
        assert.strictEqual(again.runId, turn.runId)
        assert.strictEqual((yield* turn.reply).content, "Hello.")
        assert.deepStrictEqual(yield* transcript(turn.threadId), [
          ["user", "COMPLETED", "Hi"],
          ["assistant", "COMPLETED", "Hello."]
        ])
      }),
      away((operation, nth) => (operation === "runs.begin" && nth === 1 ? how : null))
    )

    story(
      `at runs.continue (${how}) is asked again: the outputs are taken once and the answer comes`,
      [callTool(weather.name), say("Fine.")],
      Effect.gen(function* () {
        const turns = yield* Turns
        const asked = yield* turns.send({ content: "Hi", tools: [weather] })
        const outputs = asked.toolCalls.map(({ id }) => ({ toolCallId: id, output: "Sun." }))
        const turn = yield* turns.submitToolOutputs({ threadId: asked.threadId, outputs })
        assert.strictEqual((yield* turn.reply).content, "Fine.")
        assert.strictEqual((yield* messagesIn(asked.threadId)).length, 3)
      }),
      away((operation, nth) => (operation === "runs.continue" && nth === 1 ? how : null))
    )

    story(
      `at runs.activate (${how}) is asked again: the queued message is answered in its turn`,
      [[say("1"), gate()], say("2")],
      Effect.gen(function* () {
        const turns = yield* Turns
        const first = yield* turns.start({ content: "a" })
        const second = yield* Effect.forkChild(turns.send({ content: "b", threadId: first.threadId }), {
          startImmediately: true
        })
        yield* (yield* ScriptedModel).release()
        yield* first.reply
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual((yield* Fiber.join(second)).content, "2")
        assert.deepStrictEqual(
          (yield* transcript(first.threadId)).map(([, , content]) => content),
          ["a", "1", "b", "2"]
        )
      }),
      away((operation, nth) => (operation === "runs.activate" && nth === 2 ? how : null))
    )
  }

  let begins = true
  story(
    "for longer than `startTimeout` refuses the message, and its thread is free again when the lease ends",
    [say("1"), say("2")],
    Effect.gen(function* () {
      const { threadId } = yield* send
      const next = Turns.use((turns) => turns.send({ content: "b", threadId }))
      begins = false
      const refused = yield* Effect.forkChild(failureFrom(next), { startImmediately: true })
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* Fiber.join(refused))._tag, "StoreUnavailable")
      begins = true
      yield* TestClock.adjust("46 seconds")
      assert.strictEqual((yield* next).content, "2")
    }),
    away((operation) => (operation === "runs.begin" && !begins ? "lose" : null))
  )

  for (const how of ["refuse", "lose"] as const) {
    story(
      `while a turn is logged (${how}) keeps the events waiting, and none is lost or doubled`,
      [[say("a"), gate("1"), say("b"), gate("2"), say("c")]],
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
        const events = yield* Effect.forkChild(Stream.runCollect(turn.events), { startImmediately: true })
        for (const name of ["1", "2"]) {
          yield* model.reached(name)
          yield* TestClock.adjust("1 second")
          yield* model.release(name)
        }
        const seen = yield* Fiber.join(events)
        const again = yield* Stream.runCollect(yield* (yield* Turns).follow(turn.threadId, turn.runId, 0))
        assert.deepStrictEqual(again, seen)
      }),
      away((operation, nth) => (operation === "runs.append" && nth <= 2 ? how : null))
    )

    story(
      `when a turn is settled (${how}) is asked again; the answer is stored once`,
      [say("Hello.")],
      Effect.gen(function* () {
        const reply = yield* sending
        yield* TestClock.adjust("5 seconds")
        const { status, threadId } = yield* Fiber.join(reply)
        assert.strictEqual(status, "COMPLETED")
        assert.deepStrictEqual((yield* transcript(threadId)).length, 2)
      }),
      away((operation, nth) => (operation === "runs.settle" && nth <= 3 ? how : null))
    )
  }

  let settles = false
  story(
    "for longer than the host waits at the end: followers are told, and the run is settled when the store is back",
    [say("Hello.")],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "Hi", stream: true })
      const reply = yield* Effect.forkChild(turn.reply, { startImmediately: true })
      yield* TestClock.adjust("61 seconds")
      assert.deepInclude((yield* Fiber.join(reply)).fault, { code: "store_unavailable", retryable: true })
      settles = true
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* storedRun(turn)).status, "FAILED")
    }),
    away((operation) => (operation === "runs.settle" && !settles ? "refuse" : null))
  )

  story(
    "during the heartbeat does not stop a run",
    [[gate(), say("Hello.")]],
    Effect.gen(function* () {
      const reply = yield* sending
      yield* TestClock.adjust("35 seconds")
      yield* (yield* ScriptedModel).release()
      assert.strictEqual((yield* Fiber.join(reply)).content, "Hello.")
    }),
    { ...away((operation) => (operation === "runs.renew" ? "refuse" : null)), settings: { chat, sweep: "1 day" } }
  )
})
