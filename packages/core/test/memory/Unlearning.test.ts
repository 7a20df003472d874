/** A rewind that forgets: what was learned from what it took back is undone, once, also when the learning comes later. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { say } from "@colloquy/testing"
import { Conversations, MessageId, Principal, ThreadId, Threads, Turns } from "@colloquy/core"
import { Memories } from "@colloquy/core/memory"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { learns, memoryKernel, operations, remembered, settle, tell } from "./MemoryKernel.ts"

describe("a rewind", () => {
  it.effect("that forgets removes what was added and restores what was changed; without it the source follows", () => {
    const steps = [
      ...learns("Hi.", { op: "ADD", text: "The user lives in Oslo.", message: 1, quote: "Oslo" }),
      ...learns("Oh.", { op: "UPDATE", target: 1, text: "The user lives in Bergen.", message: 1, quote: "Bergen" }),
      ...learns("Nice.", { op: "ADD", text: "The user likes tea.", message: 1, quote: "tea" }),
      say("Late."),
      say(operations({ op: "ADD", text: "The user likes rain.", message: 1, quote: "rain" }))
    ]
    return Effect.gen(function* () {
      const [conversations, turns, threads] = [yield* Conversations, yield* Turns, yield* Threads]
      const { assistantId, threadId } = yield* tell("I live in Oslo.")
      const more = (content: string) => turns.send({ content, threadId, options: { memory: { mode: "Auto" } } })
      for (const content of ["I moved to Bergen.", "I like tea."]) {
        yield* more(content)
        yield* settle
      }
      assert.deepStrictEqual(yield* remembered(assistantId), ["The user lives in Bergen.", "The user likes tea."])
      const { messages } = yield* threads.get(threadId)
      const at = (place: number) => messages[place]?.id ?? MessageId.make("none")
      const first = yield* conversations.rewind({ threadId, messageId: at(3) })
      const listed = (yield* (yield* Memories).list(assistantId, null)).memories
      assert.strictEqual(listed[1]?.source?.threadId, first.keptAs ?? ThreadId.make("none"))
      assert.strictEqual(listed[0]?.source?.threadId, threadId)
      // The learning of this turn is still to come when it is taken back.
      yield* more("I like rain.")
      yield* conversations.rewind({ threadId, messageId: at(1), keep: false, forget: true })
      yield* settle
      yield* settle
      const left = yield* remembered(assistantId)
      assert.include(left, "The user lives in Oslo.")
      assert.notInclude(left, "The user lives in Bergen.")
      assert.notInclude(left, "The user likes rain.")
    }).pipe(
      Effect.provide(memoryKernel(steps, InMemory.makeState(), { model: { otherwise: say("{}") } })),
      Principal.provide("ada"),
      Effect.scoped
    )
  })
})
