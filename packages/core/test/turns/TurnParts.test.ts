/**
 * How parts join a turn: three toy parts over the public use cases. A *finder* recalls material and brings a tool, a *speaker* reads the
 * answer aloud, a *learner* leaves a follow-up; a *guard* answers instead of the model.
 */
import { callTool, cite, draw, fail, hang, say, type ScriptStep, ScriptedModel, TestKernel } from "@colloquy/testing"
import {
  type Charge,
  FollowUps,
  type MeteringPort,
  Principal,
  readSupplement,
  Threads,
  type TurnEvent,
  type TurnPart,
  TurnParts,
  TurnRefused,
  Turns
} from "@colloquy/core"
import {
  chargeOfCost,
  type ChargeReport,
  type ChatMessage,
  noUsage,
  UsageLedger,
  firstPage,
  type UsageReport
} from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { messagesIn, quiet, storedLog, storedRun, tags, weather } from "../support/Story.ts"

const FinderPlan = Schema.Struct({ query: Schema.String })

const searchCost: Charge = chargeOfCost({ provider: "index", model: "bm25", purpose: "search" }, 0.25)

const finder = (recalls: Array<string> = []): TurnPart<typeof FinderPlan.Type> => ({
  name: "finder",
  plan: FinderPlan,
  decide: ({ content, options }) =>
    Effect.succeed(
      options === undefined
        ? null
        : {
            plan: { query: content },
            supplement: { asked: options },
            ignored: [{ option: "json_output", because: "excerpts are in the prompt" }]
          }
    ),
  recall: ({ query }, turn) =>
    Effect.sync(() => {
      recalls.push(query)
      turn.spend(searchCost)
      turn.tell({ type: "found", data: { count: 2 } })
      turn.keep({ files: ["a.txt"] })
      return [
        {
          name: "excerpts",
          intro: "Material, no instructions:",
          items: [
            { text: `one about ${query}`, rank: 0 },
            { text: `two about ${query}`, rank: 1 }
          ],
          place: "turn",
          weight: 1
        }
      ]
    }),
  tools: () => [
    {
      definition: { name: "find_more", description: null, parameters: { type: "object", properties: {} } },
      run: (_, call) =>
        Effect.gen(function* () {
          yield* call.journal({ last_search: call.runId })
          call.tell({ type: "searched", data: call.content })
          call.spend(searchCost)
          return "nothing more"
        }).pipe(Effect.orDie)
    }
  ]
})

const speaker = (heard: Array<string>): TurnPart<null> => ({
  name: "speaker",
  plan: Schema.Null,
  decide: ({ options }) => Effect.succeed(options === undefined ? null : { plan: null }),
  speak: (_, turn, words) =>
    Effect.gen(function* () {
      yield* Stream.runForEach(words, (word) =>
        Effect.sync(() => {
          heard.push(word)
          turn.tell({ type: "spoken", data: { word }, isLive: true })
        })
      )
      turn.keep({ words: heard.length })
      turn.tell({ type: "spoken_end", data: {} })
    })
})

/** Puts a conversation that came with the message around it. */
const witness: TurnPart<null> = {
  name: "witness",
  plan: Schema.Null,
  decide: ({ options }) =>
    Effect.succeed(options === undefined ? null : { plan: null, supplement: options, tokens: 900 }),
  render: (supplement) =>
    Effect.succeed({
      before: [
        { role: "assistant", content: `before ${JSON.stringify(supplement)}`, toolCalls: [], providerData: null }
      ],
      after: [{ role: "assistant", content: `after ${JSON.stringify(supplement)}`, toolCalls: [], providerData: null }]
    })
}

const learner: TurnPart<null> = {
  name: "learner",
  plan: Schema.Null,
  decide: ({ options }) => Effect.succeed(options === undefined ? null : { plan: null }),
  followUps: (_, ended) =>
    ended.status === "COMPLETED"
      ? [{ kind: "learn", key: ended.runId, payload: { said: ended.leg.content } }]
      : ended.status === "SAVED"
        ? [{ kind: "learn", key: ended.runId, payload: { said: ended.message.content } }]
        : []
}

const guard: TurnPart<null> = {
  name: "guard",
  plan: Schema.Null,
  decide: ({ content }) =>
    Effect.succeed(
      content.includes("password") ? { plan: null, answers: { provider: "house", model: "guard-1" } } : null
    ),
  answer: () =>
    Effect.succeed({ content: "I keep no passwords.", model: "guard-1", usage: { ...noUsage, inputTokens: 3 } })
}

type Services = TestKernel.Services

const withParts = (
  title: string,
  parts: ReadonlyArray<Layer.Layer<never, never, TurnParts>>,
  steps: ReadonlyArray<ScriptStep>,
  body: Effect.Effect<void, unknown, Services | Principal | Scope.Scope>,
  options: TestKernel.TestKernelOptions = {}
) =>
  it.effect(title, () => {
    const joined = parts.reduce<Layer.Layer<never, never, TurnParts>>(
      (all, part) => Layer.merge(all, part),
      Layer.empty
    )
    const kernel = joined.pipe(Layer.provideMerge(TestKernel.layer(steps, options)), Layer.fresh)
    return body.pipe(Principal.provide("ada"), Effect.provide([kernel, quiet]))
  })

const all = { finder: {}, speaker: {}, learner: {} }

const turnWithEvents = Effect.fnUntraced(function* (request: Parameters<typeof Turns.Service.start>[0]) {
  const turn = yield* (yield* Turns).start({ stream: true, ...request })
  return { turn, events: yield* Stream.runCollect(turn.events) }
})

const told = (events: ReadonlyArray<TurnEvent>) =>
  events.flatMap((event) => (event._tag === "PartTold" ? [`${event.part} ${event.type}`] : []))

const orders = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0]
]

describe("parts of a turn", () => {
  for (const order of orders) {
    const heard: Array<string> = []
    const parts = [TurnParts.part(finder()), TurnParts.part(speaker(heard)), TurnParts.part(learner)]
    withParts(
      `join it in any order of their layers (${order.join(" ")})`,
      order.flatMap((index) => parts[index] ?? []),
      [say("Sunny", ", mostly.")],
      Effect.gen(function* () {
        const { events, turn } = yield* turnWithEvents({ content: "the weather", options: all })
        assert.deepStrictEqual(told(events), ["finder found", "speaker spoken", "speaker spoken", "speaker spoken_end"])
        assert.strictEqual(events.at(-1)?._tag, "RunEnded")
        assert.strictEqual(heard.join(""), "Sunny, mostly.")
        const reply = yield* turn.reply
        assert.deepStrictEqual(reply.supplements, { finder: { files: ["a.txt"] }, speaker: { words: 2 } })
        assert.deepStrictEqual(reply.userSupplements, { finder: { asked: {} } })
        const [request] = (yield* ScriptedModel).requests
        assert.deepStrictEqual(request?.messages, [
          {
            role: "user",
            content: [
              { type: "text", text: "Material, no instructions:\n\none about the weather\n\ntwo about the weather" },
              { type: "text", text: "the weather" }
            ]
          }
        ])
        assert.deepStrictEqual(
          request?.tools.map(({ name }) => name),
          ["find_more"]
        )
        const { explanation, ignored } = yield* (yield* Turns).report(turn.threadId, turn.runId)
        assert.deepInclude(
          explanation?.parts.find(({ part }) => part === "excerpts"),
          { messages: 2 }
        )
        assert.deepStrictEqual(ignored, [{ option: "json_output", because: "excerpts are in the prompt" }])
        const followUp = Option.getOrThrow(yield* (yield* FollowUps).find("learn", turn.runId))
        assert.deepStrictEqual(followUp.payload, { said: "Sunny, mostly." })
      })
    )
  }

  /** Several parts that each bring material and a tool: the model reads the same bytes, whatever registered first. */
  const cook = (name: string): TurnPart<null> => ({
    name,
    plan: Schema.Null,
    decide: () => Effect.succeed({ plan: null, ignored: [{ option: name, because: "it has no effect" }] }),
    recall: () =>
      Effect.succeed([
        { name, intro: `Of ${name}:`, items: [{ text: `${name} is hot`, rank: 0 }], place: "turn", weight: 1 }
      ]),
    tools: () => [
      {
        definition: { name: `ask_${name}`, description: null, parameters: { type: "object", properties: {} } },
        run: () => Effect.succeed("")
      }
    ]
  })
  for (const order of orders) {
    const parts = ["tea", "milk", "soup"].map((name) => TurnParts.part(cook(name)))
    withParts(
      `give the model the same prompt in any order of their layers (${order.join(" ")})`,
      order.flatMap((index) => parts[index] ?? []),
      [say("Yes.")],
      Effect.gen(function* () {
        const { turn } = yield* turnWithEvents({ content: "What is hot?" })
        const [request] = (yield* ScriptedModel).requests
        assert.deepStrictEqual(
          request?.tools.map(({ name }) => name),
          ["ask_milk", "ask_soup", "ask_tea"]
        )
        assert.match(JSON.stringify(request?.messages), /milk is hot.*soup is hot.*tea is hot.*What is hot/u)
        const { ignored } = yield* (yield* Turns).report(turn.threadId, turn.runId)
        assert.deepStrictEqual(
          ignored.map(({ option }) => option),
          ["milk", "soup", "tea"]
        )
      })
    )
  }

  withParts(
    "keep what they found with the messages, and what is only live out of the store",
    [TurnParts.part(finder()), TurnParts.part(speaker([]))],
    [say("Hi.")],
    Effect.gen(function* () {
      const { turn } = yield* turnWithEvents({ content: "x", options: { finder: {}, speaker: {} } })
      const [question, answer] = yield* messagesIn(turn.threadId)
      assert.deepStrictEqual(question?.supplements, { finder: { value: { asked: {} } } })
      assert.deepStrictEqual(readSupplement(answer ?? { supplements: null }, "speaker"), { value: { words: 1 } })
      const again = yield* Stream.runCollect(yield* (yield* Turns).follow(turn.threadId, turn.runId, 0))
      assert.includeMembers(told(again), ["finder found", "speaker spoken_end"])
    })
  )

  const reports: Array<UsageReport> = []
  const metering: MeteringPort = {
    ensureCredit: () => Effect.void,
    record: (report) => Effect.sync(() => void reports.push(report))
  }
  withParts(
    "have what they spend in the ledger and in the report, the model first",
    [TurnParts.part(finder())],
    [callTool("find_more", {}), say("Done.")],
    Effect.gen(function* () {
      const { turn } = yield* turnWithEvents({ content: "x", options: { finder: {} } })
      // The host is told when the reader has seen the end.
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(
        reports.map(({ charges }) => charges.map(({ purpose }) => purpose)),
        [["chat", "search", "search"]]
      )
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.deepStrictEqual(
        days.map(({ model, purpose, usage }) => [model, purpose, usage.costUsd]),
        [
          ["bm25", "search", 0.5],
          ["scripted-model", "chat", null]
        ]
      )
      // One charge of the run has no known price.
      assert.isNull((yield* turn.reply).usage.costUsd)
      const thread = yield* (yield* Threads).get(turn.threadId)
      assert.deepStrictEqual(thread.thread.metadata, { last_search: turn.runId })
    }),
    { metering }
  )

  const recalls: Array<string> = []
  withParts(
    "recall once a run: after tool outputs the prompt begins with the same bytes",
    [TurnParts.part(finder(recalls))],
    [callTool("weather", {}), say("Rain.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* turns.send({ content: "today", tools: [weather], options: { finder: {} } })
      const call = first.toolCalls[0]?.id ?? ""
      const next = yield* turns.submitToolOutputs({
        threadId: first.threadId,
        outputs: [{ toolCallId: call, output: "rain" }]
      })
      yield* next.reply
      const [before, after] = (yield* ScriptedModel).requests
      assert.deepStrictEqual(after?.messages.slice(0, 1), before?.messages)
      assert.deepStrictEqual(recalls, ["today"])
    })
  )

  withParts(
    "put messages of their own around the user's, in later turns too, and their size counts",
    [TurnParts.part(witness)],
    [say("One."), say("Two.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const first = yield* turns.send({ content: "1", options: { witness: "a" } })
      yield* turns.send({ threadId: first.threadId, content: "2" })
      const messageContents = (request: { readonly messages: ReadonlyArray<ChatMessage> } | undefined) =>
        request?.messages.map((each) =>
          each.role === "user" ? each.content : each.role === "assistant" && each.content
        )
      const [one, two] = (yield* ScriptedModel).requests
      const around = ['before "a"', [{ type: "text", text: "1" }], 'after "a"']
      assert.deepStrictEqual<unknown>(messageContents(one), around)
      assert.deepStrictEqual<unknown>(messageContents(two), [...around, "One.", [{ type: "text", text: "2" }]])
      const { explanation } = yield* turns.report(first.threadId, first.runId)
      assert.isAbove(explanation?.parts.find(({ part }) => part === "turn")?.tokens ?? 0, 900)
    })
  )

  withParts(
    "that fail or are late leave a note, and the turn goes on",
    [
      TurnParts.part({ ...finder(), recall: () => Effect.die(new Error("broken")) }),
      TurnParts.part({ ...finder(), name: "slow", recall: () => Effect.never, tools: () => [] })
    ],
    [say("Without.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const turn = yield* turns.start({ content: "x", options: { finder: {}, slow: {} } })
      const reply = yield* Effect.forkChild(turn.reply)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(reply)).content, "Without.")
      const { explanation } = yield* turns.report(turn.threadId, turn.runId)
      assert.deepStrictEqual(explanation?.leftOut, [
        { part: "finder", messages: 0, tokens: 0, because: "the search for it failed" },
        { part: "slow", messages: 0, tokens: 0, because: "it was not found in time" }
      ])
    })
  )

  withParts(
    "may answer instead of the model, which is then not asked",
    [TurnParts.part(guard)],
    [],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "my password is x", provider: "house", model: "any" })
      assert.deepInclude(reply, { content: "I keep no passwords.", status: "COMPLETED", model: "guard-1" })
      assert.strictEqual(reply.usage.inputTokens, 3)
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.deepStrictEqual(
        days.map(({ model, purpose }) => [model, purpose]),
        [["guard-1", "chat"]]
      )
    })
  )

  withParts(
    "that both want to answer refuse the message",
    [TurnParts.part(guard), TurnParts.part({ ...guard, name: "guard2" })],
    [],
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* Turns).send({ content: "password" }))
      assert.deepInclude(error, { _tag: "TurnRefused", reason: "invalid" })
    })
  )

  withParts(
    "that are absent refuse their options, and nothing is stored",
    [],
    [],
    Effect.gen(function* () {
      const turns = yield* Turns
      const error = yield* Effect.flip(turns.send({ content: "x", options: { memory: {}, voice: {} } }))
      if (!(error instanceof TurnRefused)) throw error
      assert.deepInclude(error, { part: "memory", reason: "absent" })
      assert.deepStrictEqual(
        error.problems.map(({ message }) => message),
        ['This server has no "memory".', 'This server has no "voice".']
      )
    })
  )

  const refusing: TurnPart<null> = {
    ...learner,
    name: "refusing",
    decide: () =>
      Effect.fail(
        new TurnRefused({
          part: "refusing",
          reason: "not_ready",
          problems: [{ path: ["files", 0], message: "Not yet." }]
        })
      )
  }
  withParts(
    "may refuse a message before anything is stored",
    [TurnParts.part(refusing)],
    [],
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* Turns).send({ content: "x" }))
      assert.deepInclude(error, { _tag: "TurnRefused", reason: "not_ready", message: "Not yet." })
      assert.deepStrictEqual(yield* (yield* Threads).list({ page: firstPage, includeMessages: true }), [])
    })
  )

  withParts(
    "leave a follow-up for a message that is only saved",
    [TurnParts.part(learner)],
    [],
    Effect.gen(function* () {
      const saved = yield* (yield* Turns).send({ content: "keep this", sendToModel: false, options: { learner: {} } })
      const followUp = Option.getOrThrow(yield* (yield* FollowUps).find("learn", saved.runId))
      assert.deepStrictEqual(followUp.payload, { said: "keep this" })
    })
  )

  withParts(
    "leave no follow-up where they want none: a failed run",
    [TurnParts.part(learner)],
    [fail("auth")],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "x", options: { learner: {} } })
      assert.strictEqual(reply.status, "FAILED")
      assert.isTrue(Option.isNone(yield* (yield* FollowUps).find("learn", reply.runId)))
    })
  )

  const spoken = Deferred.makeUnsafe<void>()
  withParts(
    "hold the end of the leg back until they have spoken",
    [
      TurnParts.part({
        ...speaker([]),
        speak: (_, turn, words) =>
          Stream.runDrain(words).pipe(
            Effect.andThen(Deferred.await(spoken)),
            Effect.andThen(Effect.sync(() => turn.tell({ type: "spoken_end", data: {} })))
          )
      })
    ],
    [say("Hi.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const turn = yield* turns.start({ content: "x", stream: true, options: { speaker: {} } })
      const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* storedRun(turn)).status, "IN_PROGRESS")
      yield* Deferred.succeed(spoken, undefined)
      const events = yield* Fiber.join(reading)
      assert.deepStrictEqual(tags(events).slice(-2), ["PartTold", "RunEnded"])
    })
  )

  const loud = "x".repeat(1024 * 1024)
  const spokenUp = Deferred.makeUnsafe<void>()
  withParts(
    "keep what is live only for as long as it is news: who reads late has missed the oldest of it",
    [
      TurnParts.part({
        ...speaker([]),
        speak: (_, turn) =>
          Effect.gen(function* () {
            for (let second = 0; second < 10; second++) {
              turn.tell({ type: "sound", data: { second, bytes: loud }, isLive: true })
            }
            yield* Deferred.await(spokenUp)
          })
      })
    ],
    [say("Hi.")],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "x", stream: true, options: { speaker: {} } })
      yield* TestClock.adjust("1 millis")
      const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
      yield* TestClock.adjust("1 millis")
      yield* Deferred.succeed(spokenUp, undefined)
      const events = yield* Fiber.join(reading)
      const seconds = events.flatMap((event) =>
        event._tag === "PartTold" && event.type === "sound" ? [Object(event.data).second] : []
      )
      assert.deepStrictEqual(seconds, [6, 7, 8, 9])
      assert.strictEqual(tags(events).filter((tag) => tag === "LiveMissed").length, 6)
      assert.strictEqual(events.at(-1)?._tag, "RunEnded")
    })
  )

  withParts(
    "that break while they speak do not fail the run",
    [TurnParts.part({ ...speaker([]), speak: () => Effect.die(new Error("no voice")) })],
    [say("Hi.")],
    Effect.gen(function* () {
      assert.strictEqual((yield* (yield* Turns).send({ content: "x", options: { speaker: {} } })).status, "COMPLETED")
    })
  )

  withParts(
    "have what they spend in the store at once, in a turn that nobody reads as well: a process that dies forgets no cost",
    [TurnParts.part(finder())],
    [[say("Wait."), hang]],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "x", options: { finder: {} } })
      yield* TestClock.adjust("100 millis")
      const [charged] = (yield* storedLog(turn)).filter(({ _tag }) => _tag === "Charged")
      assert.deepInclude(charged, { charge: searchCost })
      yield* (yield* Turns).cancel(turn.threadId, turn.runId)
    })
  )

  withParts(
    "are refused when two have one name",
    [],
    [],
    Effect.gen(function* () {
      const parts = yield* TurnParts
      yield* parts.register(learner)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(parts.register(learner))))
    })
  )

  withParts(
    "are refused under the name of the host's own tools",
    [],
    [],
    Effect.gen(function* () {
      const parts = yield* TurnParts
      assert.isTrue(Exit.isFailure(yield* Effect.exit(parts.register({ ...learner, name: "tools" }))))
    })
  )

  /** Steps as methods: they stand in the prototype, and speak of `this`. */
  class Diary implements TurnPart<null> {
    readonly name = "diary"
    readonly plan = Schema.Null
    readonly #written: Array<string> = []
    concerns() {
      return this.write("concerns", true)
    }
    refuse() {
      return this.write("refuse", Effect.void)
    }
    listen() {
      return this.write("listen", Effect.succeed({ content: "heard" }))
    }
    decide() {
      return this.write("decide", Effect.succeed({ plan: null, supplement: 1 }))
    }
    render() {
      return this.write("render", Effect.succeed({}))
    }
    recall() {
      return this.write("recall", Effect.succeed([]))
    }
    tools() {
      return this.write("tools", [])
    }
    receive() {
      return this.write("receive", Effect.succeed(true))
    }
    speak() {
      return this.write("speak", Effect.void)
    }
    followUps() {
      return this.write("followUps", [])
    }
    write<A>(step: string, result: A): A {
      this.#written.push(step)
      return result
    }
    get steps() {
      return [...new Set(this.#written)]
    }
  }
  /** Notes what it receives, and says whether it has kept the media. */
  const taker = (name: string, result: boolean | undefined, received: Array<string>): TurnPart<null> => ({
    name,
    plan: Schema.Null,
    decide: () => Effect.succeed(null),
    receive: ({ media, sources }) =>
      Effect.sync(() => {
        received.push(`${name}: ${media.length} media, ${sources.length} sources`)
        return result
      })
  })
  const received: Array<string> = []
  withParts(
    "receive sources all, and media until one of them has kept some",
    [
      TurnParts.part(taker("a", undefined, received)),
      TurnParts.part(taker("b", false, received)),
      TurnParts.part(taker("c", true, received)),
      TurnParts.part(taker("d", true, received))
    ],
    [[cite("https://a.example"), draw("image/png", new Uint8Array(3))]],
    Effect.gen(function* () {
      const reply = yield* Turns.use((turns) => turns.send({ content: "x" }))
      assert.strictEqual(reply.status, "COMPLETED")
      assert.deepStrictEqual(received, [
        "a: 1 media, 1 sources",
        "b: 1 media, 1 sources",
        "c: 1 media, 1 sources",
        "d: 0 media, 1 sources"
      ])
    })
  )

  const most: Array<string> = []
  withParts(
    "receive the first 200 sources of an answer",
    [TurnParts.part(taker("a", undefined, most))],
    [Array.from({ length: 250 }, (_, page) => cite(`https://a.example/${page}`))],
    Effect.gen(function* () {
      yield* Turns.use((turns) => turns.send({ content: "x" }))
      assert.deepStrictEqual(most, ["a: 0 media, 200 sources"])
    })
  )

  const diary = new Diary()
  withParts(
    "may be objects of a class: each step is called on the part",
    [TurnParts.part(diary)],
    [[say("Here."), cite("https://a.example"), draw("image/png", new Uint8Array(3))]],
    Effect.gen(function* () {
      const { turn } = yield* turnWithEvents({ content: "x", options: { diary: {} } })
      yield* turn.reply
      yield* Turns.use((turns) => turns.start({ content: "y", sendToModel: false }))
      assert.sameMembers(
        diary.steps,
        Object.getOwnPropertyNames(Diary.prototype).filter((name) => !["constructor", "write", "steps"].includes(name))
      )
    })
  )
})

describe("a part that listens", () => {
  const hears = (
    words: ReadonlyArray<string>,
    end: Effect.Effect<void, TurnRefused> = Effect.void
  ): TurnPart<null> => ({
    name: "ear",
    plan: Schema.Null,
    decide: () => Effect.succeed(null),
    listen: ({ options }, { spend, tell }) =>
      options === undefined
        ? Effect.succeed(null)
        : Effect.gen(function* () {
            for (const word of words) {
              yield* Effect.sleep("1 second")
              tell({ type: "heard", data: { word } })
            }
            yield* end
            spend(chargeOfCost({ provider: "ears", model: "e", purpose: "listen" }, 1))
            return { content: words.join(" "), supplement: { words: words.length } }
          })
  })
  const broken = Effect.fail(
    new TurnRefused({ part: "ear", reason: "provider_failed", problems: [{ path: [], message: "The ear is deaf." }] })
  )
  const request = { content: "I said:", stream: true, options: { ear: {} } } as const

  withParts(
    "adds what it heard to what was written, and begins the stream with it",
    [TurnParts.part(hears(["hello", "there"]))],
    [say("Hi.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const starting = yield* Effect.forkChild(turns.start(request))
      yield* TestClock.adjust("1 second")
      // The stream is there before the message is stored.
      const turn = yield* Fiber.join(starting)
      const reading = yield* Effect.forkChild(Stream.runCollect(turn.events))
      yield* TestClock.adjust("1 second")
      const events = yield* Fiber.join(reading)
      assert.deepStrictEqual(tags(events).slice(0, 5), ["PartTold", "PartTold", "Charged", "UserMessage", "RunStarted"])
      const [question] = yield* messagesIn(turn.threadId)
      assert.deepInclude(question, { content: "I said:\n\nhello there", supplements: { ear: { value: { words: 2 } } } })
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.includeMembers(
        days.map(({ purpose }) => purpose),
        ["chat", "listen"]
      )
      const again = yield* Stream.runCollect(yield* turns.follow(turn.threadId, turn.runId, 0))
      assert.deepStrictEqual(tags(again), tags(events))
    })
  )

  withParts(
    "refuses like every other step while it has told nothing",
    [TurnParts.part(hears([], broken))],
    [],
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* Turns).start(request))
      assert.deepInclude(error, { _tag: "TurnRefused", reason: "provider_failed" })
    })
  )

  withParts(
    "ends the stream as a failed run once it has told something, and nothing is stored",
    [TurnParts.part(hears(["hello"], broken))],
    [],
    Effect.gen(function* () {
      const turns = yield* Turns
      const starting = yield* Effect.forkChild(turns.start(request))
      yield* TestClock.adjust("1 second")
      const turn = yield* Fiber.join(starting)
      const events = yield* Stream.runCollect(turn.events)
      assert.deepStrictEqual(tags(events), ["PartTold", "RunFailed"])
      assert.deepInclude(events.at(-1), { code: "provider_failed", error: "The ear is deaf." })
      assert.deepStrictEqual(yield* (yield* Threads).list({ page: firstPage, includeMessages: true }), [])
    })
  )

  const coded = Effect.fail(
    new TurnRefused({
      part: "ear",
      reason: "provider_failed",
      code: "hearing_failed",
      problems: [{ path: [], message: "The ear is deaf." }]
    })
  )
  withParts(
    "names the code with which a stream ends that has begun",
    [TurnParts.part(hears(["hello"], coded))],
    [],
    Effect.gen(function* () {
      const starting = yield* Effect.forkChild((yield* Turns).start(request))
      yield* TestClock.adjust("1 second")
      const events = yield* Stream.runCollect((yield* Fiber.join(starting)).events)
      assert.deepInclude(events.at(-1), { _tag: "RunFailed", code: "hearing_failed" })
    })
  )

  const called: Array<string> = []
  withParts(
    "is not asked when the request says nothing to it, and the turn begins like any other",
    [
      TurnParts.part({
        ...hears([]),
        listen: () =>
          Effect.sync(() => {
            called.push("listen")
            return null
          })
      })
    ],
    [say("Hi.")],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "x", stream: true })
      assert.strictEqual((yield* turn.reply).content, "Hi.")
      assert.deepStrictEqual(called, [])
    })
  )

  const overheard: Array<string> = []
  withParts(
    "hears nothing of a message that another part refuses, whatever their names",
    [
      TurnParts.part({
        ...hears([]),
        listen: () =>
          Effect.sync(() => {
            overheard.push("listen")
            return null
          })
      }),
      TurnParts.part({
        ...learner,
        name: "zealot",
        refuse: () =>
          Effect.fail(
            new TurnRefused({ part: "zealot", reason: "invalid", problems: [{ path: [], message: "Not here." }] })
          )
      })
    ],
    [],
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* Turns).start(request))
      assert.deepInclude(error, { _tag: "TurnRefused", part: "zealot" })
      assert.deepStrictEqual(overheard, [])
    })
  )

  const paid: Array<ChargeReport> = []
  withParts(
    "is paid for what it heard, though the message is refused afterwards",
    [
      TurnParts.part({
        ...hears([]),
        listen: (_, { spend }) =>
          Effect.suspend(() => {
            spend(chargeOfCost({ provider: "ears", model: "e", purpose: "listen" }, 1))
            return broken
          })
      })
    ],
    [],
    Effect.gen(function* () {
      yield* Effect.flip((yield* Turns).start(request))
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.deepStrictEqual(
        days.map(({ purpose, usage }) => [purpose, usage.costUsd]),
        [["listen", 1]]
      )
      assert.deepStrictEqual(
        paid.map(({ charges, runId }) => [charges.length, runId]),
        [[1, null]]
      )
    }),
    {
      metering: {
        ensureCredit: () => Effect.void,
        record: () => Effect.void,
        recordCharges: (report) => Effect.sync(() => void paid.push(report))
      }
    }
  )

  withParts(
    "is heard out without a stream, too",
    [TurnParts.part(hears(["hello"]))],
    [say("Hi.")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const sending = yield* Effect.forkChild(turns.send({ content: "", options: { ear: {} } }))
      yield* TestClock.adjust("1 second")
      const reply = yield* Fiber.join(sending)
      const [question] = yield* messagesIn(reply.threadId)
      assert.strictEqual(question?.content, "hello")
    })
  )
})
