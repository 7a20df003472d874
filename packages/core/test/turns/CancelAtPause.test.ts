import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, gate, ScriptedModel } from "@colloquy/testing"
import { Turns } from "@colloquy/core"
import { RunStore } from "@colloquy/core/adapters"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { story, transcript, weather } from "../support/Story.ts"

/** What happens between the noting of a wish to cancel and the kernel's next step. */
let meanwhile: Effect.Effect<unknown> = Effect.void

const stores = Layer.effect(
  RunStore,
  Effect.map(RunStore, (store) => ({
    ...store,
    requestCancel: (...args: Parameters<typeof store.requestCancel>) =>
      Effect.tap(store.requestCancel(...args), () => meanwhile)
  }))
).pipe(Layer.provideMerge(InMemory.layer))

describe("a cancel that meets a run on its way to a pause", () => {
  story(
    "ends the pause too",
    [[gate(), callTool("weather")]],
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const turns = yield* Turns
      const turn = yield* turns.start({ content: "Hi", tools: [weather], stream: true })
      yield* model.reached()
      meanwhile = Effect.andThen(model.release(), Stream.runDrain(Stream.orDie(turn.events)))
      const run = yield* turns.cancel(turn.threadId, turn.runId)
      assert.strictEqual(run.status, "CANCELLED")
      assert.strictEqual((yield* transcript(turn.threadId))[1]?.[1], "CANCELLED")
    }),
    { stores }
  )
})
