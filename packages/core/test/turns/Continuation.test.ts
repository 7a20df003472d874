/** An answer that the provider breaks off to go on with: the model is asked again with what it has, and not forever. */
import { finish, remembers, say, ScriptedModel } from "@colloquy/testing"
import { Turns } from "@colloquy/core"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { story, transcript } from "../support/Story.ts"

const send = Turns.use((turns) => turns.send({ content: "?" }))

describe("an answer that goes on", () => {
  story(
    "is one answer for the client, and the model gets back what it had, words or none",
    [
      [remembers("searching"), finish("continue")],
      [say("I found "), remembers("found"), finish("continue")],
      say("it.")
    ],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { status, threadId } = yield* send
      assert.strictEqual(status, "COMPLETED")
      const said = (content: string, data: string) => ({
        role: "assistant",
        content,
        toolCalls: [],
        providerData: { provider: "scripted", data }
      })
      const parts = [said("", "searching"), said("I found ", "found")]
      assert.deepStrictEqual<ReadonlyArray<unknown>>(
        model.requests.map(({ messages }) => messages.slice(1)),
        [[], parts.slice(0, 1), parts]
      )
      assert.deepStrictEqual(yield* transcript(threadId), [
        ["user", "COMPLETED", "?"],
        ["assistant", "COMPLETED", "I found it."]
      ])
    })
  )

  story(
    "stays in the history of later turns",
    [[remembers("searching"), finish("continue")], say("Here."), say("Next.")],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { threadId } = yield* send
      yield* (yield* Turns).send({ content: "more", threadId })
      assert.deepStrictEqual(model.requests[2]?.messages.slice(0, 2), model.requests[1]?.messages)
    })
  )

  const again = [remembers("still at it"), finish("continue")]
  story(
    "ends as a failure when it never ends",
    [again, again, again],
    Effect.gen(function* () {
      const { fault, status } = yield* send
      const model = yield* ScriptedModel
      assert.deepStrictEqual([status, model.requests.length], ["FAILED", 3])
      assert.include(fault?.message, "2 rounds")
    }),
    { settings: { hostedRounds: 2 } }
  )
})
