/** Parts that rewrite: what they take away is neither stored nor read by another part, a tool or the model. */
import { InMemory } from "@colloquy/adapters/in-memory"
import {
  Assistants,
  Conversations,
  type DecisionsRequest,
  type HostedTool,
  HostedToolFailed,
  PersonAsked,
  Principal,
  type TurnPart,
  TurnParts,
  TurnRefused,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import { firstPage, type TextSource, type TurnCase } from "@colloquy/core/adapters"
import { tool } from "@colloquy/core/promises"
import { callTool, callTools, gate, say, ScriptedModel, type ScriptStep, TestKernel } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { partWith as part, secret } from "../support/Guarded.ts"
import { textIn } from "../support/StoredText.ts"
import { messagesIn, quiet, transcript, weather } from "../support/Story.ts"

type Rewriting = NonNullable<TurnPart<null>["rewrite"]>

const guard = (
  rewrite: Rewriting = (text) => Effect.succeed(text.replaceAll(secret, "[key]")),
  name = "guard"
): TurnPart<null> => part(name, { rewrite })

interface Options extends TestKernel.TestKernelOptions {
  readonly parts?: ReadonlyArray<TurnPart<null>>
  readonly state?: InMemory.State
}

const withParts = <A, E>(
  steps: ReadonlyArray<ScriptStep>,
  { parts = [guard()], state = InMemory.makeState(), ...options }: Options,
  body: Effect.Effect<A, E, TestKernel.Services | Principal>
) => {
  const joined = parts.map((each) => TurnParts.part(each)).reduce((all, each) => Layer.merge(all, each))
  const kernel = joined.pipe(
    Layer.provideMerge(TestKernel.layer(steps, { ...options, stores: InMemory.layerFrom(state) })),
    Layer.fresh
  )
  return body.pipe(Principal.provide("ada"), Effect.provide([kernel, quiet]))
}

const send = (request: Partial<TurnRequest>) => Turns.use((turns) => turns.send({ content: "Hi", ...request }))

const nothingStored = Effect.map(
  Assistants.use((assistants) => assistants.list(firstPage)),
  (all) => assert.deepStrictEqual(all, [])
)

const plainTool = { description: "A tool", parameters: { type: "object" } } as const

/** What a model was sent, as text. */
const requestsAsText = Effect.map(ScriptedModel, ({ requests }) => JSON.stringify(requests))

describe("a message that is rewritten", () => {
  it.effect("is stored so, read so by the model and by every other part, in this turn and in later ones", () => {
    const state = InMemory.makeState()
    const seen: Array<TurnCase> = []
    const witness = part("witness", {
      refuse: (turn) => Effect.sync(() => void seen.push(turn)),
      decide: (turn) => Effect.sync(() => (seen.push(turn), { plan: null }))
    })
    return withParts(
      [say("Hello."), say("Again.")],
      { state, parts: [guard(), witness] },
      Effect.gen(function* () {
        const reply = yield* send({ content: "My key is sk-123." })
        yield* send({ threadId: reply.threadId })
        assert.deepStrictEqual((yield* transcript(reply.threadId))[0], ["user", "COMPLETED", "My key is [key]."])
        assert.notMatch(JSON.stringify(seen.map(({ content, request }) => [content, request])), secret)
        assert.notMatch(yield* requestsAsText, secret)
        assert.notMatch(textIn(state), secret)
      })
    )
  })

  it.effect("by several parts is rewritten in the order of their names", () =>
    withParts(
      [say("Hello.")],
      {
        parts: [guard((text) => Effect.succeed(`${text}b`), "2"), guard((text) => Effect.succeed(`${text}a`), "1")]
      },
      Effect.gen(function* () {
        const reply = yield* send({ content: "x" })
        assert.strictEqual((yield* transcript(reply.threadId))[0]?.[2], "xab")
      })
    )
  )

  it.effect("is rewritten once, and a repeat of the request gets what was stored", () => {
    const state = InMemory.makeState()
    const rewritten: Array<string> = []
    const once = guard((text) => Effect.sync(() => (rewritten.push(text), `${text}!`)))
    const request = { content: "sk", idempotency: { key: "k", fingerprint: "f" } }
    return withParts(
      [say("Hello.")],
      { state, parts: [once] },
      Effect.gen(function* () {
        const first = yield* send(request)
        const again = yield* send(request)
        assert.strictEqual(again.runId, first.runId)
        assert.deepStrictEqual(rewritten, ["sk"])
        assert.strictEqual((yield* transcript(first.threadId))[0]?.[2], "sk!")
      })
    )
  })

  it.effect("is not rewritten again when it is answered again, and its new text is when it is edited", () => {
    const rewritten: Array<string> = []
    const marked = guard((text) => Effect.sync(() => (rewritten.push(text), `${text}!`)))
    return withParts(
      [say("One."), say("Two."), say("Three."), say("Four.")],
      { parts: [marked] },
      Effect.gen(function* () {
        const first = yield* send({ content: "Hello" })
        const { messageId: one } = first
        const again = yield* send({ threadId: first.threadId, content: "", instead: { messageId: one, in: "place" } })
        const { messageId: two } = again
        yield* send({ threadId: first.threadId, content: "", instead: { messageId: two, in: "fork" } })
        assert.strictEqual((yield* transcript(first.threadId))[0]?.[2], "Hello!")
        assert.deepStrictEqual(rewritten, ["Hello"])
        const [question] = yield* messagesIn(first.threadId)
        const instead = { messageId: question?.id ?? two, in: "place", edited: "Bye" } as const
        yield* send({ threadId: first.threadId, content: "", instead })
        assert.strictEqual((yield* transcript(first.threadId))[0]?.[2], "Bye!")
        assert.deepStrictEqual(rewritten, ["Hello", "Bye"])
      })
    )
  })

  it.effect("is rewritten whatever a request from outside says of itself", () => {
    const state = InMemory.makeState()
    const request = { content: "sk-1", stored: { content: true, options: [] } }
    return withParts(
      [say("Hello.")],
      { state },
      Effect.andThen(
        send(request),
        Effect.sync(() => assert.notMatch(textIn(state), secret))
      )
    )
  })

  it.effect("is read once on a thread that was answered before, also where it is refused or a part hangs", () => {
    const read: Array<string> = []
    const strict = guard((text) =>
      Effect.suspend(() => {
        read.push(text)
        if (text === "hang") return Effect.never
        return text === "bad" ? Effect.fail(refusal) : Effect.succeed(text)
      })
    )
    const refusal = new TurnRefused({ part: "guard", reason: "invalid", problems: [{ path: [], message: "No." }] })
    return withParts(
      [say("One."), say("Two.")],
      { parts: [strict] },
      Effect.gen(function* () {
        const { threadId } = yield* send({ content: "a" })
        yield* send({ threadId, content: "b" })
        assert.strictEqual((yield* Effect.flip(send({ threadId, content: "bad" })))._tag, "TurnRefused")
        const hangs = yield* Effect.forkChild(Effect.flip(send({ threadId, content: "hang" })), {
          startImmediately: true
        })
        yield* TestClock.adjust("31 seconds")
        assert.strictEqual((yield* Fiber.join(hangs))._tag, "TurnRefused")
        assert.deepStrictEqual(read, ["a", "b", "bad", "hang"])
      })
    )
  })

  it.effect("waits for its thread as it was rewritten", () => {
    const state = InMemory.makeState()
    const rewritten: Array<string> = []
    const once = guard((text) => Effect.sync(() => (rewritten.push(text), text.replaceAll(secret, "[key]"))))
    return withParts(
      [[say("One."), gate()], say("Two.")],
      { state, parts: [once] },
      Effect.gen(function* () {
        const turn = yield* Turns.use((turns) => turns.start({ content: "First", stream: true }))
        yield* ScriptedModel.use((model) => model.reached())
        const second = yield* Effect.forkChild(send({ threadId: turn.threadId, content: "sk-1" }), {
          startImmediately: true
        })
        yield* TestClock.adjust("1 second")
        assert.notMatch(textIn(state), secret)
        yield* ScriptedModel.use((model) => model.release())
        yield* turn.reply
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(second)).content, "Two.")
        assert.deepStrictEqual(rewritten, ["First", "sk-1"])
        assert.notMatch(yield* requestsAsText, secret)
      })
    )
  })

  it.effect("is rewritten where it is only saved, too", () => {
    const state = InMemory.makeState()
    return withParts(
      [],
      { state },
      Effect.gen(function* () {
        yield* Turns.use((turns) => turns.start({ content: "sk-1", sendToModel: false }))
        assert.notMatch(textIn(state), secret)
        assert.include(textIn(state), "[key]")
      })
    )
  })
})

describe("a text that was heard", () => {
  const hearing = (name: string, listen: NonNullable<TurnPart<null>["listen"]>) => part(name, { listen })
  const options = { ear: {}, eye: {} }

  it.effect(
    "is rewritten, whether its part does that before it tells and keeps the text or leaves it to the kernel",
    () => {
      const state = InMemory.makeState()
      const rewritten: Array<string> = []
      const once = guard((text) => Effect.sync(() => (rewritten.push(text), text.replaceAll(secret, "[key]"))))
      const ear = hearing(
        "ear",
        Effect.fnUntraced(function* ({ rewrite }, { tell }) {
          const content = rewrite === null ? "?" : yield* rewrite("heard sk-2")
          tell({ type: "heard", data: { content } })
          return { content, supplement: { content } }
        })
      )
      const eye = hearing("eye", () => Effect.succeed({ content: "seen sk-3" }))
      return withParts(
        [say("Hello.")],
        { state, parts: [once, ear, eye] },
        Effect.gen(function* () {
          const turn = yield* Turns.use((turns) => turns.start({ content: "sk-1", stream: true, options }))
          const events = yield* Stream.runCollect(turn.events)
          assert.notMatch(JSON.stringify(events), secret)
          assert.strictEqual((yield* transcript(turn.threadId))[0]?.[2], "[key]\n\nheard [key]\n\nseen [key]")
          assert.deepStrictEqual(rewritten, ["sk-1", "heard sk-2", "seen sk-3"])
          assert.notMatch(textIn(state), secret)
        })
      )
    }
  )

  it.effect("is not rewritten in a turn without such a part, which is told so", () =>
    withParts(
      [say("Hello.")],
      {
        parts: [
          hearing("ear", ({ rewrite }) => Effect.succeed({ content: rewrite === null ? "nobody rewrites" : "?" }))
        ]
      },
      Effect.gen(function* () {
        const reply = yield* send({ options: { ear: {} } })
        assert.strictEqual((yield* transcript(reply.threadId))[0]?.[2], "Hi\n\nnobody rewrites")
      })
    )
  )
})

describe("what a model reads besides the message", () => {
  const finder = part("finder", {
    recall: () =>
      Effect.succeed([{ name: "m", intro: "i", items: [{ text: "found sk-4", rank: 0 }], place: "turn", weight: 1 }])
  })
  const look: NonNullable<TestKernel.TestKernelOptions["hosted"]>[number] = {
    definition: { name: "look", description: null, parameters: null },
    run: () => Effect.succeed("looked sk-5")
  }

  it.effect("is rewritten: excerpts, outputs of hosted tools, outputs of the client's tools", () => {
    const state = InMemory.makeState()
    const sources: Array<TextSource["kind"]> = []
    const noting = guard((text, { kind }) => Effect.sync(() => (sources.push(kind), text.replaceAll(secret, "[key]"))))
    return withParts(
      [callTool("look", {}, "h1"), callTool("weather", {}, "c1"), say("Done.")],
      { state, parts: [noting, finder], hosted: [look] },
      Effect.gen(function* () {
        const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", tools: [weather] }))
        yield* turn.reply
        const outputs = [{ toolCallId: "c1", output: "weather sk-6" }]
        const next = yield* Turns.use((turns) => turns.submitToolOutputs({ threadId: turn.threadId, outputs }))
        assert.strictEqual((yield* next.reply).content, "Done.")
        assert.deepStrictEqual(sources, ["message", "recalled", "tool_output", "tool_output"])
        const asked = yield* requestsAsText
        for (const text of ["found [key]", "looked [key]", "weather [key]"]) assert.include(asked, text)
        assert.notMatch(asked, secret)
        assert.notMatch(textIn(state), secret)
      })
    )
  })

  it.effect("is rewritten as the model reads it: in an output that is JSON, also what is written as escapes", () => {
    const state = InMemory.makeState()
    const redacting = guard((text) => Effect.succeed(text.replaceAll(secret, "[key]")))
    return withParts(
      [callTool("weather", {}, "c1"), callTool("weather", {}, "c2"), say("Done.")],
      { state, parts: [redacting] },
      Effect.gen(function* () {
        const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", tools: [weather] }))
        yield* turn.reply
        const outputs = [{ toolCallId: "c1", output: '{"key":"\\u0073k\\u002d6"}' }]
        const next = yield* Turns.use((turns) => turns.submitToolOutputs({ threadId: turn.threadId, outputs }))
        yield* next.reply
        const prose = [{ toolCallId: "c2", output: "C:\\u0073 is no JSON" }]
        const last = yield* Turns.use((turns) => turns.submitToolOutputs({ threadId: turn.threadId, outputs: prose }))
        assert.strictEqual((yield* last.reply).content, "Done.")
        const [first, second] = (yield* ScriptedModel).requests
          .slice(-1)
          .flatMap(({ messages }) => messages)
          .flatMap((message) => (message.role === "tool" ? [message.output] : []))
        assert.deepStrictEqual([first, second], ['{"key":"[key]"}', "C:\\u0073 is no JSON"])
      })
    )
  })

  it.effect("is withheld if it cannot be rewritten, and the run goes on", () => {
    const state = InMemory.makeState()
    const failing = guard((text, { kind }) => (kind === "message" ? Effect.succeed(text) : Effect.die("a fault")))
    return withParts(
      [callTool("look", {}, "h1"), say("Done.")],
      { state, parts: [failing, finder], hosted: [look] },
      Effect.gen(function* () {
        const turn = yield* Turns.use((turns) => turns.start({ content: "Hi" }))
        assert.strictEqual((yield* turn.reply).content, "Done.")
        assert.include(yield* requestsAsText, "cannot be checked".replace("cannot", "could not"))
        assert.notMatch(textIn(state), secret)
        const { explanation } = yield* Turns.use((turns) => turns.report(turn.threadId, turn.runId))
        assert.deepInclude(explanation?.leftOut ?? [], {
          part: "finder",
          messages: 0,
          tokens: 0,
          because: "it could not be checked"
        })
      })
    )
  })

  it.effect("is rewritten where a hosted tool refuses a call, or asks a person, and withheld if it cannot be", () => {
    const state = InMemory.makeState()
    const refusing: HostedTool = {
      ...tool({ ...plainTool, name: "look", execute: () => "" }),
      needsApproval: () => Effect.fail(new HostedToolFailed({ message: "sk-1 is locked" }))
    }
    const asking = (name: string, message: string) =>
      tool({
        ...plainTool,
        name,
        execute: () => {
          throw new PersonAsked({ message, schema: { type: "object" }, state: null })
        }
      })
    const reads = guard((text) =>
      text.includes("secret") ? Effect.die("Broken") : Effect.succeed(text.replaceAll(secret, "[key]"))
    )
    return withParts(
      [callTools(["look", {}], ["ask", {}], ["ask_more", {}])],
      {
        state,
        parts: [reads],
        hosted: [refusing, asking("ask", "Is sk-2 right?"), asking("ask_more", "Is the secret right?")]
      },
      Effect.gen(function* () {
        const { toolCalls } = yield* send({})
        assert.deepStrictEqual(
          toolCalls.map(({ approval }) => approval?.question?.message),
          ["Is [key] right?"]
        )
        for (const output of ["[key] is locked", "could not be checked"]) assert.include(textIn(state), output)
        assert.notMatch(textIn(state), /sk-\d|the secret/u)
      })
    )
  })

  it.effect("of the client's tools is refused if it cannot be rewritten, and the run waits on", () => {
    const state = InMemory.makeState()
    const refusing = guard((text, { kind }) =>
      kind === "message"
        ? Effect.succeed(text)
        : Effect.fail(new TurnRefused({ part: "guard", reason: "invalid", problems: [{ path: [], message: "No." }] }))
    )
    return withParts(
      [callTool("weather", {}, "c1")],
      { state, parts: [refusing] },
      Effect.gen(function* () {
        const turn = yield* Turns.use((turns) => turns.start({ content: "Hi", tools: [weather] }))
        yield* turn.reply
        const outputs = [{ toolCallId: "c1", output: "weather sk-6" }]
        const submitted = Turns.use((turns) => turns.submitToolOutputs({ threadId: turn.threadId, outputs }))
        assert.deepInclude(yield* Effect.flip(submitted), { _tag: "TurnRefused", message: "No." })
        assert.notMatch(textIn(state), secret)
        const { run } = yield* Turns.use((turns) => turns.report(turn.threadId, turn.runId))
        assert.strictEqual(run.status, "REQUIRES_ACTION")
      })
    )
  })
})

describe("a part that cannot rewrite a message", () => {
  const forged = <A>(value: unknown): A => value as A
  const cases: ReadonlyArray<readonly [string, Rewriting]> = [
    [
      "throws",
      () => {
        throw new Error("a fault")
      }
    ],
    ["dies", () => Effect.die("a fault")],
    ["gives no text", () => Effect.succeed(forged(7))],
    ["hangs", () => Effect.uninterruptible(Effect.never)]
  ]
  for (const [title, rewrite] of cases) {
    it.effect(`${title}: the turn is refused, and nothing is stored`, () =>
      withParts(
        [],
        { parts: [guard(rewrite)] },
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(Effect.exit(send({ content: "sk-1" })), { startImmediately: true })
          yield* TestClock.adjust("31 seconds")
          assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
          yield* nothingStored
        })
      )
    )
  }
})

describe("a content that `decide` gives", () => {
  const giving = (name: string) =>
    part(name, { decide: () => Effect.succeed({ plan: null, content: "instead", allowsEmptyContent: true }) })

  const refusal = (parts: ReadonlyArray<TurnPart<null>>, content: string) =>
    withParts(
      [],
      { parts },
      Effect.gen(function* () {
        const refused = yield* Effect.flip(send({ content }))
        yield* nothingStored
        return refused
      })
    )

  it.effect("beside a text is refused in words", () =>
    Effect.map(refusal([giving("state")], "a text"), (refused) => {
      assert.deepInclude(refused, { _tag: "TurnRefused", part: "state", reason: "invalid" })
      assert.strictEqual(
        refused.message,
        'The part "state" gives a content for the message, but the message has a text. A part changes a text by its step "rewrite".'
      )
    })
  )

  it.effect("beside that of another part is refused in words", () =>
    Effect.map(refusal([giving("one"), giving("two")], ""), (refused) =>
      assert.include(
        refused.message,
        'The part "two" gives a content for the message, but the part "one" gives one too.'
      )
    )
  )
})

describe("what parts make of options", () => {
  const seen: Array<string> = []
  const noting = guard((text) => Effect.sync(() => (seen.push(text), text.replaceAll(secret, "[key]"))))

  it.effect("a content is rewritten once, whether its part does that before or leaves it to the kernel", () => {
    const state = InMemory.makeState()
    const giving = (content: (turn: TurnCase) => ReturnType<NonNullable<TurnCase["rewrite"]>>) =>
      part("state", {
        decide: (turn) => Effect.map(content(turn), (text) => ({ plan: null, content: text, allowsEmptyContent: true }))
      })
    const stored = (content: Parameters<typeof giving>[0]) =>
      withParts(
        [say("Hello.")],
        { state, parts: [noting, giving(content)] },
        Effect.gen(function* () {
          seen.length = 0
          const reply = yield* send({ content: "" })
          assert.strictEqual((yield* transcript(reply.threadId))[0]?.[2], "instead of [key]")
          assert.deepStrictEqual(seen, ["", "instead of sk-1"])
          assert.notMatch(textIn(state), secret)
          assert.notMatch(yield* requestsAsText, secret)
        })
      )
    return Effect.andThen(
      stored(() => Effect.succeed("instead of sk-1")),
      stored(({ rewrite }) => rewrite?.("instead of sk-1") ?? Effect.die("nobody rewrites"))
    )
  })

  it.effect("texts of options are rewritten before any step reads them, and kept so for another time", () => {
    const state = InMemory.makeState()
    const options: Array<unknown> = []
    const wishing = part("wish", {
      rewriteOptions: (given, rewrite) =>
        typeof given === "string" ? Effect.map(rewrite(given), (text) => ({ text })) : Effect.succeed(given),
      refuse: (turn) => Effect.sync(() => void options.push(turn.options)),
      listen: (turn) => Effect.sync(() => (options.push(turn.options), null)),
      decide: (turn) =>
        Effect.sync(() => (options.push(turn.options), { plan: null, content: JSON.stringify(turn.options) }))
    })
    return withParts(
      [say("Hello.")],
      { state, parts: [noting, wishing] },
      Effect.gen(function* () {
        seen.length = 0
        const reply = yield* send({ content: "", options: { wish: "a sk-2" } })
        assert.deepStrictEqual(options, [{ text: "a [key]" }, { text: "a [key]" }, { text: "a [key]" }])
        assert.strictEqual((yield* transcript(reply.threadId))[0]?.[2], '{"text":"a [key]"}')
        assert.deepStrictEqual(seen, ["", "a sk-2"])
        assert.notMatch(textIn(state), secret)
        assert.include(textIn(state), '"asked":{"wish":{"text":"a [key]"}}')
      })
    )
  })
})

describe("texts of people beside messages", () => {
  it.effect("an imported conversation is rewritten before it is stored: texts, arguments and outputs", () => {
    const state = InMemory.makeState()
    return withParts(
      [say("Hello.")],
      { state },
      Effect.gen(function* () {
        const { id: assistantId } = yield* Assistants.use((assistants) => assistants.create({ name: "A" }))
        const call = { id: "c1", name: "look", arguments: '{"key":"sk-2"}' }
        const { id: threadId } = yield* Conversations.use((conversations) =>
          conversations.import({
            assistantId,
            messages: [
              { role: "user", content: "My key is sk-1" },
              { role: "assistant", content: "I look for sk-1", toolCalls: [call] },
              { role: "tool", content: "found sk-3", toolCallId: "c1" },
              { role: "assistant", content: "It is sk-4" }
            ]
          })
        )
        yield* send({ threadId })
        assert.notMatch(textIn(state), secret)
        assert.notMatch(yield* requestsAsText, secret)
        assert.include(yield* requestsAsText, "found [key]")
      })
    )
  })

  it.effect("an import is refused if it cannot be rewritten, and nothing is stored", () =>
    withParts(
      [],
      { parts: [guard(() => Effect.fail(new TurnRefused({ part: "guard", reason: "invalid", problems: [] })))] },
      Effect.gen(function* () {
        const { id: assistantId } = yield* Assistants.use((assistants) => assistants.create({ name: "A" }))
        const refused = yield* Effect.flip(
          Conversations.use((conversations) =>
            conversations.import({ assistantId, messages: [{ role: "user", content: "Hi" }] })
          )
        )
        assert.strictEqual(refused._tag, "TurnRefused")
      })
    )
  )

  it.effect("a reason is rewritten once", () => {
    const pay = tool({ ...plainTool, name: "pay", needsApproval: true, execute: () => "done" })
    return withParts(
      [callTool("pay", {}, "c1"), say("Done.")],
      { parts: [guard((text) => Effect.succeed(`${text}!`))], hosted: [pay] },
      Effect.gen(function* () {
        const { runId, threadId } = yield* send({})
        const decisions = [{ toolCallId: "c1", decision: "reject" as const, reason: "too dear" }]
        yield* (yield* Turns.use((turns) => turns.decide({ threadId, runId, decisions }))).reply
        assert.include(yield* requestsAsText, 'Their reason: too dear!"')
      })
    )
  })

  it.effect(
    "reasons and arguments of a decision are rewritten, and the same decision once more changes nothing",
    () => {
      const state = InMemory.makeState()
      const ran: Array<unknown> = []
      const pay = tool({
        name: "pay",
        description: "Pays",
        parameters: { type: "object" },
        needsApproval: true,
        execute: (args) => {
          ran.push(args)
          return "done"
        }
      })
      return withParts(
        [callTools(["pay", {}, "c1"], ["pay", {}, "c2"]), say("Done.")],
        { state, hosted: [pay] },
        Effect.gen(function* () {
          const { runId, threadId } = yield* send({})
          const decide = (decisions: DecisionsRequest["decisions"]) =>
            Turns.use((turns) => turns.decide({ threadId, runId, decisions }))
          const approved = {
            toolCallId: "c1",
            decision: "approve" as const,
            arguments: { order: "sk-1", deep: [{ note: "for sk-2" }], count: 3 }
          }
          yield* decide([approved])
          yield* decide([approved])
          yield* (yield* decide([{ toolCallId: "c2", decision: "reject", reason: "because of sk-3" }])).reply
          assert.deepStrictEqual(ran, [{ order: "[key]", deep: [{ note: "for [key]" }], count: 3 }])
          assert.notMatch(textIn(state), secret)
          const asked = yield* requestsAsText
          assert.notMatch(asked, secret)
          assert.include(asked, "because of [key]")
        })
      )
    }
  )
})
