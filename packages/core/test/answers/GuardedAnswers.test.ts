/** Typed answers in a turn with a guard: what it takes away of a question reaches no model, and what it takes away of the answers nobody. */
import { InMemory } from "@colloquy/adapters/in-memory"
import {
  Kernel,
  Principal,
  type Provider,
  Providers,
  readSupplement,
  Threads,
  type TurnPart,
  TurnParts,
  TurnRefused,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import { type AnswerRequest, noUsage, type TextSource, type Verdict } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Answers, DocumentSummaries } from "../../src/answers/index.ts"
import { quiet, transcript } from "../support/Story.ts"
import { partWith, secret } from "../support/Guarded.ts"
import { textIn } from "../support/StoredText.ts"

const redact = (text: string) => text.replaceAll(secret, "[key]")

const guard = (steps: Partial<TurnPart<null>>) => partWith("guard", steps)

const judging = (judge: (text: string) => Verdict): TurnPart<null> =>
  guard({ review: () => ({ by: "whole", judge: ({ text }) => Effect.sync(() => judge(text)) }) })

/** A number that stands nowhere but in the answers. */
const probability = 0.8125

const open = (part: TurnPart<null>, state = InMemory.makeState()) => {
  const asked: Array<AnswerRequest> = []
  const typedProvider: Provider = {
    id: "typed",
    answers: (request) => {
      asked.push(request)
      const distributions = { is_key: { true: probability, false: 1 - probability } }
      return Effect.succeed({ distributions, method: "native", estimated: false, model: null, usage: noUsage })
    }
  }
  const summaries = Layer.succeed(DocumentSummaries, () =>
    Effect.succeed([{ filename: "a.pdf", summary: "It has sk-333." }])
  )
  const layer = Layer.merge(Answers.layer().pipe(Layer.provide(summaries)), TurnParts.part(part)).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(Providers.layer({ providers: [typedProvider], defaults: { provider: "typed", model: "m" } })),
    Layer.provideMerge(InMemory.layerFrom(state)),
    Layer.provideMerge(quiet),
    Layer.fresh
  )
  const run = <A, E>(body: Effect.Effect<A, E, Layer.Success<typeof layer> | Principal>) =>
    body.pipe(Principal.provide("ada"), Effect.provide(layer))
  return { asked, run, state }
}

const questions = { is_key: { type: "noul", instructions: "Is it a key?" } } as const

const ask = (answers: object = { questions }, request: Partial<TurnRequest> = {}) =>
  Effect.flatMap(Turns, (turns) => turns.start({ content: "", options: { answers: { ...answers } }, ...request }))

describe("a review of typed answers", () => {
  const outcomes: ReadonlyArray<readonly [string, (text: string) => Verdict, object]> = [
    ["stops them", () => ({ _tag: "Stop", reason: "No." }), { status: "FAILED", content: "" }],
    ["replaces them", () => ({ _tag: "Replace", text: "None." }), { status: "COMPLETED", content: "None." }],
    [
      "changes a word of them",
      (text) => ({ _tag: "Change", text: text.replace(String(probability), "[n]") }),
      { status: "COMPLETED", content: '{"is_key":{"type":"noul","noul":[n]}}' }
    ],
    [
      "fails",
      () => {
        throw new Error("a fault")
      },
      { status: "FAILED", content: "" }
    ]
  ]
  for (const [does, judge, expected] of outcomes) {
    it.effect(`that ${does} takes away the answers that are kept, too`, () => {
      const { run, state } = open(judging(judge))
      return run(
        Effect.gen(function* () {
          const turn = yield* ask(undefined, { content: "Is it?" })
          const events = yield* Stream.runCollect(turn.events)
          const reply = yield* turn.reply
          assert.deepInclude(reply, { ...expected, supplements: {} })
          const followed = yield* Effect.flatMap(Turns, (turns) => turns.follow(turn.threadId, turn.runId, 0))
          const all = [events, reply, yield* Stream.runCollect(followed), textIn(state)]
          assert.notInclude(JSON.stringify(all), String(probability))
          const { messageId, threadId } = reply
          const outcome = { threadId, messageId, question: "is_key", outcome: true }
          const recorded = yield* Effect.flip(Answers.use((answers) => answers.recordOfTurn(outcome)))
          assert.strictEqual(recorded._tag, "AnswersNotFound")
        })
      )
    })
  }

  it.effect("that lets them pass keeps them, and until then nothing of them is stored", () => {
    const state = InMemory.makeState()
    const stored: Array<string> = []
    const { run } = open(
      judging((text) => (stored.push(textIn(state)), { _tag: "Change", text })),
      state
    )
    return run(
      Effect.gen(function* () {
        const turn = yield* ask(undefined, { content: "Is it?" })
        const { messageId, supplements, threadId } = yield* turn.reply
        const kept = { id: messageId, answers: { is_key: { type: "noul", noul: probability } } }
        assert.deepInclude(supplements["answers"], kept)
        const { messages } = yield* Effect.flatMap(Threads, (threads) => threads.get(threadId))
        assert.deepInclude(readSupplement(messages[1] ?? { supplements: null }, "answers")?.value, kept)
        assert.strictEqual(stored.length, 1)
        assert.notInclude(stored[0], String(probability))
      })
    )
  })
})

describe("a typed question with a guard that rewrites", () => {
  const texts: Array<readonly [TextSource["kind"], string]> = []
  const noting = guard({
    rewrite: (text, { kind }) => Effect.sync(() => (texts.push([kind, text]), redact(text)))
  })

  it.effect("is rewritten before it is stored and before the model reads it, each text once; names stay", () => {
    const { asked, run, state } = open(noting)
    texts.length = 0
    const all = {
      state: { key: "sk-222", notes: ["one\nsk-444", { deep: "sk-5", count: 7, none: null }] },
      questions: {
        is_key: { type: "noul", instructions: "Is sk-111 a key?", criteria: { true: "sk-6", false: "no" } },
        which: {
          type: "choice",
          instructions: { ask: "sk-7" },
          criteria: { "2": "sk-8", "1": null },
          order: ["2", "1"]
        },
        how: { type: "score", instructions: ["sk-9"], criteria: ["sk-10", "high"] }
      }
    }
    return run(
      Effect.gen(function* () {
        const turn = yield* ask(all)
        const events = yield* Stream.runCollect(turn.events)
        const state_ = { key: "[key]", notes: ["one\n[key]", { deep: "[key]", count: 7, none: null }] }
        assert.strictEqual((yield* transcript(turn.threadId))[0]?.[2], JSON.stringify(state_))
        assert.deepInclude(asked[0], {
          state: {
            messages: [{ role: "user", content: JSON.stringify(state_) }],
            document_summaries: [{ filename: "a.pdf", summary: "It has [key]." }],
            state: state_
          },
          questions: {
            is_key: { type: "noul", instructions: "Is [key] a key?", criteria: { true: "[key]", false: "no" } },
            which: {
              type: "choice",
              instructions: { ask: "[key]" },
              criteria: { "2": "[key]", "1": null },
              order: ["2", "1"]
            },
            how: { type: "score", instructions: ["[key]"], criteria: ["[key]", "high"] }
          }
        })
        assert.notMatch(JSON.stringify([asked, events, textIn(state)]), secret)
        const strings = ["", "Is sk-111 a key?", "sk-6", "no", "sk-7", "sk-8", "sk-9", "sk-10", "high"]
        const expected = [...strings, "sk-222", "one\nsk-444", "sk-5"].map((text) => ["message", text] as const)
        assert.deepStrictEqual(texts, [...expected, ["recalled", "It has sk-333."]])
      })
    )
  })

  it.effect("is asked again as it was stored, when the message is sent again", () => {
    const { asked, run, state } = open(noting)
    return run(
      Effect.gen(function* () {
        const turn = yield* ask({ questions, state: "Hold sk-222." })
        yield* turn.reply
        const [question] = (yield* Effect.flatMap(Threads, (threads) => threads.get(turn.threadId))).messages
        const messageId = question?.id ?? assert.fail("no message")
        const again = { threadId: turn.threadId, instead: { messageId, in: "place" as const } }
        const next = yield* Effect.flatMap(Turns, (turns) => turns.start({ content: "", ...again }))
        assert.deepInclude((yield* next.reply).supplements["answers"], { method: "native" })
        assert.strictEqual(asked.length, 2)
        assert.deepStrictEqual(asked[1]?.questions, questions)
        assert.strictEqual((yield* transcript(next.threadId))[0]?.[2], "Hold [key].")
        assert.notMatch(JSON.stringify([asked, textIn(state)]), secret)
      })
    )
  })

  const refusal = new TurnRefused({ part: "guard", reason: "invalid", problems: [{ path: [], message: "No keys." }] })
  const refusals: ReadonlyArray<readonly [string, NonNullable<TurnPart<null>["rewrite"]>, string]> = [
    [
      "that refuses a text of the state",
      (text) => (text.includes("sk-") ? Effect.fail(refusal) : Effect.succeed(text)),
      "No keys."
    ],
    ["that leaves no word of the instructions", () => Effect.succeed(""), "The instructions must not be empty"]
  ]
  for (const [title, rewrite, message] of refusals) {
    it.effect(`${title} is refused, and nothing of it is stored`, () => {
      const { asked, run, state } = open(guard({ rewrite }))
      return run(
        Effect.gen(function* () {
          const refused = yield* Effect.flip(ask({ questions, state: { key: "sk-222" } }))
          assert.strictEqual(refused._tag, "TurnRefused")
          assert.include(refused.message, message)
          assert.deepStrictEqual(asked, [])
          assert.notMatch(textIn(state), secret)
        })
      )
    })
  }

  it.effect("is asked without a summary that could not be rewritten", () => {
    const { asked, run } = open(
      guard({ rewrite: (text, { kind }) => (kind === "recalled" ? Effect.die("a fault") : Effect.succeed(text)) })
    )
    return run(
      Effect.gen(function* () {
        const turn = yield* ask(undefined, { content: "Is it?" })
        assert.strictEqual((yield* turn.reply).status, "COMPLETED")
        assert.deepStrictEqual(asked[0]?.state, { messages: [{ role: "user", content: "Is it?" }] })
      })
    )
  })
})
