import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { type Message, MessageId, RunId, ThreadId } from "@colloquy/core"
import { estimateTokens } from "@colloquy/core/adapters"
import { pack, messageSize, toUnits } from "../../src/prompts/ContextWindow.ts"
import { assemble, checkRoom, makePreamble, roomFor } from "../../src/prompts/PromptAssembly.ts"
import { describeModel } from "@colloquy/core/adapters"
import * as Result from "effect/Result"

const message = (sequence: number, runId: string | null, role: "user" | "assistant", tokens: number): Message => ({
  id: MessageId.make(`m${sequence}`),
  threadId: ThreadId.make("t"),
  runId: runId === null ? null : RunId.make(runId),
  role,
  content: `${sequence}`,
  status: "COMPLETED",
  fault: null,
  stopReason: null,
  toolCalls: [],
  toolResults: [],
  steps: [],
  supplements: null,
  provider: null,
  model: null,
  assistant: null,
  usage: null,
  metadata: null,
  tokens,
  createdAt: new Date(0),
  sequence
})

const nothing = { messages: 0, tokens: 0 }

/** Question and answer for each size. */
const threadWithSizes = (sizes: ReadonlyArray<number>): ReadonlyArray<Message> =>
  sizes.flatMap((tokens, index) => [
    message(2 * index + 1, `r${index}`, "user", tokens),
    message(2 * index + 2, `r${index}`, "assistant", tokens)
  ])

/** What a store gives of a thread: the newest messages of so many tokens, cut anywhere. */
const newestWindow = (thread: ReadonlyArray<Message>, tokens: number) => {
  let from = thread.length
  for (let left = tokens; from > 0; from--) {
    left -= thread[from - 1]?.tokens ?? 0
    if (left < 0) break
  }
  const older = thread.slice(0, from)
  return {
    messages: thread.slice(from),
    older: { messages: from, tokens: older.reduce((sum, each) => sum + each.tokens, 0) }
  }
}

const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 })))

describe("the size of a message", () => {
  it("counts each call and each step as two messages more", () => {
    const plain = message(1, null, "assistant", 100)
    const ofOne = messageSize(plain) - 100
    const call = { id: "c", name: "look", arguments: "{}" }
    const step = { text: "", toolCalls: [call], hostedResults: [], providerData: null }
    assert.strictEqual(messageSize({ ...plain, toolCalls: [call, call] }), 100 + ofOne * 5)
    assert.strictEqual(messageSize({ ...plain, steps: [step, step, step] }), 100 + ofOne * 7)
    assert.isAbove(ofOne, 0)
  })
})

describe("units of a conversation", () => {
  it("hold everything that one run wrote", () => {
    const units = toUnits([...threadWithSizes([1, 1]), message(5, null, "user", 1), message(6, null, "user", 1)])
    assert.deepStrictEqual(
      units.map((unit) => unit.messages.map((each) => each.sequence)),
      [[1, 2], [3, 4], [5], [6]]
    )
  })

  it("hold what another turn put between the messages of a run, in the order of the thread", () => {
    const units = toUnits([
      message(1, "a", "user", 1),
      message(2, "b", "user", 1),
      message(3, "a", "assistant", 1),
      message(4, "c", "user", 1),
      message(5, "a", "assistant", 1),
      message(6, "d", "user", 1)
    ])
    assert.deepStrictEqual(
      units.map((unit) => unit.messages.map((each) => each.sequence)),
      [[1, 2, 3, 4, 5], [6]]
    )
  })

  it("hold also what that turn writes later", () => {
    const units = toUnits([
      message(1, "a", "user", 1),
      message(2, "b", "user", 1),
      message(3, null, "user", 1),
      message(4, "a", "assistant", 1),
      message(5, "b", "assistant", 1)
    ])
    assert.deepStrictEqual(
      units.map((unit) => unit.messages.map((each) => each.sequence)),
      [[1, 2, 3, 4, 5]]
    )
  })
})

describe("packing", () => {
  it.prop(
    "keeps the newest whole units that fit, and accounts for every message",
    [Sizes, Schema.Int],
    ([sizes, seed]) => {
      const thread = threadWithSizes(sizes)
      const budget = Math.abs(seed) % 3000
      const { messages, older } = newestWindow(thread, 2000)
      const packed = pack(toUnits(messages), older, budget, 250)
      const kept = packed.kept.flatMap((unit) => unit.messages)
      assert.isAtMost(packed.keptTokens, budget)
      assert.strictEqual(
        packed.keptTokens,
        kept.reduce((sum, each) => sum + messageSize(each), 0)
      )
      assert.strictEqual(packed.leftOut.messages + kept.length, thread.length)
      assert.deepStrictEqual(kept, thread.slice(thread.length - kept.length))
      if (kept.length > 0) assert.strictEqual(kept[0]?.role, "user")
      for (const { runId } of kept) {
        assert.strictEqual(kept.filter((each) => each.runId === runId).length, 2)
      }
      const lost = thread.slice(0, packed.leftOut.messages).reduce((sum, each) => sum + each.tokens, 0)
      assert.strictEqual(packed.leftOut.tokens, lost)
    }
  )

  it.prop("leaves nothing out that fits", [Sizes], ([sizes]) => {
    const thread = threadWithSizes(sizes)
    const all = thread.reduce((sum, each) => sum + messageSize(each), 0)
    assert.strictEqual(pack(toUnits(thread), nothing, all, 10).kept.length, sizes.length)
  })

  it.prop("keeps at least half of what would fit", [Sizes, Schema.Int], ([sizes, seed]) => {
    const units = toUnits(threadWithSizes(sizes))
    const budget = Math.abs(seed) % 3000
    const most = pack(units, nothing, budget, 1).keptTokens
    assert.isAtLeast(pack(units, nothing, budget, Math.max(1, budget >> 3)).keptTokens * 2, most)
  })

  it("leaves out an answer whose question the store has left out, and no more", () => {
    const thread = threadWithSizes([100, 100, 100])
    const packedFrom = (from: number, older = { messages: from, tokens: from * 100 }) => {
      const { kept, leftOut } = pack(toUnits(thread.slice(from)), older, 10_000, 1)
      return { kept: kept.flatMap((unit) => unit.messages.map(({ sequence }) => sequence)), leftOut }
    }
    assert.deepStrictEqual(packedFrom(1), { kept: [3, 4, 5, 6], leftOut: { messages: 2, tokens: 200 } })
    assert.deepStrictEqual(packedFrom(2), { kept: [3, 4, 5, 6], leftOut: { messages: 2, tokens: 200 } })
    assert.deepStrictEqual(packedFrom(1, nothing).kept, [2, 3, 4, 5, 6])
    assert.deepStrictEqual(pack([], { messages: 3, tokens: 30 }, 100, 1).leftOut, { messages: 3, tokens: 30 })
  })

  it("leaves out a whole stride, unless less than half of what fits would be left", () => {
    const turn = 2 * messageSize(message(1, null, "user", 100))
    const keptCount = (budget: number, stride: number, turns = 6, older = nothing) =>
      pack(toUnits(threadWithSizes(Array.from({ length: turns }, () => 100))), older, budget, stride).kept.length
    assert.strictEqual(keptCount(3 * turn, 1), 3)
    assert.strictEqual(keptCount(3 * turn, 400), 2)
    assert.strictEqual(keptCount(3 * turn, 500), 3)
    // Exactly half.
    assert.strictEqual(keptCount(4 * turn, 800), 2)
    // The store has left out a part of a stride already.
    assert.strictEqual(keptCount(10_000, 400, 3, { messages: 2, tokens: 200 }), 2)
    assert.strictEqual(keptCount(10_000, 400, 3), 3)
  })

  it("begins at the same message for many turns in a row while the thread grows", () => {
    const forPrompt = 4000
    const starts: Array<number> = []
    for (let turns = 1; turns <= 200; turns++) {
      const thread = threadWithSizes(Array.from({ length: turns }, (_, index) => 10 + (index % 7)))
      const { messages, older } = newestWindow(thread, forPrompt)
      const { kept } = pack(toUnits(messages), older, forPrompt - 100, forPrompt >> 3)
      starts.push(kept[0]?.messages[0]?.sequence ?? 0)
    }
    const changes = starts.filter((start, index) => index > 0 && start !== starts[index - 1]).length
    assert.isTrue(starts.every((start, index) => index === 0 || start >= (starts[index - 1] ?? 0)))
    // 200 turns of 26 tokens (and 8 around them) fill the window once and lose a bit more than half of it; a stride is 500 tokens.
    assert.isAtMost(changes, 6)
    assert.isAbove(starts.at(-1) ?? 0, 1)
  })
})

describe("a prompt", () => {
  const counter = { count: (text: string) => text.length }
  const info = describeModel({ name: "m", provider: "p", modelType: "llm", contextLimit: 1000, maxOutputTokens: 100 })
  const room = roomFor(info, 8000)
  const input = (thread: ReadonlyArray<Message>, system: string) => ({
    preamble: makePreamble(system, [], counter),
    room,
    provider: "p",
    model: "m",
    runId: RunId.make(`r${thread.length / 2 - 1}`),
    history: newestWindow(thread, room.forPrompt),
    steps: [],
    asides: [],
    recalled: [],
    rendered: () => undefined,
    counter
  })

  it("keeps room for the answer: the model's own limit, and at most a quarter of the window", () => {
    assert.deepStrictEqual(room, { contextLimit: 1000, reservedForAnswer: 100, forPrompt: 900 })
    assert.strictEqual(roomFor({ ...info, maxOutputTokens: 900 }, 0).reservedForAnswer, 250)
    assert.deepStrictEqual(roomFor({ ...info, contextLimit: null, maxOutputTokens: null }, 8000), {
      contextLimit: null,
      reservedForAnswer: 2000,
      forPrompt: 6000
    })
  })

  it.prop("never drops the current turn, and fits", [Sizes, Schema.String], ([sizes, system]) => {
    const thread = threadWithSizes(sizes.length === 0 ? [1] : sizes)
    const result = assemble(input(thread, system))
    if (Result.isFailure(result)) {
      const current = thread.slice(-2).reduce((sum, each) => sum + messageSize(each), 0)
      assert.isAbove(current + system.length + 4, room.forPrompt)
      assert.deepInclude(result.failure, { _tag: "ContextTooLong", available: 900, model: "m" })
      assert.isAbove(result.failure.needed, 900)
      return
    }
    const { explanation, messages, promptTokens } = result.success
    assert.isAtMost(promptTokens, room.forPrompt)
    assert.deepStrictEqual(
      messages.slice(-2).map((each) => each.role),
      ["user", "assistant"]
    )
    assert.strictEqual(
      explanation.parts.reduce((sum, part) => sum + part.tokens, 0),
      promptTokens
    )
    const counted = explanation.parts.reduce((sum, part) => sum + (part.part === "system" ? 0 : part.messages), 0)
    assert.strictEqual(counted + (explanation.leftOut[0]?.messages ?? 0), thread.length)
  })

  it("that is accepted before anything is stored is accepted when it is assembled", () => {
    for (let size = 850; size <= 900; size++) {
      const preamble = makePreamble("", [], counter)
      const checked = checkRoom(preamble, size, room, "m")
      const first = [message(1, "r0", "user", size)]
      const assembled = assemble({ ...input(threadWithSizes([1]), ""), history: { messages: first, older: nothing } })
      assert.strictEqual(Result.isSuccess(checked), Result.isSuccess(assembled), `${size}`)
    }
  })
})

describe("the estimate of tokens", () => {
  it("errs high, for plain text, code and other scripts", () => {
    assert.strictEqual(estimateTokens(""), 0)
    // What a common tokenizer gives, or a little more.
    assert.isAtLeast(estimateTokens("The quick brown fox jumps over the lazy dog."), 10)
    assert.isAtLeast(estimateTokens("const x = () => { return [1, 2, 3] }"), 17)
    assert.isAtLeast(estimateTokens('{"id":"550e8400-e29b-41d4-a716-446655440000","n":[1,2]}'), 35)
    assert.isAtLeast(estimateTokens("aGVsbG8gd29ybGQsIGhvdyBhcmUgeW91IQ=="), 20)
    assert.isAtLeast(estimateTokens("Geschwindigkeitsbegrenzung"), 8)
    assert.isAtLeast(estimateTokens("こんにちは世界"), 7)
    assert.isAtLeast(estimateTokens("👩‍👩‍👧"), 6)
    // And not so much more that prose would lose half of its window.
    assert.isAtMost(estimateTokens("The quick brown fox jumps over the lazy dog."), 20)
  })
})
