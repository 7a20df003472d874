import { InMemory } from "@colloquy/adapters/in-memory"
import { Crash } from "@colloquy/testing"
import {
  Assistants,
  type HostedTool,
  isTerminal,
  Kernel,
  HostedTools,
  type Message,
  Principal,
  Providers,
  type ThreadId,
  Threads,
  type TurnEvent,
  Turns
} from "@colloquy/core"
import { type ChatEvent, type ChatRequest, type LogEvent, RunStore } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { quiet, weather } from "../support/Story.ts"

/**
 * A conversation of three model steps and two legs: words and a hosted call; words, a hosted and a client's call; the answer. The model
 * decides by what it is shown, so that it can be asked in any process.
 */
const answer = (request: ChatRequest): ReadonlyArray<ChatEvent> => {
  const results = request.messages.filter((message) => message.role === "tool").length
  const call = (name: string, id: string): ReadonlyArray<ChatEvent> => [
    { _tag: "ToolCallStart", id, name },
    { _tag: "ToolCallReady", call: { id, name, arguments: "{}" } }
  ]
  const finished: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }
  const isFollowUp = request.messages.filter((message) => message.role === "user").length > 1
  if (isFollowUp) return [{ _tag: "TextDelta", text: "Still here." }, finished]
  if (results === 0) return [{ _tag: "TextDelta", text: "One." }, ...call("look", "h1"), finished]
  if (results === 1)
    return [{ _tag: "TextDelta", text: "Two." }, ...call("look", "h2"), ...call("weather", "c1"), finished]
  return [{ _tag: "TextDelta", text: "Three." }, finished]
}

/** What was really done, in whichever process. */
interface Deeds {
  readonly steps: Array<string>
  readonly tools: Array<string>
}

const kernelLayer = (doom: Crash.Doom, state: InMemory.State, deeds: Deeds) => {
  const tool: HostedTool = {
    definition: { name: "look", description: null, parameters: null },
    run: (_, { runId, toolCallId }) =>
      Effect.sync(() => {
        deeds.tools.push(`${runId} ${toolCallId}`)
        return "seen"
      })
  }
  const provider = doom.provider({
    id: "p",
    chat: (request) =>
      Stream.suspend(() => {
        deeds.steps.push(JSON.stringify(request.messages))
        // One event at a time, with time between them: so that the log is written while the step goes on.
        return Stream.tap(Stream.rechunk(Stream.fromIterable(answer(request)), 1), () => Effect.sleep("60 millis"))
      })
  })
  return HostedTools.tools([doom.tool(tool)]).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.fresh,
    Layer.provideMerge(doom.stores(InMemory.layerFrom(state))),
    Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: "p", model: "m" } })),
    Layer.merge(quiet)
  )
}

const messagesAndLogs = (state: InMemory.State) => ({
  messages: [...state.threads.values()].flatMap((thread) => thread.messages),
  logs: new Map([...state.runs.entries()].map(([id, run]) => [id, [...run.log]] as const))
})

/** The client: asks, and hands in outputs when it is asked for them. */
const converse = (threadId: ThreadId) =>
  Effect.gen(function* () {
    const turns = yield* Turns
    const first = yield* turns.start({ content: "Look.", threadId, tools: [weather], stream: true })
    yield* first.reply
    yield* submit(threadId)
  })

const submit = (threadId: ThreadId) =>
  Turns.use((turns) =>
    Effect.flatMap(
      turns.submitToolOutputs({ threadId, outputs: [{ toolCallId: "c1", output: "sun" }], stream: true }),
      (next) => next.reply
    )
  )

/** Runs a client while two seconds pass; what hangs is left behind. */
const withTime = Effect.fnUntraced(function* <A, E, R>(client: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkDetach(client, { startImmediately: true })
  yield* TestClock.adjust("2 seconds")
  return fiber
})

const wasKept = (before: ReturnType<typeof messagesAndLogs>, state: InMemory.State) => {
  const after = messagesAndLogs(state)
  for (const message of before.messages) {
    const kept = after.messages.find((each) => each.id === message.id)
    assert.deepInclude(kept, {
      content: message.content,
      role: message.role,
      sequence: message.sequence,
      steps: message.steps
    })
  }
  for (const [id, log] of before.logs) assert.deepStrictEqual(after.logs.get(id)?.slice(0, log.length), log)
}

/** One end for each leg, the answer stored under the id that the leg began with. */
const isSettled = (log: ReadonlyArray<LogEvent>, messages: ReadonlyArray<Message>) => {
  const events = log as ReadonlyArray<TurnEvent>
  const begins = events.filter((event) => event._tag === "RunStarted" || event._tag === "RunContinuing")
  const ends = events.filter(isTerminal)
  assert.strictEqual(ends.length, begins.length)
  assert.isTrue(isTerminal(events.at(-1)!))
  assert.deepStrictEqual(
    events.map((event) => event.sequence),
    [...new Set(events.map((event) => event.sequence))].sort((a, b) => a - b)
  )
  for (const [index, end] of ends.entries()) {
    const answerId = begins[index]?.messageId
    assert.strictEqual(end.messageId, answerId)
    const stored = messages.filter((message) => message.id === answerId)
    assert.strictEqual(stored.length, 1)
    assert.strictEqual(stored[0]?.content ?? "", end._tag === "MessageSaved" ? "" : end.content)
  }
}

const scene = Effect.fnUntraced(function* (point: Crash.CrashPoint) {
  const state = InMemory.makeState()
  const deeds: Deeds = { steps: [], tools: [] }
  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  const first = yield* Layer.buildWithScope(kernelLayer(doom, state, deeds), scope)
  const healthy = yield* Crash.make()
  return { state, deeds, doom, scope, first, healthy }
})

describe("a process that is killed", () => {
  const conversation = Effect.gen(function* () {
    const { deeds, doom, first, scope, state } = yield* scene({})
    const thread = yield* Effect.provideContext(openThread, first)
    const before = doom.writes()
    yield* withTime(Effect.provideContext(converse(thread), first))
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(deeds.steps.length, 3)
    assert.strictEqual([...state.runs.values()][0]?.run.status, "COMPLETED")
    return { before, writes: doom.writes() }
  })

  const openThread = Effect.gen(function* () {
    const assistants = yield* Assistants
    const { id } = yield* assistants.create({ name: "a" })
    return (yield* assistants.createThread(id, null)).id
  })

  for (const hears of [true, false]) {
    it.effect(
      `at any of its writes (${hears ? "after" : "before"} the answer) loses nothing and does nothing twice`,
      () =>
        Effect.gen(function* () {
          const { before, writes } = yield* conversation
          assert.isAbove(writes - before, 8)
          for (let at = before + 1; at <= writes; at++) {
            const { deeds, doom, first, healthy, scope, state } = yield* scene({ at, hears })
            const threadId = yield* Effect.provideContext(openThread, first)
            const client = yield* withTime(Effect.provideContext(converse(threadId), first))
            assert.isTrue(doom.isDead(), `write ${at}`)
            const kept = messagesAndLogs(state)
            const done = { steps: [...deeds.steps], tools: [...deeds.tools] }

            const nextScope = yield* Scope.make()
            const second = yield* Layer.buildWithScope(kernelLayer(healthy, state, deeds), nextScope)
            const here = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideContext(effect, second)
            yield* TestClock.adjust("50 seconds")
            wasKept(kept, state)

            // The client comes back: a run that waits for it gets its outputs, once.
            const waiting = yield* here(RunStore.use((store) => store.waitingOn(threadId)))
            if (Option.isSome(waiting)) yield* withTime(here(submit(threadId)))
            yield* withTime(here(Turns.use((turns) => turns.send({ content: "Still there?", threadId }))))

            const { messages } = yield* here(Threads.use((threads) => threads.get(threadId)))
            assert.strictEqual(messages.at(-1)?.content, "Still here.", `write ${at}`)
            for (const { log, run } of state.runs.values()) {
              assert.include(["COMPLETED", "FAILED"], run.status)
              isSettled(log, messages)
            }
            assert.strictEqual(
              new Set(deeds.steps).size,
              deeds.steps.length,
              `a model step was done twice after write ${at}`
            )
            assert.strictEqual(new Set(deeds.tools).size, deeds.tools.length, `a tool ran twice after write ${at}`)
            assert.deepStrictEqual(deeds.steps.slice(0, done.steps.length), done.steps)
            wasKept(kept, state)

            yield* doom.bury
            yield* Scope.close(scope, Exit.void)
            yield* Scope.close(nextScope, Exit.void)
            client.interruptUnsafe()
            assert.strictEqual(JSON.stringify(messages), JSON.stringify(messagesAndLogs(state).messages))
          }
        }).pipe(Principal.provide("ada"), Effect.provide(quiet)),
      { timeout: 60_000 }
    )
  }
})
