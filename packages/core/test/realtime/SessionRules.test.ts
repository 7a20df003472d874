// Every rule and limit of a voice session in the words of the specification, part 4, 5, 7 and 8, in virtual time.
import { InMemory } from "@colloquy/adapters/in-memory"
import { ScriptedRealtime, TestRealtime } from "@colloquy/testing"
import {
  Assistants,
  InsufficientCredit,
  Keys,
  Metering,
  noQuota,
  ProviderKeys,
  Quotas,
  StoreUnavailable,
  ThreadId,
  Threads
} from "@colloquy/core"
import {
  AssistantStore,
  firstPage,
  RunStore,
  ThreadStore,
  UsageLedger,
  type UsageReport
} from "@colloquy/core/adapters"
import { asNewOwner, openThread, sampleBegin, settleTurn, startTurn } from "@colloquy/testing/contracts"
import {
  defaultSessionLimits,
  nothingSelected,
  RealtimeModels,
  RealtimeSessions,
  SessionStore,
  Tickets
} from "@colloquy/core/realtime"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import { TestClock } from "effect/testing"
import { historyProblem } from "../../src/realtime/SessionPlan.ts"
import { frame, stored, tools, voiceStory as story } from "../support/Voice.ts"

const { callTool, hang, hear, read, refuse, say } = ScriptedRealtime

const newKey = Effect.gen(function* () {
  return (yield* (yield* Keys).make("voice")).key
})

/** Ends with this error, refused. */
const refusedWith = Effect.fnUntraced(function* (client: TestRealtime.TestClient, code: string) {
  const error = yield* client.next("Error")
  assert.strictEqual(error.code, code)
  return yield* client.end
})

const stop = Effect.fnUntraced(function* (client: TestRealtime.TestClient) {
  client.send({ _tag: "Stop" })
  return yield* client.end
})

describe("realtime first frame", () => {
  story(
    "within 30 seconds of connecting",
    [],
    Effect.gen(function* () {
      const client = yield* TestRealtime.dial({ key: yield* newKey })
      yield* TestClock.adjust("29999 millis")
      assert.isNull(client.closed())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* refusedWith(client, "first_frame_timeout"), "refused")
    })
  )

  story(
    "a first frame that comes in the last moment is taken",
    [[hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.dial({ key: yield* newKey })
      yield* TestClock.adjust("29999 millis")
      client.input({ _tag: "Begin", request: TestRealtime.request(), bytes: 1 })
      yield* client.next("SessionBegin")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* stop(client), "ended")
    })
  )

  story(
    "system_prompt and tools are session-only: overrides are not saved to the assistant",
    [[hang]],
    Effect.gen(function* () {
      const { assistantId } = yield* openThread
      const before = yield* (yield* AssistantStore).get(assistantId)
      const client = yield* TestRealtime.connect({ assistantId, systemPrompt: "For now.", tools })
      yield* client.next("SessionBegin")
      yield* stop(client)
      const [setup] = (yield* TestRealtime.ScriptedVoice).setups
      assert.deepInclude(setup, { instructions: "For now.", tools })
      assert.deepStrictEqual(yield* (yield* AssistantStore).get(assistantId), before)
    })
  )

  story(
    "hosted selections are added separately: an empty list of tools clears the client's, not the service's",
    [[hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect({ tools: [] })
      yield* client.next("SessionBegin")
      yield* stop(client)
      const [setup] = (yield* TestRealtime.ScriptedVoice).setups
      assert.deepStrictEqual(
        setup?.tools.map(({ name }) => name),
        ["look_up"]
      )
    }),
    {
      hosted: [{ definition: { name: "look_up", description: null, parameters: null }, run: () => Effect.succeed(1) }]
    }
  )

  it.effect("a stored customer-supplied provider key takes precedence, and the service charges nothing then", () => {
    const keys = { find: () => Effect.succeed(Redacted.make("sk-of-the-customer")) }
    return Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("ResponseDone")
      assert.strictEqual(yield* stop(client), "ended")
      const [setup] = (yield* TestRealtime.ScriptedVoice).setups
      assert.strictEqual(setup?.apiKey && Redacted.value(setup.apiKey), "sk-of-the-customer")
      assert.deepInclude(client.events.at(-1), { providerCostUsd: 0.001, chargedUsd: 0 })
    }).pipe(
      Effect.scoped,
      asNewOwner,
      Effect.provide(TestRealtime.layer([[say("Hello.")]]).pipe(Layer.provide(Layer.succeed(ProviderKeys, keys))))
    )
  })

  story(
    "provider: must match the model, must be one of the service's, and must be configured",
    [],
    Effect.gen(function* () {
      const wrongModel = yield* TestRealtime.connect({ model: "another-voice" })
      assert.strictEqual(yield* refusedWith(wrongModel, "model_mismatch"), "refused")
      const unknown = yield* TestRealtime.connect({ provider: "nobody" })
      assert.strictEqual(yield* refusedWith(unknown, "invalid_first_frame"), "refused")
      const threads = yield* (yield* ThreadStore).list({ skip: 0, limit: 10 })
      assert.deepStrictEqual(threads, [])
    })
  )

  it.effect("a provider that the host knows but did not configure is provider_unavailable", () =>
    Effect.gen(function* () {
      const models = yield* Layer.build(RealtimeModels.layer([], ["provider_a"]))
      const sessions = RealtimeSessions.layer.pipe(Layer.provide(Layer.succeedContext(models)))
      const client = yield* Effect.provide(TestRealtime.connect({ provider: "provider_a" }), sessions)
      assert.strictEqual(yield* refusedWith(client, "provider_unavailable"), "fault")
    }).pipe(Effect.scoped, asNewOwner, Effect.provide(TestRealtime.layer([])))
  )

  story(
    "ids that are unknown, malformed or another owner's are not found",
    [],
    Effect.gen(function* () {
      const foreign = yield* asNewOwner(openThread)
      for (const threadId of [foreign.id, "", "no id at all"]) {
        assert.strictEqual(yield* refusedWith(yield* TestRealtime.connect({ threadId }), "thread_not_found"), "refused")
      }
      for (const assistantId of [foreign.assistantId, "", "no id at all"]) {
        const client = yield* TestRealtime.connect({ assistantId })
        assert.strictEqual(yield* refusedWith(client, "assistant_not_found"), "refused")
      }
    })
  )

  story(
    "with both ids, the thread wins; only assistant_id starts a new thread under it",
    [[hang], [hang]],
    Effect.gen(function* () {
      const one = yield* openThread
      const other = yield* openThread
      const both = yield* TestRealtime.connect({ threadId: one.id, assistantId: other.assistantId })
      const begin = yield* both.next("SessionBegin")
      assert.deepStrictEqual([begin.threadId, begin.assistantId], [one.id, one.assistantId])
      const fresh = yield* TestRealtime.connect({ assistantId: other.assistantId })
      const second = yield* fresh.next("SessionBegin")
      assert.strictEqual(second.assistantId, other.assistantId)
      assert.notStrictEqual(second.threadId, other.id)
      yield* stop(both)
      yield* stop(fresh)
    })
  )

  story(
    "memory with memory_pro is refused; a selection that is not installed is refused",
    [],
    Effect.gen(function* () {
      const both = { ...nothingSelected, memory: "Auto", memoryPro: "Readonly" } as const
      yield* refusedWith(yield* TestRealtime.connect({ selection: both }), "invalid_first_frame")
      const memory = { ...nothingSelected, memory: "Auto" } as const
      const client = yield* TestRealtime.connect({ selection: memory })
      assert.match((yield* client.next("Error")).message, /not installed/)
    })
  )

  story(
    "a tool of the client cannot take the name of a hosted one",
    [],
    Effect.gen(function* () {
      yield* refusedWith(yield* TestRealtime.connect({ tools }), "invalid_first_frame")
    }),
    {
      hosted: [{ definition: { name: "get_time", description: null, parameters: null }, run: () => Effect.succeed(1) }]
    }
  )

  story(
    "insufficient credit refuses before anything is made",
    [],
    Effect.gen(function* () {
      yield* refusedWith(yield* TestRealtime.connect(), "insufficient_credit")
      assert.deepStrictEqual(yield* (yield* ThreadStore).list({ skip: 0, limit: 10 }), [])
    }),
    {
      host: Layer.succeed(Metering, {
        // Trial credit pays for words, not for native audio.
        ensureCredit: ({ purpose }) => (purpose === "realtime" ? Effect.fail(new InsufficientCredit()) : Effect.void),
        record: () => Effect.void
      })
    }
  )

  story(
    "one session too many is refused, and leaves nothing behind",
    [[hang]],
    Effect.gen(function* () {
      const { id } = yield* openThread
      const client = yield* TestRealtime.connect({ threadId: id })
      yield* client.next("SessionBegin")
      yield* refusedWith(yield* TestRealtime.connect(), "session_limit")
      assert.deepStrictEqual(
        (yield* (yield* ThreadStore).list(firstPage)).map((thread) => thread.id),
        [id]
      )
      assert.lengthOf(yield* (yield* AssistantStore).list(firstPage), 1)
    }),
    { host: Layer.succeed(Quotas, () => ({ ...noQuota, sessionsAtOnce: 1 })) }
  )

  story(
    "a session ends with a reason when the budget of the day is used up, and none begins until it ends",
    [[hear("Hi?"), say("Hello.")]],
    Effect.gen(function* () {
      const { id } = yield* openThread
      const client = yield* TestRealtime.connect({ threadId: id })
      yield* client.next("SessionBegin")
      client.speak(frame)
      const error = yield* client.next("Error")
      assert.strictEqual(error.code, "insufficient_credit")
      assert.include(error.message, "The budget of the day is used up. The limit of 0.001 US dollars a day is reached")
      assert.strictEqual(yield* client.end, "refused")
      assert.deepStrictEqual(yield* stored(id), [
        ["user", "Hi?"],
        ["assistant", "Hello."]
      ])
      const another = yield* TestRealtime.connect({ threadId: id })
      assert.strictEqual(yield* refusedWith(another, "insufficient_credit"), "refused")
    }),
    { host: Layer.succeed(Quotas, () => ({ ...noQuota, usdPerDay: 0.001 })) }
  )

  story(
    "a vendor that cannot be reached is provider_unavailable, and the thread is free again",
    [[refuse("No route to the vendor.")], [hang]],
    Effect.gen(function* () {
      const { id } = yield* openThread
      const client = yield* TestRealtime.connect({ threadId: id })
      assert.strictEqual(yield* refusedWith(client, "provider_unavailable"), "fault")
      const again = yield* TestRealtime.connect({ threadId: id })
      yield* again.next("SessionBegin")
      yield* stop(again)
    })
  )
})

describe("who asks", () => {
  story(
    "a missing or wrong key is unauthorized",
    [],
    Effect.gen(function* () {
      for (const key of [null, Redacted.make("cq_wrong")]) {
        const client = yield* TestRealtime.dial({ key })
        assert.strictEqual(yield* refusedWith(client, "unauthorized"), "refused")
      }
    })
  )

  story(
    "ticket: single use, valid 60 seconds, bound to its thread and to its Origin",
    [[hang]],
    Effect.gen(function* () {
      const tickets = yield* Tickets
      const { id } = yield* openThread
      const origin = "https://app.example"
      const issue = tickets.issue({ threadId: id, assistantId: null, origin })
      const begin = (client: TestRealtime.TestClient, threadId: string | null = null) =>
        client.input({ _tag: "Begin", request: TestRealtime.request({ threadId }), bytes: 1 })

      const { ticket } = yield* issue
      const good = yield* TestRealtime.dial({ ticket, origin })
      begin(good)
      assert.strictEqual((yield* good.next("SessionBegin")).threadId, id)
      yield* refusedWith(yield* TestRealtime.dial({ ticket, origin }), "ticket_invalid")
      yield* stop(good)

      const inTime = yield* issue
      yield* TestClock.adjust("59999 millis")
      yield* tickets.redeem(inTime.ticket, origin)
      const late = yield* issue
      yield* TestClock.adjust("60 seconds")
      yield* refusedWith(yield* TestRealtime.dial({ ticket: late.ticket, origin }), "ticket_invalid")

      const moved = yield* issue
      yield* refusedWith(
        yield* TestRealtime.dial({ ticket: moved.ticket, origin: "https://evil.example" }),
        "origin_mismatch"
      )
      yield* refusedWith(yield* TestRealtime.dial({ ticket: moved.ticket, origin }), "ticket_invalid")
      yield* refusedWith(yield* TestRealtime.dial({ ticket: (yield* issue).ticket }), "origin_mismatch")

      const bound = yield* TestRealtime.dial({ ticket: (yield* issue).ticket, origin })
      begin(bound, (yield* openThread).id)
      yield* refusedWith(bound, "ticket_invalid")
    })
  )

  it.effect("ticket: one of ten concurrent redemptions on two processes wins", () => {
    const state = InMemory.makeState()
    const elsewhere = TestRealtime.layer([], { state })
    return Effect.gen(function* () {
      const { ticket } = yield* (yield* Tickets).issue({ threadId: null, assistantId: null, origin: null })
      const here = Effect.exit(Tickets.use((tickets) => tickets.redeem(ticket, null)))
      const there = Effect.exit(
        Effect.provide(
          Tickets.use((tickets) => tickets.redeem(ticket, null)),
          elsewhere
        )
      )
      const exits = yield* Effect.all([here, there, here, there, here, there, here, there, here, there], {
        concurrency: "unbounded"
      })
      assert.lengthOf(
        exits.filter(({ _tag }) => _tag === "Success"),
        1
      )
    }).pipe(asNewOwner, Effect.provide(TestRealtime.layer([], { state })))
  })
})

describe("session_conflict", () => {
  it.effect("only one native realtime session may write to a thread at a time, across processes", () => {
    const state = InMemory.makeState()
    return Effect.gen(function* () {
      const { id } = yield* openThread
      const first = yield* TestRealtime.connect({ threadId: id })
      yield* first.next("SessionBegin")
      yield* Effect.gen(function* () {
        const second = yield* TestRealtime.connect({ threadId: id })
        assert.strictEqual(yield* refusedWith(second, "session_conflict"), "refused")
      }).pipe(Effect.scoped, Effect.provide(TestRealtime.layer([], { state })))
      assert.isNull(first.closed())
      yield* stop(first)
    }).pipe(Effect.scoped, asNewOwner, Effect.provide(TestRealtime.layer([[hang]], { state })))
  })

  story(
    "a session on a thread with an active run is refused; a turn on a thread with a session is busy",
    [[hang]],
    Effect.gen(function* () {
      const { id } = yield* openThread
      const turn = yield* startTurn(id)
      yield* refusedWith(yield* TestRealtime.connect({ threadId: id }), "session_conflict")
      yield* settleTurn(turn)
      const client = yield* TestRealtime.connect({ threadId: id })
      yield* client.next("SessionBegin")
      const outcome = yield* (yield* RunStore).begin(yield* sampleBegin(id))
      assert.strictEqual(outcome._tag, "InSession")
      yield* stop(client)
      yield* startTurn(id)
    })
  )

  story(
    "a lease that is renewed holds the thread for as long as the session lasts; a dead process frees it within 15 seconds",
    [[hang]],
    Effect.gen(function* () {
      const { id } = yield* openThread
      const client = yield* TestRealtime.connect({ threadId: id })
      yield* client.next("SessionBegin")
      yield* TestClock.adjust("100 seconds")
      assert.strictEqual((yield* (yield* RunStore).begin(yield* sampleBegin(id)))._tag, "InSession")
      const store = yield* SessionStore
      yield* stop(client)
      const dead = yield* store.open(id, (yield* sampleBegin(id)).run.id, {
        lease: Duration.fromInputUnsafe(defaultSessionLimits.lease),
        messages: 1,
        at: new Date(0)
      })
      assert.strictEqual(dead._tag, "Opened")
      yield* TestClock.adjust("15 seconds")
      yield* startTurn(id)
    })
  )

  story(
    "neither the thread of a session can be deleted, nor its assistant",
    [[hang]],
    Effect.gen(function* () {
      const { assistantId, id } = yield* openThread
      const client = yield* TestRealtime.connect({ threadId: id })
      yield* client.next("SessionBegin")
      assert.strictEqual((yield* Effect.flip((yield* Threads).remove(id)))._tag, "ThreadInSession")
      assert.strictEqual((yield* Effect.flip((yield* Assistants).remove(assistantId)))._tag, "AssistantInSession")
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* stop(client), "ended")
      yield* (yield* Assistants).remove(assistantId)
    })
  )
})

describe("limits", () => {
  story(
    "realtime session length: up to 30 minutes",
    [[hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("SessionBegin")
      for (let minute = 0; minute < 30; minute++) {
        client.speak(frame)
        assert.isNull(client.closed())
        yield* TestClock.adjust("1 minute")
      }
      assert.strictEqual(yield* refusedWith(client, "session_limit"), "refused")
    })
  )

  story(
    "realtime inactivity: 120 seconds with no client audio or events times out; continuing microphone frames, even silence, count as activity",
    [[hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("SessionBegin")
      yield* TestClock.adjust("119 seconds")
      client.speak(frame)
      yield* TestClock.adjust("119 seconds")
      client.send({ _tag: "Commit" })
      yield* TestClock.adjust("119 seconds")
      assert.isNull(client.closed())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* refusedWith(client, "idle_timeout"), "refused")
    })
  )

  story(
    "realtime client input: up to 100 MiB per session",
    [[hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("SessionBegin")
      const piece = new Uint8Array(256 * 1024)
      for (let sent = 0; sent < 400; sent++) client.speak(piece)
      assert.lengthOf((yield* TestRealtime.ScriptedVoice).heard(), 100 * 1024 * 1024)
      assert.isNull(client.closed())
      client.speak(new Uint8Array(1))
      assert.strictEqual(yield* refusedWith(client, "input_limit"), "refused")
      assert.lengthOf((yield* TestRealtime.ScriptedVoice).heard(), 100 * 1024 * 1024)
    })
  )

  story(
    "realtime history: at most 200 messages, refused whole and never cut",
    [[hang]],
    Effect.gen(function* () {
      const { id } = yield* openThread
      for (let turn = 0; turn < 100; turn++) yield* settleTurn(yield* startTurn(id))
      const client = yield* TestRealtime.connect({ threadId: id })
      yield* client.next("SessionBegin")
      yield* stop(client)
      const [setup] = (yield* TestRealtime.ScriptedVoice).setups
      assert.lengthOf(setup?.history ?? [], 200)
      yield* settleTurn(yield* startTurn(id))
      const late = yield* TestRealtime.connect({ threadId: id })
      assert.strictEqual(yield* refusedWith(late, "history_too_large"), "refused")
      yield* startTurn(id)
    })
  )

  story(
    "realtime history: 200,000 characters of serialized history plus assistant instructions",
    [[hang]],
    Effect.gen(function* () {
      const fits = yield* TestRealtime.connect({ systemPrompt: "x".repeat(200_000 - "[]".length) })
      yield* fits.next("SessionBegin")
      yield* stop(fits)
      const tooLong = yield* TestRealtime.connect({ systemPrompt: "x".repeat(200_000 - "[]".length + 1) })
      yield* refusedWith(tooLong, "history_too_large")
    })
  )
})

describe("realtime history", () => {
  it("counts the serialized history and the instructions together, whole or not at all", () => {
    const history = [{ role: "user", text: "x".repeat(100_000) }] as const
    const left = 200_000 - JSON.stringify(history).length
    assert.isNull(historyProblem(1, history, "i".repeat(left), defaultSessionLimits))
    const problem = historyProblem(1, history, "i".repeat(left + 1), defaultSessionLimits)
    assert.strictEqual(problem?.code, "history_too_large")
  })
})

describe("order of a session", () => {
  story(
    "audio and frames before session.begin are not_ready; stop is taken",
    [],
    Effect.gen(function* () {
      const client = yield* TestRealtime.dial({ key: yield* newKey })
      client.input({ _tag: "Audio", audio: frame })
      assert.strictEqual((yield* client.next("Error")).code, "not_ready")
      client.send({ _tag: "Text", text: "early" })
      assert.strictEqual((yield* client.next("Error")).code, "not_ready")
      client.send({ _tag: "Stop" })
      assert.strictEqual(yield* client.end, "ended")
      yield* client.next("SessionEnded")
    })
  )

  story(
    "a second first frame is invalid_frame, and the session goes on",
    [[hear("Yes?"), say("Yes.")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("SessionBegin")
      client.input({ _tag: "Begin", request: TestRealtime.request(), bytes: 1 })
      assert.strictEqual((yield* client.next("Error")).code, "invalid_frame")
      client.speak(frame)
      yield* client.next("ResponseDone")
      assert.strictEqual(yield* stop(client), "ended")
    })
  )

  story(
    "cancel: refused where the provider has none, and the session stays",
    [[read("Hi"), say("Hi.")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("SessionBegin")
      client.send({ _tag: "Cancel" })
      assert.strictEqual((yield* client.next("Error")).code, "unsupported_frame")
      client.send({ _tag: "Text", text: "Hi" })
      yield* client.next("ResponseDone")
      assert.strictEqual(yield* stop(client), "ended")
    }),
    { canCancel: false }
  )

  story(
    "stop does not wait for every tool, and tells the client which calls are over; a second stop is nothing",
    [[callTool("get_time", {}, "call_1")]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect({ tools })
      const { threadId } = yield* client.next("SessionBegin")
      yield* client.next("ToolCall")
      client.send({ _tag: "Stop" })
      client.send({ _tag: "Stop" })
      assert.strictEqual(yield* client.end, "ended")
      assert.deepStrictEqual((yield* client.next("ToolCancelled")).toolCallIds, ["call_1"])
      assert.lengthOf(
        client.events.filter(({ _tag }) => _tag === "SessionEnded"),
        1
      )
      const [message] = yield* (yield* ThreadStore).messages([ThreadId.make(threadId)])
      assert.deepStrictEqual(message?.toolResults, [])
    })
  )

  story(
    "a client that does not read pauses the vendor, and is cut off after ten seconds",
    [[hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("SessionBegin")
      const voice = yield* TestRealtime.ScriptedVoice
      client.input({ _tag: "Behind", isBehind: true })
      assert.isTrue(voice.isPaused())
      yield* TestClock.adjust("9 seconds")
      client.input({ _tag: "Behind", isBehind: false })
      assert.isFalse(voice.isPaused())
      yield* TestClock.adjust("10 seconds")
      assert.isNull(client.closed())
      client.input({ _tag: "Behind", isBehind: true })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* client.end, "fault")
    })
  )
})

describe("the end", () => {
  story(
    "drain: every session is told session.ended and closed for a shutdown, its history saved; new ones are refused",
    [[hear("One?"), say("Two."), hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ResponseDone")
      const sessions = yield* RealtimeSessions
      yield* sessions.drain
      assert.strictEqual(client.closed(), "shutdown")
      assert.strictEqual(client.events.at(-1)?._tag, "SessionEnded")
      assert.lengthOf(yield* stored(threadId), 2)
      assert.strictEqual(sessions.size(), 0)
      const late = yield* TestRealtime.connect()
      assert.strictEqual(yield* late.end, "shutdown")
    })
  )

  it.effect("history_incomplete: a store that is away at the end is told, and a later sweep finishes the work", () => {
    let isAway = false
    const state = InMemory.makeState()
    const away = Layer.effect(
      SessionStore,
      Effect.map(SessionStore, (store) => ({
        ...store,
        write: (...given: Parameters<typeof store.write>) =>
          Effect.suspend(() =>
            isAway ? Effect.fail(new StoreUnavailable({ operation: "SessionStore.write" })) : store.write(...given)
          )
      }))
    ).pipe(Layer.provide(InMemory.layerFrom(state)))
    return Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      isAway = true
      client.speak(frame)
      yield* client.next("ResponseDone")
      client.send({ _tag: "Stop" })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* refusedWith(client, "history_incomplete"), "fault")
      assert.deepStrictEqual(yield* stored(threadId), [])
      isAway = false
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* stored(threadId), [
        ["user", "One?"],
        ["assistant", "Two."]
      ])
      yield* startTurn(ThreadId.make(threadId))
    }).pipe(
      Effect.scoped,
      asNewOwner,
      Effect.provide(TestRealtime.layer([[hear("One?"), say("Two."), hang]], { state, sessionStore: away }))
    )
  })

  it.effect("billing_pending: a meter that fails is told later, by a sweep over the store", () => {
    const reports: Array<UsageReport> = []
    let isDown = true
    const metering = {
      ensureCredit: () => Effect.void,
      record: (report: UsageReport) =>
        Effect.suspend(() => {
          if (isDown) return Effect.fail(new StoreUnavailable({ operation: "meter" }))
          reports.push(report)
          return Effect.void
        })
    }
    return Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { sessionId } = yield* client.next("SessionBegin")
      yield* client.next("ResponseDone")
      client.send({ _tag: "Stop" })
      assert.strictEqual(yield* refusedWith(client, "billing_pending"), "fault")
      isDown = false
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(
        reports.map(({ leg, runId, usage }) => [String(runId), leg, usage.costUsd]),
        [[sessionId, 1, 0.001]]
      )
    }).pipe(
      Effect.scoped,
      asNewOwner,
      Effect.provide(TestRealtime.layer([[say("Two.")]]).pipe(Layer.provide(Layer.succeed(Metering, metering))))
    )
  })

  it.effect("a meter that never takes the charges of one session is told those of the others", () => {
    const reports: Array<UsageReport> = []
    let isDown = true
    let refused: string | null = null
    const metering = {
      ensureCredit: () => Effect.void,
      record: (report: UsageReport) =>
        Effect.suspend(() => {
          if (report.runId === refused) return Effect.die(new Error("The meter has no account for it."))
          if (isDown) return Effect.fail(new StoreUnavailable({ operation: "meter" }))
          reports.push(report)
          return Effect.void
        })
    }
    const talk = Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { sessionId } = yield* client.next("SessionBegin")
      yield* client.next("ResponseDone")
      client.send({ _tag: "Stop" })
      yield* refusedWith(client, "billing_pending")
      return sessionId
    })
    return Effect.gen(function* () {
      refused = yield* talk
      const other = yield* talk
      isDown = false
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(
        reports.map(({ runId }) => String(runId)),
        [other]
      )
    }).pipe(
      Effect.scoped,
      asNewOwner,
      Effect.provide(
        TestRealtime.layer([[say("One.")], [say("Two.")]]).pipe(
          Layer.provide([Layer.succeed(Metering, metering), Logger.layer([])])
        )
      )
    )
  })

  it.effect(
    "a meter that does not answer holds neither the conversation, nor the end of a session, nor the charges of others",
    () => {
      const reports: Array<UsageReport> = []
      let unanswered: string | null = null
      let isDown = true
      const metering = {
        ensureCredit: () => Effect.void,
        record: (report: UsageReport) =>
          Effect.suspend(() => {
            unanswered ??= report.runId
            if (report.runId === unanswered) return Effect.never
            if (isDown) return Effect.fail(new StoreUnavailable({ operation: "meter" }))
            return Effect.sync(() => void reports.push(report))
          })
      }
      const beats = [hear("One?"), say("Two."), hear("Three?"), say("Four."), hang]
      return Effect.gen(function* () {
        const client = yield* TestRealtime.connect()
        const { threadId } = yield* client.next("SessionBegin")
        for (const _ of ["One?", "Three?"]) {
          client.speak(frame)
          yield* client.next("ResponseDone")
          yield* TestClock.adjust("15 seconds")
        }
        assert.deepStrictEqual(
          (yield* stored(threadId)).map(([, text]) => text),
          ["One?", "Two.", "Three?", "Four."]
        )
        client.send({ _tag: "Stop" })
        const ending = yield* Effect.forkChild(refusedWith(client, "billing_pending"))
        yield* TestClock.adjust("20 seconds")
        assert.strictEqual(yield* Fiber.join(ending), "fault")
        yield* startTurn(ThreadId.make(threadId))
        const other = yield* TestRealtime.connect()
        const { sessionId } = yield* other.next("SessionBegin")
        yield* other.next("ResponseDone")
        other.send({ _tag: "Stop" })
        yield* refusedWith(other, "billing_pending")
        isDown = false
        yield* TestClock.adjust("10 minutes")
        assert.deepStrictEqual(
          reports.map(({ runId }) => String(runId)),
          [sessionId]
        )
      }).pipe(
        Effect.scoped,
        asNewOwner,
        Effect.provide(
          TestRealtime.layer([beats, [say("Five.")]]).pipe(
            Layer.provide([Layer.succeed(Metering, metering), Logger.layer([])])
          )
        )
      )
    }
  )

  it.effect("a lease is renewed after the store has failed in a way that nobody foresaw", () => {
    const state = InMemory.makeState()
    let isFirst = true
    const broken = Layer.effect(
      SessionStore,
      Effect.map(SessionStore, (store) => ({
        ...store,
        renew: (...given: Parameters<typeof store.renew>) =>
          Effect.suspend(() => {
            if (!isFirst) return store.renew(...given)
            isFirst = false
            return Effect.die(new Error("The driver of the database is broken."))
          })
      }))
    ).pipe(Layer.provide(InMemory.layerFrom(state)))
    return Effect.gen(function* () {
      const { id } = yield* openThread
      const client = yield* TestRealtime.connect({ threadId: id })
      yield* client.next("SessionBegin")
      yield* TestClock.adjust("100 seconds")
      assert.strictEqual((yield* (yield* RunStore).begin(yield* sampleBegin(id)))._tag, "InSession")
      yield* stop(client)
    }).pipe(
      Effect.scoped,
      asNewOwner,
      Effect.provide(
        TestRealtime.layer([[hang]], { state, sessionStore: broken }).pipe(Layer.provide(Logger.layer([])))
      )
    )
  })

  it.effect("what a session has used is in the ledger, also when another one has taken its thread", () => {
    const state = InMemory.makeState()
    let isAway = false
    const away = Layer.effect(
      SessionStore,
      Effect.map(SessionStore, (store) => ({
        ...store,
        renew: (...given: Parameters<typeof store.renew>) => (isAway ? Effect.succeed([]) : store.renew(...given)),
        write: (...given: Parameters<typeof store.write>) =>
          Effect.suspend(() =>
            isAway ? Effect.fail(new StoreUnavailable({ operation: "SessionStore.write" })) : store.write(...given)
          )
      }))
    ).pipe(Layer.provide(InMemory.layerFrom(state)))
    return Effect.gen(function* () {
      const { id } = yield* openThread
      const client = yield* TestRealtime.connect({ threadId: id })
      yield* client.next("SessionBegin")
      isAway = true
      client.speak(frame)
      yield* client.next("ResponseDone")
      yield* TestClock.adjust("16 seconds")
      const direct = yield* Effect.provide(SessionStore, InMemory.layerFrom(state))
      const taken = yield* direct.open(id, (yield* sampleBegin(id)).run.id, {
        lease: Duration.minutes(1),
        messages: 1,
        at: new Date(0)
      })
      assert.strictEqual(taken._tag, "Opened")
      isAway = false
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* client.end, "fault")
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.deepStrictEqual(
        days.map(({ usage }) => usage.costUsd),
        [0.001]
      )
    }).pipe(
      Effect.scoped,
      asNewOwner,
      Effect.provide(TestRealtime.layer([[hear("One?"), say("Two."), hang]], { state, sessionStore: away }))
    )
  })

  story(
    "a disconnect does not undo a charge",
    [[say("Two."), hang]],
    Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      yield* client.next("ResponseDone")
      client.leave()
      yield* Fiber.join(client.served)
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.deepStrictEqual(
        days.map(({ usage }) => usage.costUsd),
        [0.001]
      )
    })
  )
})
