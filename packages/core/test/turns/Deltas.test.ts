/** How the pieces of an answer become events of the run's log. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, finish, pause, say, think } from "@colloquy/testing"
import { type HostedTool, Kernel, Principal, Providers, Turns } from "@colloquy/core"
import type { ChatEvent } from "@colloquy/core/adapters"
import { outputsPartName } from "@colloquy/core/outputs"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { storedLog, storedRun, story, tags, weather } from "../support/Story.ts"

const said = (text: string): ChatEvent => ({ _tag: "TextDelta", text })
const finished: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }

/** What the provider sends, in the groups in which it arrives. */
const arrivals: ReadonlyArray<readonly [ChatEvent, ...ReadonlyArray<ChatEvent>]> = [
  [said("One, "), said("two, "), { _tag: "ReasoningDelta", text: "Hm." }, said("three, ")],
  [said("four.")],
  [finished]
]

const kernel = Layer.fresh(Kernel.layer).pipe(
  Layer.provide(
    Providers.layer({
      providers: [{ id: "p", chat: () => Stream.fromIterable(arrivals).pipe(Stream.flatMap(Stream.fromArray)) }],
      defaults: { provider: "p", model: "m" }
    })
  ),
  Layer.provideMerge(InMemory.layer)
)

const loggedDeltas = (stream: boolean) =>
  Effect.gen(function* () {
    const turn = yield* (yield* Turns).start({ content: "Count", stream })
    assert.strictEqual((yield* turn.reply).content, "One, two, three, four.")
    const log = yield* storedLog(turn)
    return log.flatMap((event) => (event._tag === "TextDelta" ? [event.text] : []))
  }).pipe(Principal.provide("ada"), Effect.provide(kernel))

describe("deltas in the log", () => {
  it.effect("of a turn that is not streamed hold what arrived together, in its order", () =>
    Effect.map(loggedDeltas(false), (texts) => assert.deepStrictEqual(texts, ["One, two, ", "three, ", "four."]))
  )

  it.effect("of a streamed turn are those of the provider", () =>
    Effect.map(loggedDeltas(true), (texts) => assert.deepStrictEqual(texts, ["One, ", "two, ", "three, ", "four."]))
  )
})

const clockTool = (run: HostedTool["run"]): HostedTool => ({
  definition: { name: "clock", description: null, parameters: null },
  run
})
const noon = clockTool(() => Effect.succeed("12:00"))

describe("the texts of an answer", () => {
  story(
    "are separated where a call stands between them, and not where the provider breaks off and goes on",
    [[say("Wait."), callTool("clock")], [say("It is "), finish("continue")], say("noon.")],
    Effect.gen(function* () {
      const reply = yield* (yield* Turns).send({ content: "?" })
      assert.strictEqual(reply.content, "Wait.\n\nIt is noon.")
    }),
    { hosted: [noon] }
  )

  story(
    "do not begin with a blank line when the first one was withdrawn",
    [callTool("clock"), say("It is noon."), say('{"hour":12}')],
    Effect.gen(function* () {
      const options = { [outputsPartName]: { schema: { type: "object" } } }
      const turn = yield* (yield* Turns).start({ content: "?", options })
      assert.strictEqual((yield* turn.reply).content, '{"hour":12}')
      assert.include(tags(yield* storedLog(turn)), "AnswerWithdrawn")
    }),
    { hosted: [noon] }
  )
})

describe("a call of the model", () => {
  const begun = Deferred.makeUnsafe<void>()
  const told = Deferred.makeUnsafe<string>()
  story(
    "is stored while its tool runs, long before a write without it would be due",
    [callTool("clock"), say("Noon.")],
    Effect.gen(function* () {
      const turn = yield* (yield* Turns).start({ content: "?" })
      yield* Deferred.await(begun)
      yield* TestClock.adjust("1 millis")
      assert.includeMembers([...tags(yield* storedLog(turn))], ["ToolCallReady", "StepEnded"])
      yield* Deferred.succeed(told, "12:00")
      assert.strictEqual((yield* turn.reply).content, "Noon.")
    }),
    { hosted: [clockTool(() => Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(told)))] }
  )
})

describe("the time of the first token", () => {
  story(
    "is that of the first text or call, not of a thought; null where there was neither",
    [
      [think("Hm."), pause("2 seconds"), say("Hello"), pause("3 seconds"), say(".")],
      [pause("4 seconds"), callTool("weather")],
      think("Hm.")
    ],
    Effect.gen(function* () {
      const turns = yield* Turns
      const firstToken = Effect.gen(function* () {
        const before = yield* Clock.currentTimeMillis
        const sending = yield* Effect.forkChild(turns.send({ content: "?", tools: [weather] }))
        yield* TestClock.adjust("10 seconds")
        const { firstTokenAt } = yield* storedRun(yield* Fiber.join(sending))
        return firstTokenAt === null ? null : firstTokenAt.getTime() - before
      })
      assert.deepStrictEqual([yield* firstToken, yield* firstToken, yield* firstToken], [2000, 4000, null])
    })
  )
})
