// What the service adds to a voice session: memory, documents, tools that are selected, media; and what is done after an exchange.
import { scripted, ScriptedRealtime, type ScriptStep, say as write, TestRealtime } from "@colloquy/testing"
import {
  Assistants,
  FollowUps,
  type HostedTool,
  HostedTools,
  Principal,
  Providers,
  readSupplement,
  ThreadId,
  Threads,
  type TurnPart,
  TurnParts,
  TurnRefused
} from "@colloquy/core"
import { firstPage, noUsage, ThreadStore, UsageLedger } from "@colloquy/core/adapters"
import { Documents, TextExtractor } from "@colloquy/core/documents"
import { Memory, Memories } from "@colloquy/core/memory"
import { nothingSelected, type ServiceSelection } from "@colloquy/core/realtime"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import { operations } from "../memory/MemoryKernel.ts"
import { byteStream, readText } from "../support/DocumentRoom.ts"
import { frame } from "../support/Voice.ts"

const { callTool, hang, hear, say } = ScriptedRealtime

const writing = (steps: ReadonlyArray<ScriptStep> = []) => {
  const provider = scripted(steps)
  return Providers.layer({ providers: [provider], defaults: { provider: provider.id, model: `${provider.id}-model` } })
}

const select = (fields: Partial<ServiceSelection>) => ({ selection: { ...nothingSelected, ...fields } })

const leave = Effect.fnUntraced(function* (client: TestRealtime.TestClient) {
  client.send({ _tag: "Stop" })
  assert.strictEqual(yield* client.end, "ended")
})

const messagesIn = (threadId: string) =>
  Effect.map(
    Threads.use((threads) => threads.get(ThreadId.make(threadId))),
    ({ messages }) => messages
  )

describe("memory in a voice session", () => {
  const kernel = (script: Parameters<typeof TestRealtime.layer>[0], steps: ReadonlyArray<ScriptStep> = []) => {
    const providers = writing(steps)
    const base = TestRealtime.layer(script, { providers })
    return Layer.provideMerge(Memory.layer(), base)
  }

  const remembering = Effect.gen(function* () {
    const { id } = yield* (yield* Assistants).create({ name: "A", systemPrompt: "Be kind." })
    yield* (yield* Memories).add(id, { content: "The user lives in Bergen." })
    return id
  })

  it.effect("the newest memories stand behind the instructions, and older ones are found by a tool", () =>
    Effect.gen(function* () {
      const assistantId = yield* remembering
      const over = { content: "The user is in Rome on a holiday.", until: "1969-12-24" }
      yield* (yield* Memories).import(assistantId, JSON.stringify(over))
      const client = yield* TestRealtime.connect({ assistantId, ...select({ memory: "Readonly" }) })
      const { threadId } = yield* client.next("SessionBegin")
      const [setup] = (yield* TestRealtime.ScriptedVoice).setups
      assert.match(
        setup?.instructions ?? "",
        /^Be kind\.\n\n.*not instructions.*<(\w{12})>\n\[1\].*The user lives in Bergen\.\n<\/\1>$/su
      )
      assert.notInclude(setup?.instructions, "Rome")
      assert.deepStrictEqual(
        setup?.tools.map(({ name }) => name),
        ["search_memories"]
      )
      client.speak(frame)
      assert.deepInclude(yield* client.next("ToolCall"), { name: "search_memories", hosted: true })
      yield* client.next("ToolCompleted")
      const [outputs] = (yield* TestRealtime.ScriptedVoice).commands
      assert.include(JSON.stringify(outputs), "The user lives in Bergen.")
      yield* leave(client)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* (yield* Memories).list(assistantId, null)).total, 2)
      assert.isAbove((yield* messagesIn(threadId)).length, 1)
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(
        kernel([
          [hear("Where do I live?"), callTool("search_memories", { query: "Where does the user live" }), say("There.")]
        ])
      )
    )
  )

  it.effect("under Auto every exchange is learned from, once, after it was stored; what that costs is charged", () =>
    Effect.gen(function* () {
      const { id: assistantId } = yield* (yield* Assistants).create({ name: "A" })
      const client = yield* TestRealtime.connect({ assistantId, ...select({ memoryPro: "Auto" }) })
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ResponseDone")
      yield* leave(client)
      yield* TestClock.adjust("1 minute")
      const { memories } = yield* (yield* Memories).list(assistantId, null)
      assert.deepStrictEqual(
        memories.map(({ content }) => content),
        ["The user lives in Oslo."]
      )
      const [spoken] = yield* messagesIn(threadId)
      const { source } = memories[0] ?? assert.fail()
      assert.strictEqual(String(source?.threadId), threadId)
      assert.deepStrictEqual(source?.messageIds, spoken === undefined ? [] : [spoken.id])
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.sameMembers(
        days.map(({ purpose }) => purpose),
        ["realtime", "memory"]
      )
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(
        kernel(
          [[hear("I live in Oslo."), say("Nice."), hang]],
          [write(operations({ op: "ADD", text: "The user lives in Oslo.", quote: "I live in Oslo", message: 1 }))]
        )
      )
    )
  )
})

describe("documents in a voice session", () => {
  const extractor = Layer.succeed(TextExtractor, { readable: ["txt"], extract: readText })
  const kernel = (script: Parameters<typeof TestRealtime.layer>[0]) =>
    Documents.layer().pipe(
      Layer.provide(extractor),
      Layer.provideMerge(TestRealtime.layer(script, { providers: writing() }))
    )

  it.effect("a model finds excerpts by a tool; without documents there is none", () =>
    Effect.gen(function* () {
      const { id: assistantId } = yield* (yield* Assistants).create({ name: "A" })
      const scope = { _tag: "Assistant", assistantId } as const
      yield* (yield* Documents).upload({
        scope,
        filename: "menu.txt",
        bytes: byteStream("The soup of today is lentil.")
      })
      yield* TestClock.adjust("10 seconds")
      const client = yield* TestRealtime.connect({ assistantId })
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ToolCompleted")
      yield* client.next("TranscriptFinal")
      yield* client.next("TranscriptFinal")
      yield* leave(client)
      const [first] = (yield* TestRealtime.ScriptedVoice).commands
      assert.include(JSON.stringify(first), "menu.txt")
      assert.include(JSON.stringify(first), "lentil")
      const kept = (yield* messagesIn(threadId)).map((message) => readSupplement(message, "documents")?.value)
      assert.include(JSON.stringify(kept), "menu.txt")
      const plain = yield* TestRealtime.connect()
      yield* plain.next("SessionBegin")
      assert.deepStrictEqual((yield* TestRealtime.ScriptedVoice).setups.at(-1)?.tools, [])
      yield* leave(plain)
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(
        kernel([
          [hear("Which soup?"), callTool("search_documents", { query: "soup of today" }), say("Lentil.")],
          [hang]
        ])
      )
    )
  )
})

describe("tools that a session selects", () => {
  const Options = Schema.Struct({ provider: Schema.String, model: Schema.String })

  /** A part as the one of image generation: it is there where it is asked for, and makes a picture. */
  const pictures = TurnParts.part({
    name: "image",
    plan: Options,
    decide: ({ options }) =>
      options === undefined
        ? Effect.succeed(null)
        : Effect.map(Effect.orDie(readOptions(options)), (plan) => ({ plan })),
    tools: ({ model, provider }) => [
      {
        definition: { name: "generate_image", description: null, parameters: null },
        run: (_, call) =>
          Effect.sync(() => {
            const made = { documentId: `picture ${JSON.stringify(call.kept())}`, mediaType: "image" }
            call.spend({ provider, model, purpose: "image", usage: { ...noUsage, costUsd: 0.04 } })
            call.tell({ type: "media_generated", data: made })
            call.keep({ media: [made] })
            return "made"
          })
      }
    ]
  })
  const readOptions = Schema.decodeUnknownEffect(Options)

  it.effect("media are told with their call, kept with the answer, and charged apart from the audio", () =>
    Effect.gen(function* () {
      const image = { provider: "painter", model: "brush", config: null }
      const client = yield* TestRealtime.connect(select({ image }))
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      const { toolCallId } = yield* client.next("ToolCall")
      const media = [{ documentId: "picture null", mediaType: "image" }]
      assert.deepStrictEqual(yield* client.next("MediaGenerated"), { _tag: "MediaGenerated", toolCallId, media })
      yield* client.next("ToolCompleted")
      yield* client.next("TranscriptFinal")
      yield* client.next("TranscriptFinal")
      yield* leave(client)
      const kept = (yield* messagesIn(threadId)).flatMap((message) => readSupplement(message, "image")?.value ?? [])
      assert.deepStrictEqual(kept, [{ media }])
      const { days } = yield* (yield* UsageLedger).recent(firstPage)
      assert.sameDeepMembers(
        days.map(({ model, purpose, usage }) => [purpose, model, usage.costUsd]),
        [
          ["realtime", "scripted-voice", 0.002],
          ["image", "brush", 0.04]
        ]
      )
      const none = yield* TestRealtime.connect()
      yield* none.next("SessionBegin")
      assert.deepStrictEqual((yield* TestRealtime.ScriptedVoice).setups.at(-1)?.tools, [])
      yield* leave(none)
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(
        Layer.provideMerge(
          pictures,
          TestRealtime.layer([[hear("Draw."), callTool("generate_image", {}), say("There.")], [hang]])
        )
      )
    )
  )

  it.effect("a part that never joins ends the session in its time, and leaves nothing behind", () => {
    const asked = Deferred.makeUnsafe<void>()
    const stuck = TurnParts.part({
      name: "stuck",
      plan: Schema.Null,
      decide: () => Effect.succeed({ plan: null }),
      session: () => Effect.uninterruptible(Effect.andThen(Deferred.succeed(asked, undefined), Effect.never))
    })
    return Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const error = yield* Effect.forkChild(client.next("Error"), { startImmediately: true })
      // The key is checked in real time.
      yield* Deferred.await(asked)
      for (let second = 0; second < 60; second++) yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* Fiber.join(error), { code: "internal_error" })
      assert.deepStrictEqual(yield* (yield* ThreadStore).list(firstPage), [])
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(Layer.provideMerge(stuck, TestRealtime.layer([], { providers: writing() })))
    )
  })

  it.effect("a part that orders what no store keeps loses its follow-ups, and not what was said", () => {
    const followUps = () => [{ kind: "late", key: "k", payload: null, delayMillis: 1e300 }]
    const part = TurnParts.part({
      name: "faulty",
      plan: Schema.Null,
      decide: () => Effect.succeed({ plan: null }),
      session: () => Effect.succeed({ tools: [], instructions: null, followUps })
    })
    return Effect.gen(function* () {
      const client = yield* TestRealtime.connect()
      const { threadId } = yield* client.next("SessionBegin")
      client.speak(frame)
      yield* client.next("ResponseDone")
      yield* leave(client)
      const said = (yield* messagesIn(threadId)).map(({ content }) => content)
      assert.deepStrictEqual(said, ["Hello?", "Good evening."])
      const ordered = FollowUps.use((each) => each.list("late", firstPage))
      assert.deepStrictEqual(yield* ordered, [])
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(
        Layer.provideMerge(
          part,
          TestRealtime.layer([[hear("Hello?"), say("Good evening."), hang]], { providers: writing() })
        )
      )
    )
  })

  it.effect("a part that rewrites or reviews and has no step for sessions refuses them in words", () => {
    const guard = (name: string, steps: Partial<TurnPart<null>>) =>
      TurnParts.part({ name, plan: Schema.Null, decide: () => Effect.succeed({ plan: null }), ...steps })
    const rewrite: TurnPart<null>["rewrite"] = (text) => Effect.succeed(text)
    const review: TurnPart<null>["review"] = () => ({ by: "whole", judge: () => Effect.succeed({ _tag: "Pass" }) })
    const session: TurnPart<null>["session"] = () => Effect.succeed({ tools: [], instructions: null })
    const connect = (part: ReturnType<typeof guard>, script: Parameters<typeof TestRealtime.layer>[0]) =>
      Effect.flatMap(TestRealtime.connect(), (client) =>
        Effect.raceFirst(client.next("Error"), Effect.andThen(client.next("SessionBegin"), leave(client)))
      ).pipe(
        Effect.scoped,
        Principal.provide("ada"),
        Effect.provide(Layer.provideMerge(part, TestRealtime.layer(script, { providers: writing() })))
      )
    return Effect.gen(function* () {
      for (const steps of [{ rewrite }, { review }]) {
        const said =
          'The part "guard" of this service checks what is said before it is told, which cannot be done in a voice session.'
        assert.deepInclude(yield* connect(guard("guard", steps), []), { code: "invalid_first_frame", message: said })
      }
      yield* connect(guard("own", { review, session }), [[hang]])
    })
  })

  it.effect("a part's tool that yields is left out where the host, the client or another part has its name", () => {
    const tool = (name: string, description: string, yields: boolean): HostedTool => ({
      definition: { name, description, parameters: null },
      run: () => Effect.succeed(null),
      yields
    })
    const offered = ["draw", "write", "read", "pay"].map((name) => tool(name, "the part's", true))
    const other = TurnParts.part({
      name: "till",
      plan: Schema.Null,
      decide: () => Effect.succeed({ plan: null }),
      session: () => Effect.succeed({ tools: [tool("pay", "the other part's", false)], instructions: null })
    })
    const part = TurnParts.part({
      name: "servers",
      plan: Schema.Null,
      decide: () => Effect.succeed({ plan: null }),
      tools: () => offered,
      session: () => Effect.succeed({ tools: offered, instructions: null })
    })
    const hosted = [tool("draw", "the host's", false)]
    return Effect.gen(function* () {
      const tools = [{ name: "write", description: "the client's", parameters: null }]
      const client = yield* TestRealtime.connect({ tools })
      yield* client.next("SessionBegin")
      yield* leave(client)
      const [setup] = (yield* TestRealtime.ScriptedVoice).setups
      assert.deepStrictEqual(setup?.tools.map(({ description, name }) => `${name} is ${description}`).toSorted(), [
        "draw is the host's",
        "pay is the other part's",
        "read is the part's",
        "write is the client's"
      ])
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(
        Layer.provideMerge(Layer.merge(part, other), TestRealtime.layer([[hang]], { providers: writing(), hosted }))
      )
    )
  })

  it.effect("what a part refuses refuses the session, and leaves nothing behind", () =>
    Effect.gen(function* () {
      const web = yield* TestRealtime.connect(select({ webSearch: true }))
      const error = yield* web.next("Error")
      assert.deepInclude(error, { code: "invalid_first_frame" })
      assert.strictEqual(error.message, "Web search is not installed on this service.")
      assert.deepStrictEqual(yield* (yield* ThreadStore).list(firstPage), [])
      assert.deepStrictEqual((yield* HostedTools).all(), [])
    }).pipe(Effect.scoped, Principal.provide("ada"), Effect.provide(TestRealtime.layer([])))
  )

  it.effect("a refused option is told with the part and its path", () => {
    const problems = [
      { path: ["config", "size"], message: "It is too large." },
      { path: [], message: "There is no such model." }
    ]
    const part = TurnParts.part({
      name: "image",
      plan: Schema.Null,
      decide: () => Effect.fail(new TurnRefused({ part: "image", reason: "invalid", problems })),
      session: () => Effect.succeed({ tools: [], instructions: null })
    })
    return Effect.gen(function* () {
      const client = yield* TestRealtime.connect(select({ image: { provider: "p", model: "m", config: { size: 9 } } }))
      assert.deepInclude(yield* client.next("Error"), {
        code: "invalid_first_frame",
        message: "image.config.size: It is too large. There is no such model."
      })
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(Layer.provideMerge(part, TestRealtime.layer([], { providers: writing() })))
    )
  })

  it.effect("a tool of the service that the assistant carries and the service does not have refuses the session", () =>
    Effect.gen(function* () {
      const tools = [{ name: "web_search", description: null, parameters: null, hosted: true }]
      const { id } = yield* (yield* Assistants).create({ name: "A", tools })
      const error = yield* (yield* TestRealtime.connect({ assistantId: id })).next("Error")
      assert.deepInclude(error, { code: "invalid_first_frame" })
      assert.match(error.message, /no "web_search", which the assistant carries/u)
      assert.deepStrictEqual(yield* (yield* ThreadStore).list(firstPage), [])
      const without = yield* TestRealtime.connect({ assistantId: id, tools: [] })
      yield* without.next("SessionBegin")
      yield* leave(without)
    }).pipe(Effect.scoped, Principal.provide("ada"), Effect.provide(TestRealtime.layer([[hang]])))
  )
})

describe("history after a saved summary", () => {
  it.effect("at most 200 messages after any saved summary; the summary stands in the instructions", () =>
    Effect.gen(function* () {
      const talkOnce = Effect.fnUntraced(function* (threadId: string | null) {
        const client = yield* TestRealtime.connect({ threadId })
        const begin = yield* client.next("SessionBegin")
        for (let index = 0; index < 100; index++) {
          client.speak(frame)
          yield* client.next("ResponseDone")
        }
        yield* leave(client)
        return begin.threadId
      })
      const threadId = yield* talkOnce(null)
      assert.lengthOf(yield* messagesIn(threadId), 200)
      yield* talkOnce(threadId)
      assert.deepInclude(yield* (yield* TestRealtime.connect({ threadId })).next("Error"), {
        code: "history_too_large"
      })
      const threads = yield* ThreadStore
      yield* threads.setSummary(ThreadId.make(threadId), { text: "They counted.", throughSequence: 200, tokens: 3 })
      const client = yield* TestRealtime.connect({ threadId })
      yield* client.next("SessionBegin")
      const setup = (yield* TestRealtime.ScriptedVoice).setups.at(-1)
      assert.lengthOf(setup?.history ?? [], 200)
      assert.match(setup?.instructions ?? "", /They counted\.$/)
      yield* leave(client)
    }).pipe(
      Effect.scoped,
      Principal.provide("ada"),
      Effect.provide(
        TestRealtime.layer([
          ...[1, 2].map(() => Array.from({ length: 100 }, (_, index) => [hear(`${index}`), say("Yes.")]).flat()),
          [hang]
        ])
      )
    )
  )
})
