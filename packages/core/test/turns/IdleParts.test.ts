/**
 * Parts that are installed and have nothing to do. A part says so at a look (`concerns`) and is asked nothing more; every room of this
 * package does, so that a turn costs what it costs without them.
 */
import { FileExtractor } from "@colloquy/adapters/files"
import { InMemory } from "@colloquy/adapters/in-memory"
import { say, ScriptedModel, type ScriptStep, TestKernel } from "@colloquy/testing"
import { Assistants, Kernel, Principal, type TurnPart, TurnParts, type TurnRequest, Turns } from "@colloquy/core"
import { firstPage } from "@colloquy/core/adapters"
import { Answers } from "@colloquy/core/answers"
import { Documents } from "@colloquy/core/documents"
import { Images, Videos } from "@colloquy/core/media"
import { Memory } from "@colloquy/core/memory"
import { Voice } from "@colloquy/core/voice"
import { WebSearch } from "@colloquy/core/web-search"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { concernedParts } from "../../src/turns/PartDecisions.ts"
import type { TurnCase } from "../../src/turns/TurnPart.ts"
import { quiet } from "../support/Story.ts"

/** Notes what it is asked, and would take part in every turn. */
const asked = (steps: Array<string>, concerns: NonNullable<TurnPart<null>["concerns"]>): TurnPart<null> => ({
  name: "asked",
  plan: Schema.Null,
  concerns: (turn) => (steps.push("concerns"), concerns(turn)),
  refuse: () => Effect.sync(() => void steps.push("refuse")),
  listen: () => Effect.sync(() => (steps.push("listen"), null)),
  decide: () => Effect.sync(() => (steps.push("decide"), { plan: null })),
  recall: () => Effect.sync(() => (steps.push("recall"), []))
})

const withPart = <A, E>(
  part: TurnPart<null>,
  body: Effect.Effect<A, E, TestKernel.Services | Principal>,
  script: ReadonlyArray<ScriptStep> = [say("Hi.")]
) =>
  body.pipe(
    Principal.provide("ada"),
    Effect.provide([TurnParts.part(part).pipe(Layer.provideMerge(TestKernel.layer(script)), Layer.fresh), quiet])
  )

const send = (request: Partial<TurnRequest>) => Turns.use((turns) => turns.send({ content: "Hello", ...request }))

describe("a part that says at a look that a turn does not concern it", () => {
  it.effect("is asked nothing more, and the turn goes on", () => {
    const steps: Array<string> = []
    return withPart(
      asked(steps, ({ content }) => content.includes("password")),
      Effect.gen(function* () {
        assert.strictEqual((yield* send({})).content, "Hi.")
        assert.deepStrictEqual(steps, ["concerns"])
      })
    )
  })

  it.effect("is asked everything where it is concerned, and sees its own options at that look", () => {
    const steps: Array<string> = []
    return withPart(
      asked(steps, ({ options }) => options === "please"),
      Effect.gen(function* () {
        yield* send({ options: { asked: "please" } })
        assert.deepStrictEqual(steps, ["concerns", "refuse", "listen", "decide", "recall"])
      })
    )
  })

  it.effect("stops the turn with a fault, before anything is stored", () => {
    const steps: Array<string> = []
    const fault = () => {
      throw new Error("a fault of the part")
    }
    return withPart(
      asked(steps, fault),
      Effect.gen(function* () {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(send({}))))
        assert.deepStrictEqual(yield* Assistants.use((assistants) => assistants.list(firstPage)), [])
        assert.deepStrictEqual(steps, ["concerns"])
      }),
      []
    )
  })
})

/** Sees every turn, as the parts that are asked beside it do. */
const witness = (cases: Array<TurnCase>): TurnPart<null> => ({
  name: "witness",
  plan: Schema.Null,
  decide: (turn) => Effect.sync(() => (cases.push(turn), null))
})

const documents = Layer.provide(Documents.layer(), FileExtractor.layer())
const rooms = Layer.mergeAll(
  Answers.layer(),
  Memory.layer(),
  Images.layer(),
  Videos.layer(),
  Voice.layer(),
  WebSearch.layer(null)
).pipe(Layer.provideMerge(documents))
const names = ["answers", "documents", "image", "memory", "search", "video", "voice"]

/** The names of the rooms that are concerned, of those installed. */
const concernedBy = (change: (turn: TurnCase) => TurnCase) => {
  const cases: Array<TurnCase> = []
  const kernel = TurnParts.part(witness(cases)).pipe(
    Layer.provideMerge(rooms),
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(ScriptedModel.layer([say("Hi.")])),
    Layer.provideMerge(InMemory.layer),
    Layer.fresh
  )
  return Effect.gen(function* () {
    yield* send({})
    const [turn] = cases
    if (turn === undefined) return yield* Effect.die(new Error("The witness was not asked."))
    const all = (yield* TurnParts).all()
    assert.deepStrictEqual(
      all.map(({ name }) => name),
      [...names, "witness"]
    )
    const concerned = concernedParts(all, change(turn)).map(({ name }) => name)
    return concerned.filter((name) => name !== "witness")
  }).pipe(Principal.provide("ada"), Effect.provide([kernel, quiet]))
}

describe("the rooms of a kernel", () => {
  it.effect("are not concerned by a message that asks nothing of them", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* concernedBy((turn) => turn), [])
    })
  )

  it.effect("are concerned by a message that speaks to them", () =>
    Effect.gen(function* () {
      const options = Object.fromEntries(names.map((name) => [name, {}]))
      const found = yield* concernedBy((turn) => ({ ...turn, request: { ...turn.request, options } }))
      assert.deepStrictEqual(found, names)
    })
  )

  it.effect("documents are concerned wherever the thread or its assistant has one", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* concernedBy((turn) => ({ ...turn, hasDocuments: true })), ["documents"])
    })
  )
})
