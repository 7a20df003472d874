/** Parts that review answers: what a review takes away is read by nobody, however the model says it and however the run ends. */
import { InMemory } from "@colloquy/adapters/in-memory"
import {
  Assistants,
  type LiveTurn,
  Principal,
  type TurnEvent,
  type TurnPart,
  TurnParts,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import { noUsage, type ReviewedPiece, type Review, type Verdict } from "@colloquy/core/adapters"
import {
  callTool,
  callTools,
  Crash,
  expect,
  fail,
  finish,
  gate,
  pause,
  remembers,
  say,
  sayInChunks,
  ScriptedModel,
  type ScriptStep,
  TestKernel,
  think,
  uses
} from "@colloquy/testing"
import { Inspections } from "@colloquy/core/inspection"
import { outputsPartName } from "@colloquy/core/outputs"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { AnswerReview } from "../../src/turns/AnswerReview.ts"
import { textIn } from "../support/StoredText.ts"
import { joinedText, openKernel, quiet, storedLog, terminalEvent, transcript, weather } from "../support/Story.ts"

const secret = /sk-\d+/gu
const redacted = (text: string) => text.replaceAll(secret, "[key]")

const change: Review["judge"] = ({ text }) => Effect.succeed({ _tag: "Change", text: redacted(text) })

const guard = (
  judge: Review["judge"] = change,
  { by = "sentence", name = "guard" }: { readonly by?: Review["by"]; readonly name?: string } = {}
): TurnPart<null> => ({
  name,
  plan: Schema.Null,
  decide: () => Effect.succeed({ plan: null }),
  review: () => ({ by, judge })
})

const judging =
  (verdict: (piece: ReviewedPiece) => Verdict): Review["judge"] =>
  (piece) =>
    Effect.succeed(verdict(piece))

const pass: Verdict = { _tag: "Pass" }

interface Options extends TestKernel.TestKernelOptions {
  readonly parts?: ReadonlyArray<TurnPart<null>>
  readonly state?: InMemory.State
  readonly log?: Layer.Layer<never>
}

const withGuard = <A, E>(
  steps: ReadonlyArray<ScriptStep>,
  { log = quiet, parts = [guard()], state = InMemory.makeState(), ...options }: Options,
  body: Effect.Effect<A, E, TestKernel.Services | Principal>
) => {
  const joined = parts.reduce(
    (all, part) => Layer.merge(all, TurnParts.part(part)),
    Layer.empty as Layer.Layer<never, never, TurnParts>
  )
  const kernel = joined.pipe(
    Layer.provideMerge(TestKernel.layer(steps, { ...options, stores: InMemory.layerFrom(state) })),
    Layer.fresh
  )
  return body.pipe(Principal.provide("ada"), Effect.provide([kernel, log]))
}

const turnWithEvents = Effect.fnUntraced(function* (request: Partial<TurnRequest> = {}) {
  const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", stream: true, ...request }))
  return { turn, events: yield* Stream.runCollect(turn.events) }
})

const ada = Effect.runSync(Principal.provide("ada")(Principal.use((principal) => Effect.succeed(principal))))

describe("an answer that a provider interrupts", () => {
  const interrupted = [say("The key is sk-"), finish("continue")]

  for (const by of ["sentence", "whole"] as const) {
    it.effect(`is one text with what follows, by ${by}`, () =>
      withGuard(
        [interrupted, [say("12"), finish("continue")], say("34 now. And sk-5.")],
        { parts: [guard(change, { by })] },
        Effect.gen(function* () {
          const { events, turn } = yield* turnWithEvents()
          assert.strictEqual(joinedText(events), "The key is [key] now. And [key].")
          assert.deepStrictEqual(yield* transcript(turn.threadId), [
            ["user", "COMPLETED", "Hi"],
            ["assistant", "COMPLETED", "The key is [key] now. And [key]."]
          ])
        })
      )
    )
  }

  for (const [by, first, shown] of [
    ["sentence", "The key is sk-12. Thr", "The key is [key]. Thr"],
    ["whole", "The key is sk-12. Thr", "The key is sk-12. Thr"]
  ] as const) {
    it.effect(`is read by the model up to its last word when it goes on (by ${by})`, () => {
      const state = InMemory.makeState()
      const goesOn = expect(({ messages }) => {
        const last = messages.at(-1)
        assert.strictEqual(last?.role === "assistant" ? last.content : null, shown)
      })
      return withGuard(
        [
          [say(first), finish("continue")],
          [goesOn, say("ee.")]
        ],
        { state, parts: [guard(change, { by }), guard(change, { by: "whole", name: "later" })] },
        Effect.gen(function* () {
          const { events } = yield* turnWithEvents()
          assert.strictEqual(joinedText(events), "The key is [key]. Three.")
          assert.notMatch(textIn(state), secret)
        })
      )
    })
  }

  it.effect("is told as far as it came where no further call is permitted", () =>
    withGuard(
      [interrupted],
      {},
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents({ modelOptions: { maxSteps: 1 } })
        assert.strictEqual(joinedText(events), "The key is sk-")
      })
    )
  )

  it.effect("is told nothing more when the next call fails", () =>
    withGuard(
      [interrupted, [say("12"), fail("auth")]],
      {},
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents()
        assert.strictEqual(joinedText(events), "")
        assert.strictEqual(terminalEvent(events)._tag, "RunFailed")
      })
    )
  )

  it.effect("has a blank line where a call stands in the middle of a step", () =>
    withGuard(
      [[say("The key is sk-"), callTool("weather", {}, "c1"), say("12.")]],
      {},
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents({ tools: [weather] })
        assert.strictEqual(joinedText(events), "The key is sk-\n\n12.")
      })
    )
  )
})

describe("the pieces of an answer", () => {
  const Deltas = Schema.Array(
    Schema.Literals(["a", "sk-", "12", "3. ", ". ", "! ", '."', "?) ", "\n", "。", " ", "…", "\t", "Mr.", "."])
  )

  const reviewed = (deltas: ReadonlyArray<string>, by: ReadonlyArray<Review["by"]>) => {
    const pieces: Array<string> = []
    let told = ""
    const review = new AnswerReview(
      by.map((each, index) => ({
        by: each,
        judge: ({ text }) => {
          if (index === 0) pieces.push(text)
          return Effect.succeed({ _tag: "Change", text: redacted(text).replace("a", "b. ") } as const)
        }
      })),
      ada
    )
    review.begin((text) => {
      told += text
    })
    for (const delta of deltas) Effect.runSync(review.add(delta))
    Effect.runSync(review.endPiece)
    return { pieces, told }
  }

  for (const by of [
    ["sentence"],
    ["whole"],
    ["sentence", "sentence"],
    ["sentence", "whole"],
    ["whole", "sentence"]
  ] as const) {
    it.prop(`are the same however the text is split (${by.join(", then ")})`, { deltas: Deltas }, ({ deltas }) => {
      const text = deltas.join("")
      const whole = reviewed([text], by)
      assert.deepStrictEqual(reviewed(deltas, by), whole)
      assert.deepStrictEqual(reviewed(text.split(""), by), whole)
      assert.strictEqual(whole.pieces.join(""), text)
      assert.notMatch(whole.told, secret)
    })
  }

  it("end with a sentence or a line, and nothing is held back beyond that", () => {
    const text = 'One. Two?" Three (so.) v1.2 costs 3.50 a\nfour。five… छह। سات۔ آٹھ؟ six'
    assert.deepStrictEqual(reviewed([text], ["sentence"]).pieces, [
      "One. ",
      'Two?" ',
      "Three (so.) ",
      "v1.2 costs 3.50 a\n",
      "four。",
      "five… ",
      "छह। ",
      "سات۔ ",
      "آٹھ؟ ",
      "six"
    ])
  })

  it("of a long text without an end take time in line with it", () => {
    const review = new AnswerReview([{ by: "sentence", judge: () => Effect.succeed({ _tag: "Pass" }) }], ada)
    let told = 0
    review.begin((text) => {
      told += text.length
    })
    const begun = process.cpuUsage().user
    for (let index = 0; index < 20_000; index++) Effect.runSync(review.add(".)))".repeat(10)))
    Effect.runSync(review.endPiece)
    assert.strictEqual(told, 800_000)
    assert.isBelow(process.cpuUsage().user - begun, 3_000_000)
  })
})

describe("what a review changes", () => {
  it.effect("is in no event, no record and no later prompt, though the provider has split it", () => {
    const state = InMemory.makeState()
    return withGuard(
      [sayInChunks("The key is sk-123. Use sk-4 too.", 1), say("Yes.")],
      { state },
      Effect.gen(function* () {
        const { events, turn } = yield* turnWithEvents()
        const told = "The key is [key]. Use [key] too."
        assert.strictEqual(joinedText(events), told)
        assert.deepInclude(terminalEvent(events), { _tag: "RunEnded", content: told })
        assert.strictEqual((yield* turn.reply).content, told)
        assert.strictEqual(joinedText(yield* storedLog(turn)), told)
        const again = yield* Turns.use((turns) => turns.follow(turn.threadId, turn.runId, 0))
        assert.strictEqual(joinedText(yield* Stream.runCollect(again)), told)
        yield* turnWithEvents({ threadId: turn.threadId })
        const { requests } = yield* ScriptedModel
        assert.notMatch(JSON.stringify(requests), secret)
        assert.notMatch(textIn(state), secret)
        const inspection = yield* Effect.provide(
          Inspections.use(({ inspect }) => inspect(turn.threadId, turn.runId)),
          Inspections.layer()
        )
        assert.notMatch(JSON.stringify(inspection), secret)
      })
    )
  })

  it.effect("is told as soon as its sentence is there, and the next one is held back", () =>
    withGuard(
      [[say("The key is sk-", "123. Now"), gate(), say(" sk-4.")]],
      {},
      Effect.gen(function* () {
        const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", stream: true }))
        const heard = yield* Stream.runCollect(Stream.take(Stream.filter(turn.events, isText), 1))
        assert.strictEqual(joinedText(heard), "The key is [key]. ")
        yield* ScriptedModel.use((model) => model.reached())
        yield* ScriptedModel.use((model) => model.release())
        assert.strictEqual((yield* turn.reply).content, "The key is [key]. Now [key].")
      })
    )
  )

  it.effect("is not heard by parts that speak", () => {
    const heard: Array<string> = []
    const speaker: TurnPart<null> = {
      name: "speaker",
      plan: Schema.Null,
      decide: () => Effect.succeed({ plan: null }),
      speak: (_, __, words) => Stream.runForEach(words, (word) => Effect.sync(() => void heard.push(word)))
    }
    return withGuard(
      [sayInChunks("It is sk-77. Well.", 2)],
      { parts: [guard(), speaker] },
      Effect.map(turnWithEvents(), () => assert.strictEqual(heard.join(""), "It is [key]. Well."))
    )
  })

  it.effect("is gone from an answer that is one JSON text", () =>
    withGuard(
      [sayInChunks('{"key": "sk-12", "note": "ok. fine"}', 3)],
      { parts: [guard(change, { by: "whole" })] },
      Effect.gen(function* () {
        const reply = yield* Turns.use((turns) => turns.send({ content: "Hi", jsonOutput: true }))
        assert.deepStrictEqual(JSON.parse(reply.content), { key: "[key]", note: "ok. fine" })
      })
    )
  )

  it.effect("is gone from an answer of JSON that writes characters as escapes, wherever the provider splits them", () =>
    Effect.forEach(
      [1, 4, 1000].flatMap((size) => (["sentence", "whole"] as const).map((by) => ({ size, by }))),
      ({ by, size }) =>
        withGuard(
          [sayInChunks('{"key": "Is it \\u0073k\\u002d12? No. \\\\u0041 \\u0022.", "n": 1}', size)],
          { parts: [guard(change, { by })] },
          Effect.gen(function* () {
            const { events } = yield* turnWithEvents({ jsonOutput: true })
            assert.deepStrictEqual(JSON.parse(joinedText(events)), { key: 'Is it [key]? No. \\u0041 ".', n: 1 })
          })
        )
    )
  )

  it.effect("may be broken JSON, of which what is no escape stays", () =>
    withGuard(
      [say('{"key": "\\u0073k\\u002d1 \\q \\u12 \\U0041 \\')],
      {},
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents({ jsonOutput: true })
        assert.strictEqual(joinedText(events), '{"key": "[key] \\q \\u12 \\U0041 \\')
      })
    )
  )

  it.effect("keeps its escapes where it is no JSON", () =>
    withGuard(
      [say("Write \\u00fc and a\\/b.")],
      {},
      Effect.gen(function* () {
        assert.strictEqual(joinedText((yield* turnWithEvents()).events), "Write \\u00fc and a\\/b.")
      })
    )
  )

  it.effect("is gone from the answer of a part too", () => {
    const answering: TurnPart<null> = {
      name: "house",
      plan: Schema.Null,
      decide: () => Effect.succeed({ plan: null, answers: { provider: "house", model: "h" } }),
      answer: () => Effect.succeed({ content: "Ask sk-1. Or not." })
    }
    return withGuard(
      [],
      { parts: [guard(), answering] },
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents()
        assert.strictEqual(joinedText(events), "Ask [key]. Or not.")
        assert.deepInclude(terminalEvent(events), { _tag: "RunEnded", content: "Ask [key]. Or not." })
      })
    )
  })

  it.effect("takes along what a part that answers keeps with it", () => {
    const answering = (content: string): TurnPart<null> => ({
      name: "house",
      plan: Schema.Null,
      decide: () => Effect.succeed({ plan: null, answers: { provider: "house", model: "h" } }),
      answer: () => Effect.succeed({ content, supplement: { said: content } })
    })
    const supplements = (content: string, state = InMemory.makeState()) =>
      withGuard(
        [],
        { state, parts: [guard(), answering(content)] },
        Effect.gen(function* () {
          const reply = yield* Turns.use((turns) => turns.send({ content: "Hi" }))
          assert.notMatch(textIn(state), secret)
          return reply.supplements
        })
      )
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* supplements("Ask sk-1. Or not."), {})
      assert.deepStrictEqual(yield* supplements("Ask me."), { house: { said: "Ask me." } })
    })
  })

  it.effect("takes the provider's own record of the answer along, and reasoning is never shown", () => {
    const state = InMemory.makeState()
    return withGuard(
      [
        [think("sk-5?"), say("It is sk-5."), remembers({ raw: "It is sk-5." })],
        [think("Hm."), say("Fine."), remembers({ raw: "Fine." })]
      ],
      { state },
      Effect.gen(function* () {
        const { events, turn } = yield* turnWithEvents({ thinking: { effort: "low" } })
        assert.notInclude(
          events.map(({ _tag }) => _tag),
          "ReasoningDelta"
        )
        yield* turnWithEvents({ threadId: turn.threadId })
        assert.notMatch(textIn(state), secret)
        assert.include(textIn(state), '"raw":"Fine."')
        const { ignored } = yield* Turns.use((turns) => turns.report(turn.threadId, turn.runId))
        assert.deepInclude(ignored, {
          option: "thinking.exclude_reasoning",
          because: "the answer is reviewed, and reasoning is not shown then"
        })
      })
    )
  })

  it.effect("passes several parts in the order of their names", () =>
    withGuard(
      [say("a b. c")],
      {
        parts: [
          guard(
            judging(({ text }) => ({ _tag: "Change", text: text.replaceAll("a", "b") })),
            { name: "1" }
          ),
          guard(
            judging(({ text }) => ({ _tag: "Change", text: text.replaceAll("b", "c").toUpperCase() })),
            { name: "2", by: "whole" }
          )
        ]
      },
      Effect.map(turnWithEvents(), ({ events }) => assert.strictEqual(joinedText(events), "C C. C"))
    )
  )

  it.effect("is the same for a turn that is not streamed", () =>
    withGuard(
      [say("sk-", "1. sk-", "2")],
      {},
      Effect.gen(function* () {
        assert.strictEqual((yield* Turns.use((turns) => turns.send({ content: "Hi" }))).content, "[key]. [key]")
      })
    )
  )
})

const isText = (event: TurnEvent) => event._tag === "TextDelta"

describe("calls of a reviewed answer", () => {
  const ran: Array<unknown> = []
  const tool: NonNullable<TestKernel.TestKernelOptions["hosted"]>[number] = {
    definition: { name: "look", description: null, parameters: null },
    run: (args) => Effect.sync(() => (ran.push(args), "seen"))
  }

  it.effect("come after the words before them, with reviewed arguments, and the model reads what was told", () => {
    const state = InMemory.makeState()
    ran.length = 0
    return withGuard(
      [[say("I ask sk-1"), callTool("look", { key: "sk-1" }, "h1")], say("Done: sk-1")],
      { state, hosted: [tool] },
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents()
        assert.deepStrictEqual(
          events.flatMap((event) => (event._tag === "TextDelta" || event._tag === "ToolCallStart" ? [event._tag] : [])),
          ["TextDelta", "ToolCallStart", "TextDelta"]
        )
        assert.strictEqual(joinedText(events), "I ask [key]\n\nDone: [key]")
        assert.deepStrictEqual(ran, [{ key: "[key]" }])
        assert.notMatch(textIn(state), secret)
        assert.notMatch(JSON.stringify((yield* ScriptedModel).requests), secret)
      })
    )
  })

  it.effect("are reviewed as a tool reads them, though the model writes characters as escapes", () => {
    const written =
      '{"key":"\\u0073k\\u002d1","path":"a\\/b","text":"\\"\\\\u0041\\n\\ud83d\\ude00\\u0022","n":12345678901234567890}'
    return withGuard(
      [callTool("weather", written, "c1")],
      {},
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents({ tools: [weather] })
        const end = terminalEvent(events)
        const told = end._tag === "ToolSubmitRequired" ? (end.toolCalls[0]?.arguments ?? "") : ""
        const plain = written.replace("\\u0073k\\u002d1", "[key]").replace("\\/", "/").replace("\\ud83d\\ude00", "😀")
        assert.strictEqual(told, plain)
        assert.deepStrictEqual(JSON.parse(told), { ...JSON.parse(written), key: "[key]" })
      })
    )
  })

  it.effect("of the client's tools are told with reviewed arguments, and the next leg is reviewed too", () => {
    const state = InMemory.makeState()
    return withGuard(
      [callTool("weather", { place: "sk-9" }, "c1"), say("It rains on sk-9")],
      { state },
      Effect.gen(function* () {
        const { events, turn } = yield* turnWithEvents({ tools: [weather] })
        const end = terminalEvent(events)
        assert.strictEqual(end._tag, "ToolSubmitRequired")
        if (end._tag === "ToolSubmitRequired") assert.strictEqual(end.toolCalls[0]?.arguments, '{"place":"[key]"}')
        const outputs = [{ toolCallId: "c1", output: "rain" }]
        const next = yield* Turns.use((turns) => turns.submitToolOutputs({ threadId: turn.threadId, outputs }))
        assert.strictEqual((yield* next.reply).content, "It rains on [key]")
        assert.notMatch(textIn(state), secret)
      })
    )
  })

  it.effect("are not made once the review has ended the answer", () => {
    ran.length = 0
    const stop = judging(({ tool: name }) =>
      name === null ? { _tag: "Pass" } : { _tag: "Replace", text: "I may not look." }
    )
    return withGuard(
      [[say("Wait. "), callTool("look", {}, "h1"), callTool("look", {}, "h2")]],
      { parts: [guard(stop)], hosted: [tool] },
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents()
        assert.deepInclude(terminalEvent(events), { _tag: "RunEnded", content: "Wait. I may not look." })
        assert.deepStrictEqual(ran, [])
      })
    )
  })
})

describe("calls that the review ends", () => {
  const ran: Array<unknown> = []
  const look: NonNullable<TestKernel.TestKernelOptions["hosted"]>[number] = {
    definition: { name: "look", description: null, parameters: null },
    run: (args) => Effect.sync(() => (ran.push(args), "seen"))
  }
  const calls = (events: ReadonlyArray<TurnEvent>) =>
    events.flatMap((event) => {
      if (event._tag === "ToolCallStart") return [`start ${event.toolCallId}`]
      if (event._tag === "ToolCallReady") return [`ready ${event.call.id}`]
      return event._tag === "HostedResult" ? [`result ${event.toolCallId}: ${event.output}`] : []
    })
  const isBad = ({ text, tool }: ReviewedPiece) => tool !== null && text.includes("bad")
  const ends: ReadonlyArray<readonly [string, Review["judge"]]> = [
    ["stops", judging((piece) => (isBad(piece) ? { _tag: "Stop", reason: "No." } : pass))],
    ["replaces", judging((piece) => (isBad(piece) ? { _tag: "Replace", text: "No." } : pass))],
    ["cannot review", (piece) => (isBad(piece) ? Effect.fail("a fault") : Effect.succeed(pass))]
  ]
  for (const [title, judge] of ends) {
    it.effect(`are told to nobody (it ${title} the answer), live, stored or in another process`, () =>
      Effect.gen(function* () {
        const state = InMemory.makeState()
        const script = [[say("Wait. "), callTool("weather", { a: "bad" }, "call-1"), callTool("weather", {}, "call-2")]]
        const second = yield* openKernel([], { stores: InMemory.layerFrom(state) })
        yield* withGuard(
          script,
          { state, parts: [guard(judge)] },
          Effect.gen(function* () {
            const { events, turn } = yield* turnWithEvents({ tools: [weather] })
            assert.deepStrictEqual(calls(events), [])
            assert.notInclude(textIn(state), "call-")
            const again = yield* second.run(Turns.use((turns) => turns.follow(turn.threadId, turn.runId, 0)))
            assert.deepStrictEqual(yield* Stream.runCollect(again), events)
          })
        )
      }).pipe(Principal.provide("ada"), Effect.scoped)
    )

    it.effect(`have no result but that they were not run, where they were told before it ${title} the answer`, () => {
      const state = InMemory.makeState()
      ran.length = 0
      return withGuard(
        [callTools(["weather", {}, "c1"], ["look", {}, "c2"], ["look", { a: "bad" }, "call-3"]), say("Hello.")],
        { state, parts: [guard(judge)], hosted: [look] },
        Effect.gen(function* () {
          const { events, turn } = yield* turnWithEvents({ tools: [weather] })
          const result = "Error: not run, because the answer was ended after this call."
          assert.deepStrictEqual(calls(events), [
            "start c1",
            "ready c1",
            "start c2",
            "ready c2",
            `result c1: ${result}`,
            `result c2: ${result}`
          ])
          assert.deepStrictEqual(ran, [])
          assert.notInclude(textIn(state), "call-3")
          yield* turnWithEvents({ threadId: turn.threadId })
          const outputs = (yield* ScriptedModel).requests
            .at(-1)
            ?.messages.flatMap((message) => (message.role === "tool" ? [message.output] : []))
          assert.deepStrictEqual(outputs, [result, result])
        })
      )
    })
  }
})

describe("what a provider keeps of an answer that it interrupts", () => {
  const raw = (text: string) => [say(text), remembers({ raw: text })]
  const interrupted = (text: string): ReadonlyArray<ScriptStep> => [[...raw(text), finish("continue")]]
  const sends = (text: string) =>
    expect(({ messages }) => assert.include(JSON.stringify(messages), JSON.stringify({ raw: text })))
  const sendsNothing = expect(({ messages }) => assert.notInclude(JSON.stringify(messages), '"raw"'))

  for (const by of ["sentence", "whole"] as const) {
    it.effect(`goes back with the next call, and in later turns if nothing was changed (by ${by})`, () => {
      const state = InMemory.makeState()
      return withGuard(
        [
          ...interrupted("One and"),
          [sends("One and"), ...raw(" two. Three"), finish("continue")],
          [sends("One and"), sends(" two. Three"), ...raw(" and four.")],
          [sends("One and"), sends(" two. Three"), sends(" and four."), say("Bye.")]
        ],
        { state, parts: [guard(change, { by })] },
        Effect.gen(function* () {
          const { events, turn } = yield* turnWithEvents()
          assert.strictEqual(joinedText(events), "One and two. Three and four.")
          yield* turnWithEvents({ threadId: turn.threadId })
        })
      )
    })

    it.effect(`goes back only with the next call, and is not stored, if a later piece was changed (by ${by})`, () => {
      const state = InMemory.makeState()
      return withGuard(
        [
          ...interrupted("Fine. The keys are sk-12 and"),
          [sends("Fine. The keys are sk-12 and"), ...raw(" no more.")],
          [sendsNothing, say("Bye.")]
        ],
        { state, parts: [guard(change, { by })] },
        Effect.gen(function* () {
          const { turn } = yield* turnWithEvents()
          assert.notMatch(textIn(state), secret)
          yield* turnWithEvents({ threadId: turn.threadId })
          const { requests } = yield* ScriptedModel
          assert.notMatch(JSON.stringify(requests.at(-1)), secret)
          assert.include(JSON.stringify(requests.at(-1)), "Fine. The keys are [key] and no more.")
        })
      )
    })
  }

  for (const [place, first, next] of [
    ["after", interrupted("Fine. "), [sends("Fine. "), ...raw("It is sk-12.")]],
    ["before", interrupted("It is sk-12. "), [sendsNothing, ...raw("Fine.")]]
  ] as const) {
    it.effect(
      `goes back in later turns as a whole or not at all (something was changed ${place} the interruption)`,
      () =>
        withGuard(
          [...first, next, [sendsNothing, say("Bye.")]],
          {},
          Effect.gen(function* () {
            const { turn } = yield* turnWithEvents()
            yield* turnWithEvents({ threadId: turn.threadId })
          })
        )
    )
  }

  const bad: Review["judge"] = judging(({ text }) => (text.includes("bomb") ? { _tag: "Stop", reason: "No." } : pass))
  const ends: ReadonlyArray<readonly [string, ReadonlyArray<ScriptStep>, Review["judge"]]> = [
    ["the next call fails", [[...raw("more."), fail("auth")]], bad],
    ["the review ends the answer", [[...raw("and more.")]], bad],
    [
      "the review fails",
      [[...raw("more.")]],
      ({ text }) => (text.includes("bomb") ? Effect.fail("a fault") : Effect.succeed(pass))
    ]
  ]
  for (const [title, steps, judge] of ends) {
    it.effect(`is not stored where ${title}`, () => {
      const state = InMemory.makeState()
      return withGuard(
        [...interrupted("Fine. A bomb "), ...steps, [sendsNothing, say("Bye.")]],
        { state, parts: [guard(judge)] },
        Effect.gen(function* () {
          const { turn } = yield* turnWithEvents()
          assert.notInclude(textIn(state), "bomb")
          yield* turnWithEvents({ threadId: turn.threadId })
        })
      )
    })
  }

  it.effect("goes back after calls that follow, in the same run", () =>
    withGuard(
      [
        ...interrupted("One and"),
        [...raw(" two."), callTool("look", {}, "h1")],
        [sends("One and"), sends(" two."), say("Done.")]
      ],
      {
        hosted: [
          { definition: { name: "look", description: null, parameters: null }, run: () => Effect.succeed("seen") }
        ]
      },
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents()
        assert.strictEqual(joinedText(events), "One and two.\n\nDone.")
      })
    )
  )
})

describe("a review that ends the answer", () => {
  const bad = ({ text }: ReviewedPiece) => text.includes("bomb")

  it.effect(
    "stops it: the run fails with the reason, the rest is told to nobody, and the model is not listened to",
    () => {
      const state = InMemory.makeState()
      const stop = judging((piece) =>
        bad(piece) ? { _tag: "Stop", reason: "That is not our business." } : { _tag: "Pass" }
      )
      return withGuard(
        [[say("Well. A bomb is. More of it."), gate()], say("Hello.")],
        { state, parts: [guard(stop)] },
        Effect.gen(function* () {
          const { events, turn } = yield* turnWithEvents()
          assert.deepInclude(terminalEvent(events), {
            _tag: "RunFailed",
            content: "Well. ",
            code: "review_stopped",
            error: "That is not our business.",
            retryable: false
          })
          assert.notInclude(textIn(state), "bomb")
          assert.notInclude(textIn(state), "More of it")
          assert.deepStrictEqual((yield* transcript(turn.threadId)).at(-1), ["assistant", "FAILED", "Well. "])
          const next = yield* turnWithEvents({ threadId: turn.threadId })
          assert.strictEqual(terminalEvent(next.events)._tag, "RunEnded")
        })
      )
    }
  )

  it.effect("replaces it: the run completes with the text of the part", () => {
    const replace = judging((piece) => (bad(piece) ? { _tag: "Replace", text: "No." } : { _tag: "Pass" }))
    return withGuard(
      [[say("Well. A bomb is. More."), gate()]],
      { parts: [guard(replace), guard(change, { name: "later" })] },
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents()
        assert.deepInclude(terminalEvent(events), { _tag: "RunEnded", content: "Well. No." })
      })
    )
  })

  for (const [text, ends] of [
    ['{"a": 1}', { _tag: "RunEnded" }],
    ["No.", { _tag: "RunFailed", code: "output_invalid", retryable: false }]
  ] as const) {
    it.effect(`replaces it by ${text}, where it has to fit a schema: the model is not blamed`, () => {
      const replace = judging((piece) => (bad(piece) ? { _tag: "Replace", text } : { _tag: "Pass" }))
      const schema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] }
      return withGuard(
        [say('{"a": "A bomb"}')],
        { parts: [guard(replace, { by: "whole" })] },
        Effect.gen(function* () {
          const { events } = yield* turnWithEvents({ options: { [outputsPartName]: { schema } } })
          const end = terminalEvent(events)
          assert.deepInclude(end, ends)
          if (end._tag === "RunFailed") assert.include(end.error, "replaced the answer by a text that does not fit")
          assert.notInclude(JSON.stringify(events), "bomb")
        })
      )
    })
  }

  it.effect("as a whole tells nothing of what came before", () => {
    const replace = judging((piece) => (bad(piece) ? { _tag: "Replace", text: "No." } : { _tag: "Pass" }))
    return withGuard(
      [say("Well. A bomb is. More.")],
      { parts: [guard(replace, { by: "whole" })] },
      Effect.map(turnWithEvents(), ({ events }) => assert.strictEqual(joinedText(events), "No."))
    )
  })
})

describe("a review that fails", () => {
  const forged = <A>(value: unknown): A => value as A
  const failing: ReadonlyArray<readonly [string, Partial<TurnPart<null>>]> = [
    [
      "throws",
      {
        review: () => ({
          by: "sentence",
          judge: () => {
            throw new Error("a fault")
          }
        })
      }
    ],
    ["fails", { review: () => ({ by: "whole", judge: () => Effect.fail("a fault") }) }],
    [
      "gives no verdict",
      { review: () => ({ by: "sentence", judge: () => Effect.succeed(forged({ _tag: "Change" })) }) }
    ],
    ["is no review", { review: () => forged(null) }],
    [
      "cannot begin",
      {
        review: () => {
          throw new Error("a fault")
        }
      }
    ]
  ]
  for (const [title, steps] of failing) {
    it.effect(`(it ${title}) fails the run in words, and nothing of the answer is told or stored`, () => {
      const state = InMemory.makeState()
      return withGuard(
        [say("The key is sk-1. Use it.")],
        { state, parts: [{ ...guard(), ...steps }] },
        Effect.gen(function* () {
          const { events } = yield* turnWithEvents()
          const end = terminalEvent(events)
          assert.deepInclude(end, { _tag: "RunFailed", content: "", code: "review_failed", retryable: false })
          if (end._tag === "RunFailed") assert.include(end.error, "withheld")
          assert.strictEqual(joinedText(events), "")
          assert.notInclude(textIn(state), "The key")
        })
      )
    })
  }

  it.effect("(it has pieces that do not exist) fails the run, and the log of the server says what there is", () => {
    const logged: Array<string> = []
    const log = Logger.layer([
      Logger.make(({ cause, message }) => void logged.push(`${String(message)} ${Cause.pretty(cause)}`))
    ])
    return withGuard(
      [say("The key is sk-1. Use it.")],
      { log, parts: [guard(change, { by: forged("paragraph") })] },
      Effect.gen(function* () {
        const { events } = yield* turnWithEvents()
        assert.deepInclude(terminalEvent(events), { _tag: "RunFailed", content: "", code: "review_failed" })
        const text = logged.join("\n")
        assert.include(text, 'The part "guard" could not review the answer of run')
        assert.include(text, 'The part "guard" reviews by "paragraph". It must be "sentence" or "whole".')
      })
    )
  })

  it.effect("(it hangs) fails the run after its time, not after the provider's", () =>
    withGuard(
      [say("Fine. ", "More.")],
      {
        parts: [guard(() => Effect.uninterruptible(Effect.never))],
        settings: { reviewTimeout: "3 minutes" }
      },
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(turnWithEvents(), { startImmediately: true })
        yield* TestClock.adjust("179 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const { events } = yield* Fiber.join(fiber)
        assert.deepInclude(terminalEvent(events), { _tag: "RunFailed", code: "review_failed", retryable: true })
      })
    )
  )

  it.effect("(it is slow) does not count as silence of the provider, which is still limited afterwards", () =>
    withGuard(
      [[say("Fine. "), gate(), say("More.")]],
      {
        parts: [guard(() => Effect.delay(Effect.succeed({ _tag: "Pass" } as const), "2 minutes"))],
        settings: { reviewTimeout: "3 minutes" }
      },
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(turnWithEvents(), { startImmediately: true })
        yield* TestClock.adjust("2 minutes")
        yield* TestClock.adjust("59 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const { events } = yield* Fiber.join(fiber)
        assert.deepInclude(terminalEvent(events), { _tag: "RunFailed", code: "timeout", content: "Fine. " })
      })
    )
  )
})

describe("what a model wrote and nobody was told", () => {
  const text = "One two three four five six seven"

  /** The usage of a run that is cancelled when the model is in the middle of its answer. */
  const cancelled = (parts: ReadonlyArray<TurnPart<null>>) =>
    withGuard(
      [[say(text), gate()]],
      { parts },
      Effect.gen(function* () {
        const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", stream: true }))
        yield* ScriptedModel.use((model) => model.reached())
        yield* Turns.use((turns) => turns.cancel(turn.threadId, turn.runId))
        return (yield* turn.reply).usage
      })
    )

  const stop = judging(() => ({ _tag: "Stop", reason: "No." }))
  const ends = {
    "whose run is cancelled": cancelled([guard(change, { by: "whole" })]),
    "whose provider fails": withGuard(
      [[say(text), fail("unknown")]],
      { parts: [guard(change, { by: "whole" })] },
      Effect.flatMap(turnWithEvents(), ({ turn }) => Effect.map(turn.reply, ({ usage }) => usage))
    ),
    "that the review stops": withGuard(
      [[say(`${text}\n`), gate()]],
      { parts: [guard(stop)] },
      Effect.flatMap(turnWithEvents(), ({ turn }) => Effect.map(turn.reply, ({ usage }) => usage))
    )
  }
  for (const [which, usage] of Object.entries(ends)) {
    it.effect(`is paid for, in an answer ${which}`, () =>
      Effect.gen(function* () {
        const { outputTokens } = yield* cancelled([])
        assert.isAbove(outputTokens, 0)
        assert.isAtLeast((yield* usage).outputTokens, outputTokens)
      })
    )
  }

  const reported = { ...noUsage, inputTokens: 7, outputTokens: 9, costUsd: 0.5 }
  const answering: TurnPart<null> = {
    ...guard(),
    name: "answering",
    decide: () => Effect.succeed({ plan: null, answers: { provider: "part", model: "part" } }),
    answer: () => Effect.succeed({ content: text, usage: reported })
  }
  for (const [whose, parts, steps] of [
    ["a model", [], [[say(text), uses(reported)]]],
    ["a part", [answering], []]
  ] as const) {
    it.effect(`costs what ${whose} has reported, though the run is cancelled while the answer is reviewed`, () =>
      Effect.gen(function* () {
        const asked = yield* Deferred.make<void>()
        const hangs = guard(() => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never), { by: "whole" })
        yield* withGuard(
          steps,
          { parts: [hangs, ...parts] },
          Effect.gen(function* () {
            const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", stream: true }))
            yield* Deferred.await(asked)
            yield* Turns.use((turns) => turns.cancel(turn.threadId, turn.runId))
            const { content, status, usage } = yield* turn.reply
            assert.deepStrictEqual({ content, status }, { content: "", status: "CANCELLED" })
            assert.deepInclude(usage, { inputTokens: 7, outputTokens: 9, costUsd: 0.5, estimated: false })
          })
        )
      })
    )
  }
})

describe("a run that began with a review", () => {
  const pausing = Effect.gen(function* () {
    const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", tools: [weather] }))
    assert.strictEqual((yield* turn.reply).status, "REQUIRES_ACTION")
    return turn
  })
  const kernels = Effect.fnUntraced(function* (parts: ReadonlyArray<TurnPart<never>>) {
    const state = InMemory.makeState()
    const first = yield* openKernel([callTool("weather", {}, "c1")], { stores: InMemory.layerFrom(state) })
    yield* first.run(TurnParts.use((all) => all.register(guard())))
    const turn = yield* first.run(pausing)
    const second = yield* openKernel([], { stores: InMemory.layerFrom(state) })
    for (const part of parts) yield* second.run(TurnParts.use((all) => all.register(part)))
    const outputs = [{ toolCallId: "c1", output: "rain" }]
    const submitted = Turns.use((turns) => turns.submitToolOutputs({ threadId: turn.threadId, outputs }))
    return yield* Effect.flip(second.run(submitted))
  })

  it.effect("does not go on in a process that has no such part", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* kernels([]), { _tag: "TurnRefused", part: "guard", reason: "absent" })
    }).pipe(Principal.provide("ada"), Effect.scoped)
  )

  it.effect("does not go on where the part cannot read its plan", () => {
    const other = { ...guard(), plan: Schema.Struct({ newer: Schema.String }) } as unknown as TurnPart<never>
    return Effect.gen(function* () {
      assert.deepInclude(yield* kernels([other]), { _tag: "TurnRefused", part: "guard", reason: "absent" })
    }).pipe(Principal.provide("ada"), Effect.scoped)
  })
})

it.effect("a process that is killed at any of its writes has stored nothing that the review takes away", () =>
  Effect.gen(function* () {
    const letters = "It is sk-12. And sk-3! So sk-4".split("").flatMap((letter) => [pause("50 millis"), say(letter)])
    const scene = Effect.fnUntraced(function* (point: Crash.CrashPoint) {
      const state = InMemory.makeState()
      const doom = yield* Crash.make(point)
      const dying = yield* openKernel([], {
        stores: doom.stores(InMemory.layerFrom(state)),
        model: { otherwise: letters }
      })
      yield* dying.run(TurnParts.use((parts) => parts.register(guard())))
      const fiber = yield* Effect.forkDetach(dying.run(Effect.exit(turnWithEvents())), { startImmediately: true })
      yield* TestClock.adjust("3 seconds")
      fiber.interruptUnsafe()
      const next = yield* openKernel([], { stores: InMemory.layerFrom(state) })
      yield* TestClock.adjust("1 minute")
      assert.notMatch(textIn(state), secret)
      const [run] = [...state.runs.values()]
      const writes = doom.writes()
      yield* next.close
      yield* doom.bury
      return { status: run?.run.status, text: joinedText((run?.log ?? []) as ReadonlyArray<TurnEvent>), writes }
    })
    const whole = yield* scene({})
    assert.deepInclude(whole, { status: "COMPLETED", text: "It is [key]. And [key]! So [key]" })
    let partial = 0
    for (let at = 1; at <= whole.writes; at++) {
      for (const hears of [true, false]) {
        const { text } = yield* scene({ at, hears })
        assert.isTrue("It is [key]. And [key]! So [key]".startsWith(text), `write ${at}`)
        if (text !== "" && text.length < 30) partial++
      }
    }
    assert.isAbove(partial, 0)
  }).pipe(Principal.provide("ada"), Effect.scoped, Effect.provide(quiet))
)

it.effect("a review has the plan of its part for the assistant to which the conversation is handed over", () => {
  const named: TurnPart<string> = {
    name: "named",
    plan: Schema.String,
    decide: () => Effect.succeed({ plan: "first" }),
    handOver: ({ name }) => name,
    review: (plan) => ({
      by: "whole",
      judge: ({ text, tool }) =>
        Effect.succeed(tool === null ? { _tag: "Change", text: `${plan}: ${text}` } : { _tag: "Pass" })
    })
  }
  const kernel = TurnParts.part(named).pipe(
    Layer.provideMerge(
      TestKernel.layer([[say("One."), callTool("hand_off_to_second", { reason: "So" })], say("Two.")])
    ),
    Layer.fresh
  )
  return Effect.gen(function* () {
    const assistants = yield* Assistants
    const { id } = yield* assistants.create({ name: "second" })
    const handoffs = [{ assistantId: id, name: "second", description: "Goes on" }]
    const first = yield* assistants.create({ name: "first", handoffs })
    const { content } = yield* Turns.use((turns) => turns.send({ content: "Hi", assistantId: first.id }))
    assert.strictEqual(content, "first: One.\n\nsecond: Two.")
  }).pipe(Principal.provide("ada"), Effect.provide([kernel, quiet]))
})

it.effect("a review sees the turn, what it let pass before, and the tool whose arguments it reads", () => {
  const seen: Array<readonly [string, string, string | null]> = []
  const turns: Array<LiveTurn> = []
  const watching: TurnPart<null> = {
    ...guard(),
    review: (_, turn) => {
      turns.push(turn)
      return {
        by: "sentence",
        judge: ({ before, text, tool }) =>
          Effect.sync(() => {
            seen.push([before, text, tool])
            return { _tag: "Change", text: text.toUpperCase() } as const
          })
      }
    }
  }
  return withGuard(
    [[say("One. Two"), callTool("weather", { a: 1 }, "c1"), finish("tool_calls")]],
    { parts: [watching] },
    Effect.gen(function* () {
      yield* turnWithEvents({ tools: [weather] })
      assert.deepStrictEqual(seen, [
        ["", "One. ", null],
        ["ONE. ", "Two", null],
        ["ONE. TWO", '{"a":1}', "weather"]
      ])
      assert.deepStrictEqual(
        turns.map(({ content }) => content),
        ["Hi"]
      )
    })
  )
})
