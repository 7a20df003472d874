/** Typed answers as a turn gives them: what the model is shown, what is kept, what is refused and what is charged. */
import { InMemory } from "@colloquy/adapters/in-memory"
import {
  AssistantId,
  Assistants,
  InsufficientCredit,
  Kernel,
  Metering,
  Principal,
  type Provider,
  Providers,
  readSupplement,
  ThreadId,
  Threads,
  type TurnRequest,
  TurnRefused,
  TurnParts,
  Turns
} from "@colloquy/core"
import {
  type AnswerDriver,
  type AnswerRequest,
  type ChatRequest,
  firstPage,
  ModelError,
  noUsage,
  UsageLedger
} from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Answers, DocumentSummaries } from "../../src/answers/index.ts"
import { quiet, transcript } from "../support/Story.ts"

const questions = {
  urgent: { type: "noul", instructions: "Is it urgent?" },
  topic: { type: "choice", instructions: "Topic?", criteria: { refund: "money", delivery: null } }
}

const sound = { urgent: { true: 0.8, false: 0.2 }, topic: { refund: 0.9, delivery: 0.1 } }

const usage = { ...noUsage, inputTokens: 212, outputTokens: 3 }

const expected = {
  urgent: { type: "noul", noul: 0.8 },
  topic: { type: "choice", choice: "refund", probabilities: { refund: 0.9, delivery: 0.1 }, confidence: 0.8 }
}

const native: AnswerDriver = () =>
  Effect.succeed({ distributions: sound, method: "native", estimated: false, model: "typed-1.2", usage })

const summaries = Layer.succeed(DocumentSummaries, ({ assistantId }) =>
  Effect.succeed([{ filename: "a.pdf", summary: `About ${assistantId}` }])
)

/** A kernel with a typed provider, a conversation model that says "Yes.", and the part. */
const open = (answers: AnswerDriver = native, options: { readonly typed?: Partial<Provider> } = {}) => {
  const asked: Array<AnswerRequest> = []
  const chats: Array<ChatRequest> = []
  const providers: ReadonlyArray<Provider> = [
    {
      id: "typed",
      answers: (request) => {
        asked.push(request)
        return answers(request)
      },
      ...options.typed
    },
    {
      id: "words",
      chat: (request) => {
        chats.push(request)
        return Stream.make(
          { _tag: "TextDelta" as const, text: request.jsonOutput ? '{"Yes": 0.7, "No": 0.3}' : "Yes." },
          { _tag: "Finished" as const, reason: "stop" as const, model: null, providerData: null }
        )
      }
    },
    { id: "vectors" }
  ]
  const layer = Answers.layer().pipe(
    Layer.provide(summaries),
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(Providers.layer({ providers, defaults: { provider: "words", model: "m" } })),
    Layer.provideMerge(InMemory.layer),
    Layer.provideMerge(quiet),
    Layer.fresh
  )
  return { asked, chats, layer }
}

type Opened = ReturnType<typeof open>
type Services = Layer.Success<Opened["layer"]>

const story = (
  title: string,
  body: (opened: Opened) => Effect.Effect<void, unknown, Services | Principal>,
  make: () => Opened = open
) =>
  it.effect(title, () => {
    const opened = make()
    return body(opened).pipe(Principal.provide("ada"), Effect.provide(opened.layer))
  })

const typed = {
  content: "Where is my money?",
  provider: "typed",
  model: "typed-latest",
  options: { answers: { questions } }
}

const send = (request: TurnRequest) => Effect.flatMap(start(request), (turn) => turn.reply)

const start = (request: TurnRequest) => Effect.flatMap(Turns, (turns) => turns.start(request))

const refusalFor = (request: TurnRequest) =>
  Effect.flatMap(Effect.flip(send(request)), (error) =>
    error instanceof TurnRefused ? Effect.succeed(error) : Effect.die(error)
  )

const refusedPaths = (request: TurnRequest) =>
  Effect.map(refusalFor(request), ({ problems }) => problems.map(({ path }) => path.join(".")))

const nothingStored = Effect.gen(function* () {
  assert.deepStrictEqual(yield* (yield* Threads).list({ page: firstPage, includeMessages: false }), [])
  assert.deepStrictEqual((yield* (yield* UsageLedger).recent(firstPage)).days, [])
})

describe("a turn with questions", () => {
  story("is answered by the typed provider: text, usage, resolved model, and the answers kept with the message", () =>
    Effect.gen(function* () {
      const reply = yield* send(typed)
      assert.deepInclude(reply, { status: "COMPLETED", provider: "typed", model: "typed-1.2", usage })
      assert.deepStrictEqual(JSON.parse(reply.content), expected)
      const kept = { method: "native", estimated: false, model: "typed-1.2", id: reply.messageId, answers: expected }
      assert.deepInclude(reply.supplements["answers"], kept)
      const [, stored] = (yield* (yield* Threads).get(reply.threadId)).messages
      assert.deepInclude(readSupplement(stored ?? { supplements: null }, "answers")?.value, kept)
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.deepStrictEqual(
        days.map((day) => [day.model, day.purpose, day.usage.inputTokens, day.usage.outputTokens]),
        [["typed-1.2", "chat", 212, 3]]
      )
    })
  )

  story(
    "shows the model conversation, system prompt, summaries and state, and a conversation model goes on",
    (opened) =>
      Effect.gen(function* () {
        const first = yield* send({ content: "Hello" })
        const { threadId } = first
        const asked = { threadId, systemPrompt: "Be strict.", options: { answers: { questions, state: { order: 7 } } } }
        const reply = yield* send({ ...typed, ...asked })
        assert.deepStrictEqual(
          opened.asked.map(({ conversationId, model, state }) => ({ conversationId, model, state })),
          [
            {
              conversationId: threadId,
              model: "typed-latest",
              state: {
                messages: [
                  { role: "user", content: "Hello" },
                  { role: "assistant", content: "Yes." },
                  { role: "user", content: typed.content }
                ],
                system_prompt: "Be strict.",
                document_summaries: [{ filename: "a.pdf", summary: `About ${first.assistantId}` }],
                state: { order: 7 }
              }
            }
          ]
        )
        yield* send({ threadId, content: "Why?" })
        assert.deepStrictEqual(opened.chats.at(-1)?.messages.slice(2, 4), [
          { role: "user", content: [{ type: "text", text: typed.content }] },
          { role: "assistant", content: reply.content, toolCalls: [], providerData: null }
        ])
      })
  )

  story("without text saves the state, written out, as the user's message", () =>
    Effect.gen(function* () {
      const options = { answers: { questions, state: { order: 7, late: true } } }
      const { threadId } = yield* send({ ...typed, content: "", options })
      yield* send({ ...typed, threadId, content: " ", options: { answers: { questions, state: "plain text" } } })
      const lines = yield* transcript(threadId)
      assert.deepStrictEqual(
        lines.filter(([role]) => role === "user").map(([, , content]) => content),
        ['{"order":7,"late":true}', "plain text"]
      )
      const error = yield* Effect.flip(send({ ...typed, threadId, content: "" }))
      assert.strictEqual(error._tag, "EmptyMessage")
    })
  )

  story("that is only saved makes no call and costs nothing", (opened) =>
    Effect.gen(function* () {
      const options = { answers: { questions, state: ["a"] } }
      const saved = yield* send({ ...typed, content: "", options, sendToModel: false })
      assert.deepInclude(saved, { role: "user", content: '["a"]', usage: noUsage })
      assert.deepStrictEqual(opened.asked, [])
      assert.deepStrictEqual((yield* (yield* UsageLedger).recent(firstPage)).days, [])
    })
  )

  story("can be put to a conversation model, whose provider has no answers of its own", (opened) =>
    Effect.gen(function* () {
      const only = { questions: { urgent: questions.urgent } }
      const reply = yield* send({ content: "Fire!", options: { answers: only } })
      assert.deepInclude(reply.supplements["answers"], { method: "stated", estimated: true, provider: "words" })
      assert.deepStrictEqual(JSON.parse(reply.content), { urgent: { type: "noul", noul: 0.7 } })
      assert.isTrue(reply.usage.estimated)
      assert.include(JSON.stringify(opened.chats[0]?.messages), "Fire!")
    })
  )

  story("takes the assistant's provider and model", (opened) =>
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const assistant = yield* assistants.create({ name: "Judge", provider: "typed", model: "typed-preview" })
      yield* send({ assistantId: assistant.id, content: "x", options: typed.options })
      assert.deepStrictEqual(
        opened.asked.map(({ model }) => model),
        ["typed-preview"]
      )
    })
  )

  const limit = { describe: () => ({ contextLimit: 400, maxOutputTokens: 10 }) }
  story(
    "leaves the oldest runs out where the model has no room, and refuses what can never fit",
    (opened) =>
      Effect.gen(function* () {
        const long = "word ".repeat(60)
        let threadId: ThreadId | undefined
        for (const content of [`one ${long}`, `two ${long}`, `three ${long}`, `four ${long}`]) {
          const reply = yield* send({ ...typed, ...(threadId === undefined ? {} : { threadId }), content })
          assert.strictEqual(reply.status, "COMPLETED")
          threadId = reply.threadId
        }
        const shown = JSON.stringify(opened.asked.at(-1)?.state)
        assert.include(shown, "four word")
        assert.notInclude(shown, "one word")
        assert.deepStrictEqual(yield* refusedPaths({ ...typed, content: "word ".repeat(2000) }), [""])
      }),
    () => open(native, { typed: limit })
  )
})

describe("a typed turn that fails", () => {
  story(
    "with a reply that does not fit is a failed run with a reason; what it used is charged, and nothing is kept",
    () =>
      Effect.gen(function* () {
        const reply = yield* send(typed)
        assert.deepInclude(reply, { status: "FAILED", usage, supplements: {} })
        assert.deepInclude(reply.fault, { code: "malformed", retryable: true })
        assert.include(reply.fault?.message, "missing_answer")
        const { days } = yield* (yield* UsageLedger).recent(firstPage)
        assert.deepStrictEqual(
          days.map((day) => [day.model, day.usage.inputTokens]),
          [["typed-latest", 212]]
        )
      }),
    () =>
      open((request) => Effect.map(native(request), (reply) => ({ ...reply, distributions: { urgent: sound.urgent } })))
  )

  story(
    "because the provider refuses it is a failed run without an estimate",
    () =>
      Effect.gen(function* () {
        const reply = yield* send(typed)
        assert.deepInclude(reply, { status: "FAILED", usage: { ...noUsage, costUsd: 0 } })
        assert.deepInclude(reply.fault, { code: "quota", retryable: false })
      }),
    () => open(() => Effect.fail(new ModelError({ reason: "quota", provider: "typed", model: "m", status: 402 })))
  )
})

describe("a typed turn is refused, and nothing of it stored,", () => {
  story("with every problem at its path", (opened) =>
    Effect.gen(function* () {
      const tool = { name: "weather", description: null, parameters: { type: "object", properties: {} } }
      const options = {
        answers: {
          questions: { urgent: { type: "noul" }, topic: { type: "choice", instructions: "x", criteria: {} } },
          state: 7
        }
      }
      const refusal = yield* refusalFor({ ...typed, options, stream: true, thinking: {}, tools: [tool] })
      assert.deepInclude(refusal, { part: "answers", reason: "invalid" })
      assert.deepStrictEqual(
        refusal.problems.map(({ path }) => path.join(".")),
        ["questions.urgent.instructions", "questions.topic.criteria", "state", "stream", "thinking", "tools"]
      )
      yield* nothingStored
      assert.deepStrictEqual(opened.asked, [])
    })
  )

  story("when it asks other parts for something, and not when it switches them off", () =>
    Effect.gen(function* () {
      const others = ["documents", "image", "memory", "search", "video", "voice"]
      const parts = yield* TurnParts
      for (const name of others) {
        yield* parts.register({ name, plan: Schema.Null, decide: () => Effect.succeed(null) })
      }
      const on = Object.fromEntries(others.map((name) => [name, { mode: "Auto" }]))
      assert.deepStrictEqual(yield* refusedPaths({ ...typed, options: { ...typed.options, ...on } }), others)
      yield* nothingStored
      const off = { memory: { mode: "off" }, search: "off", voice: null }
      assert.strictEqual((yield* send({ ...typed, options: { ...typed.options, ...off } })).status, "COMPLETED")
    }).pipe(Effect.scoped)
  )

  story("before another part has heard anything, which costs money", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      yield* (yield* TurnParts).register({
        name: "voice",
        plan: Schema.Null,
        decide: () => Effect.succeed(null),
        listen: ({ content }) =>
          Effect.sync(() => {
            heard.push(content)
            return null
          })
      })
      yield* refusalFor({ ...typed, options: { ...typed.options, voice: { stt: {} } } })
      assert.deepStrictEqual(heard, [])
    }).pipe(Effect.scoped)
  )

  story("without questions for a provider that gives nothing else", () =>
    Effect.gen(function* () {
      const { options: _, ...plain } = typed
      assert.deepStrictEqual(yield* refusedPaths(plain), [""])
      yield* nothingStored
    })
  )

  story("by an assistant with tools, until the message takes them away", () =>
    Effect.gen(function* () {
      const tools = [{ name: "weather", description: null, parameters: { type: "object", properties: {} } }]
      const assistant = yield* (yield* Assistants).create({ name: "Tools", tools })
      const asked = { ...typed, assistantId: assistant.id }
      const refusal = yield* refusalFor(asked)
      assert.deepStrictEqual(refusal.problems[0]?.path, ["tools"])
      assert.include(refusal.message, "empty list of tools")
      assert.strictEqual((yield* send({ ...asked, tools: [] })).status, "COMPLETED")
    })
  )

  story("without a model, and for a provider that answers nothing", () =>
    Effect.gen(function* () {
      const { model: _, ...unnamed } = typed
      assert.deepStrictEqual(yield* refusedPaths({ ...typed, provider: "vectors" }), ["provider"])
      const error = yield* Effect.flip(send(unnamed))
      assert.include(["TurnRefused", "ProviderNotFound"], error._tag)
      yield* nothingStored
    })
  )

  it.effect("when there is no credit: nothing is asked, nothing is stored", () => {
    const opened = open()
    const broke = { ensureCredit: () => Effect.fail(new InsufficientCredit()), record: () => Effect.void }
    return Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(send(typed)))._tag, "InsufficientCredit")
      assert.deepStrictEqual(opened.asked, [])
      yield* nothingStored
      const saved = yield* send({ ...typed, sendToModel: false })
      assert.strictEqual(saved.status, "COMPLETED")
    }).pipe(Principal.provide("ada"), Effect.provide(Layer.provide(opened.layer, Layer.succeed(Metering, broke))))
  })

  story("but not for json_output, which means nothing here", () =>
    Effect.gen(function* () {
      const reply = yield* send({ ...typed, jsonOutput: true })
      const { ignored } = yield* (yield* Turns).report(reply.threadId, reply.runId)
      assert.deepStrictEqual(
        ignored.map(({ option }) => option),
        ["json_output"]
      )
    })
  )
})

describe("outcomes of what a turn answered", () => {
  story("are recorded by thread and message, and judged for the assistant", () =>
    Effect.gen(function* () {
      const answers = yield* Answers
      const { assistantId, messageId, threadId } = yield* send(typed)
      yield* answers.recordOfTurn({ threadId, messageId, question: "urgent", outcome: true })
      yield* answers.recordOfTurn({ threadId, messageId, question: "topic", outcome: "delivery" })
      const { cases, questionSets } = yield* answers.report(assistantId)
      assert.strictEqual(cases, 2)
      assert.deepStrictEqual(
        questionSets.flatMap((set) => set.questions.map(({ question }) => question)),
        ["urgent", "topic"]
      )
      assert.strictEqual((yield* answers.report(AssistantId.make(crypto.randomUUID()))).cases, 0)
    })
  )

  story("are refused for a message without answers, a question that was not asked, and for others", () =>
    Effect.gen(function* () {
      const answers = yield* Answers
      const { messageId, threadId } = yield* send(typed)
      const plain = yield* send({ threadId, content: "And now?" })
      const of = (change: object) =>
        Effect.map(
          Effect.flip(answers.recordOfTurn({ threadId, messageId, question: "urgent", outcome: true, ...change })),
          ({ _tag }) => _tag
        )
      assert.strictEqual(yield* of({ messageId: plain.messageId }), "AnswersNotFound")
      assert.strictEqual(yield* of({ threadId: ThreadId.make(crypto.randomUUID()) }), "ThreadNotFound")
      assert.strictEqual(yield* of({ question: "constructor" }), "OutcomeRefused")
      assert.strictEqual(yield* of({ outcome: "perhaps" }), "OutcomeRefused")
      assert.strictEqual(yield* Principal.provide("bob")(of({})), "ThreadNotFound")
    })
  )
})
