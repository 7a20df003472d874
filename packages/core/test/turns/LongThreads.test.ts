import { InMemory } from "@colloquy/adapters/in-memory"
import { say, ScriptedModel } from "@colloquy/testing"
import { type Message, MessageId, Turns } from "@colloquy/core"
import { type History } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { story } from "../support/Story.ts"
import { watchedStores } from "../support/WatchedStores.ts"

/** What the stores were asked, and how many messages they gave. */
const observed = (state: InMemory.State) => {
  const calls: Array<string> = []
  let given = 0
  const stores = watchedStores(state, (operation, call) =>
    Effect.map(call, (answer) => {
      if (operation !== "runs.renew") calls.push(operation)
      given += historyIn(answer)?.messages.length ?? 0
      return answer
    })
  )
  const taken = () => {
    const result = { calls: [...calls], given }
    calls.length = 0
    given = 0
    return result
  }
  return { stores, taken }
}

const historyIn = (answer: unknown): History | undefined =>
  typeof answer === "object" && answer !== null && "history" in answer ? (answer.history as History) : undefined

/** Messages as ten thousand turns would have left them. */
const fill = (state: InMemory.State, threadId: Message["threadId"], count: number) => {
  const thread = state.threads.get(threadId)
  const sample = thread?.messages[0]
  if (thread === undefined || sample === undefined) throw new Error("There is no thread to fill.")
  for (let n = thread.messages.length; n < count; n++) {
    const role = n % 2 === 0 ? "user" : "assistant"
    thread.messages.push({ ...sample, id: MessageId.make(`m${n}`), runId: null, role, sequence: n + 1, tokens: 10 })
    thread.tokens += 10
  }
}

describe("a turn", () => {
  const small = InMemory.makeState()
  const watch = observed(small)
  story(
    "without tools on a thread costs one model call and three store calls: load, write, settle",
    [say("1"), say("2", "3")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const { threadId } = yield* turns.send({ content: "1" })
      watch.taken()
      yield* turns.send({ content: "2", threadId })
      assert.deepStrictEqual(watch.taken().calls, ["assistants.ofThread", "runs.begin", "runs.settle"])
      assert.strictEqual((yield* ScriptedModel).requests.length, 2)
    }),
    { stores: watch.stores }
  )

  const large = InMemory.makeState()
  const watchLarge = observed(large)
  story(
    "on a thread of ten thousand messages is given and sends no more than the window holds, and makes no more calls",
    [say("1"), say("2"), say("3")],
    Effect.gen(function* () {
      const turns = yield* Turns
      const model = yield* ScriptedModel
      const { threadId } = yield* turns.send({ content: "1" })
      fill(large, threadId, 10_000)
      watchLarge.taken()
      const reply = yield* turns.send({ content: "2", threadId })
      const { calls, given } = watchLarge.taken()
      assert.deepStrictEqual(calls, ["assistants.ofThread", "runs.begin", "runs.settle"])
      // 950 tokens for the prompt, ten for each message.
      assert.isAtMost(given, 96)
      assert.isAtMost(model.requests[1]?.messages.length ?? 0, given)
      assert.isAbove(model.requests[1]?.messages.length ?? 0, 40)
      const { explanation } = yield* turns.report(threadId, reply.runId)
      const parts = explanation?.parts.reduce((sum, part) => sum + (part.part === "system" ? 0 : part.messages), 0) ?? 0
      assert.strictEqual(parts + (explanation?.leftOut[0]?.messages ?? 0), 10_001)
      yield* turns.send({ content: "3", threadId })
    }),
    { stores: watchLarge.stores, model: { info: { contextLimit: 1000, maxOutputTokens: 50 } } }
  )
})
