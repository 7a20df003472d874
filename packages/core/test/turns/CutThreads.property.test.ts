/**
 * Threads of any messages, cut at any place: with round trips of tools that the kernel runs and of the client's, with excerpts of documents,
 * and longer than the window, so that summaries stand for their beginnings. A fork reads the same up to its cut. What a rewind keeps gives
 * the prompt that the thread would have given, byte for byte.
 */
import {
  Conversations,
  FollowUps,
  HostedTools,
  Kernel,
  type Message,
  Principal,
  type Provider,
  Providers,
  type ThreadId,
  Threads,
  TokenCounter,
  Turns
} from "@colloquy/core"
import { AssistantStore, type ChatEvent, type ChatRequest, firstPage } from "@colloquy/core/adapters"
import { Documents, TextExtractor } from "@colloquy/core/documents"
import { Summaries } from "@colloquy/core/summaries"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { openPlace } from "../documents/DocumentStories.ts"
import { byteStream, memoryStorage, readText } from "../support/DocumentRoom.ts"
import { clock, quiet, weather } from "../support/Story.ts"
import { loopTurn } from "../support/PassTime.ts"

const Kinds = Schema.Array(Schema.Literals(["short", "long", "hosted", "client", "document"])).check(
  Schema.isMinLength(2),
  Schema.isMaxLength(9)
)
const Place = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))

const isSummary = ({ system }: ChatRequest): boolean => system?.startsWith("You keep the running summary") === true

/** Calls the tool that the message names, and says how much it has read. */
const vendor = (asked: Array<ChatRequest>): Provider => ({
  id: "p",
  describe: () => ({ contextLimit: 1_100, maxOutputTokens: 100 }),
  chat: (request) => {
    asked.push(request)
    const last = request.messages.at(-1)
    const text = last?.role === "user" ? JSON.stringify(last.content) : ""
    const name = ["clock", "weather"].find((each) => text.includes(each))
    const events: ReadonlyArray<ChatEvent> =
      name !== undefined && !isSummary(request)
        ? [{ _tag: "ToolCallReady", call: { id: `c${asked.length}`, name, arguments: "{}" } }]
        : [{ _tag: "TextDelta", text: `${isSummary(request) ? "Summary" : "Answer"} ${request.messages.length}.` }]
    return Stream.fromIterable<ChatEvent>([
      ...events,
      { _tag: "Finished", reason: "stop", model: null, providerData: null }
    ])
  }
})

const texts = {
  short: "Hello",
  long: "word ".repeat(150),
  hosted: "What does the clock say?",
  client: "How is the weather?",
  document: "When does the harbour of Bergen close?"
}

/** Lets time pass, and the work that it begins go on. */
const workDone = Effect.andThen(TestClock.adjust("1 second"), loopTurn)

/** The word of a frame is random, and its digits count more than its letters: here a prompt is as long as its text. */
const counter = Layer.succeed(TokenCounter, { count: (text: string) => Math.ceil(text.length / 2.5) })

/** The same words in the same order make the same thread. */
const spoken = Effect.fnUntraced(function* (kinds: typeof Kinds.Type) {
  const asked: Array<ChatRequest> = []
  const { storage } = yield* memoryStorage
  const providers = Providers.layer({ providers: [vendor(asked)], defaults: { provider: "p", model: "m" } })
  const hosted = HostedTools.tools([{ definition: clock, run: () => Effect.succeed("noon") }])
  const services = yield* Layer.build(
    Layer.mergeAll(Documents.layer(), Summaries.layer(), hosted).pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provide([
        providers,
        counter,
        Layer.succeed(TextExtractor, { readable: ["txt"], extract: readText }),
        quiet
      ]),
      Layer.provideMerge(storage),
      Layer.fresh
    )
  )
  const run = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideContext(effect, services)
  const turns = yield* run(Turns)
  const { threadId } = yield* run(openPlace)
  const say = Effect.fnUntraced(function* (thread: ThreadId, content: string) {
    const { runId, toolCalls } = yield* turns.send({ threadId: thread, content, tools: [weather] })
    const outputs = toolCalls.map(({ id }) => ({ toolCallId: id, output: "rain" }))
    if (outputs.length > 0) {
      const turn = yield* turns.submitToolOutputs({ threadId: thread, runId, outputs })
      yield* turn.reply
    }
    yield* workDone
    // A summary may be under way still: the next prompt needs it.
    const open = Effect.suspend(() => run(FollowUps.use((followUps) => followUps.list("summarize", firstPage))))
    while ((yield* open).some(({ status }) => status !== "done" && status !== "dead")) yield* workDone
  })
  if (kinds.includes("document")) {
    const scope = { _tag: "Thread", threadId } as const
    const file = { scope, filename: "harbour.txt", bytes: byteStream("The harbour of Bergen closes at nine.") }
    const { id } = yield* run(Documents.use((documents) => documents.upload(file)))
    const document = Effect.suspend(() => run(Documents.use((documents) => documents.get(id))))
    while ((yield* document).status === "processing") yield* workDone
  }
  for (const kind of kinds) yield* say(threadId, texts[kind])
  const read = (thread: ThreadId) => run(Threads.use((threads) => threads.get(thread)))
  const storedSummary = (thread: ThreadId) =>
    run(AssistantStore.use((store) => store.ofThread(thread))).pipe(
      Effect.map((found) => Option.getOrThrow(found).summary)
    )
  const nextPrompt = Effect.fnUntraced(function* (thread: ThreadId) {
    const before = asked.length
    yield* say(thread, texts.document)
    const { messages, system, tools } = asked[before] ?? assert.fail("no model was asked")
    // The word of a frame is new for each block that is recalled.
    return JSON.stringify({ messages, system, tools }).replaceAll(/<(\/?)[0-9a-f]{12}>/gu, "<$1word>")
  })
  return { conversations: yield* run(Conversations), nextPrompt, read, storedSummary, threadId }
})

/** What must be equal in a copy. */
const said = (messages: ReadonlyArray<Message>) =>
  messages.map(({ id: _, threadId: _thread, ...message }) => ({ ...message, createdAt: message.createdAt.getTime() }))

describe("a thread of any messages", () => {
  let summed = 0
  let recalled = 0

  it.effect.prop(
    "is forked at any of them, and reads the same up to there; the thread stays as it is",
    [Kinds, Place],
    ([kinds, place]) =>
      Effect.gen(function* () {
        const { conversations, read, storedSummary, threadId } = yield* spoken(kinds)
        const { messages } = yield* read(threadId)
        const keeps = 1 + (place % messages.length)
        const messageId = messages[keeps - 1]?.id ?? assert.fail("no message")
        const fork = yield* conversations.fork({ threadId, messageId })
        const copied = (yield* read(fork.id)).messages
        assert.deepStrictEqual(said(copied), said(messages.slice(0, keeps)))
        const [own, ofFork] = [yield* storedSummary(threadId), yield* storedSummary(fork.id)]
        const isCovered = own !== null && own.throughSequence <= keeps
        assert.deepStrictEqual(ofFork?.text ?? null, isCovered ? own.text : null)
        assert.deepStrictEqual(yield* read(threadId).pipe(Effect.map((found) => found.messages)), messages)
      }).pipe(Effect.scoped, Principal.provide("ada"))
  )

  it.effect.prop(
    "is rewound to any of them, and what is kept gives the same prompt, byte for byte",
    [Kinds, Place],
    ([kinds, place]) =>
      Effect.gen(function* () {
        const whole = yield* spoken(kinds)
        const expected = yield* whole.nextPrompt(whole.threadId)
        const { conversations, nextPrompt, read, storedSummary, threadId } = yield* spoken(kinds)
        const { messages } = yield* read(threadId)
        const before = yield* storedSummary(threadId)
        const keeps = 1 + (place % (messages.length - 1))
        const messageId = messages[keeps - 1]?.id ?? assert.fail("no message")
        const { keptAs } = yield* conversations.rewind({ threadId, messageId })
        if (keptAs === null) return assert.fail("nothing was kept")
        assert.deepStrictEqual(said((yield* read(threadId)).messages), said(messages.slice(0, keeps)))
        const left = yield* storedSummary(threadId)
        // A summary that covers what was taken back is gone.
        assert.strictEqual(left?.text ?? null, (before?.throughSequence ?? 0) <= keeps ? (before?.text ?? null) : null)
        assert.strictEqual(yield* nextPrompt(keptAs), expected)
        if (before !== null) summed++
        if (expected.includes("closes at nine")) recalled++
      }).pipe(Effect.scoped, Principal.provide("ada")),
    // Of random threads only some five in a hundred are long enough for a summary.
    { arbitrary: { seed: 1 } }
  )

  it("had summaries and excerpts at times", () => {
    assert.isAbove(summed, 0)
    assert.isAbove(recalled, 0)
  })
})
