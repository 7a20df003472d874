/** When the budget of the day is used up, nothing else is begun that costs: tools say so, learning and vectors wait, sessions end. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, expect, say, ScriptedModel, uses } from "@colloquy/testing"
import { Assistants, type HostedTool, noQuota, Principal, Quotas, Turns } from "@colloquy/core"
import {
  ChargeId,
  chargeOfCost,
  type ChatMessage,
  FollowUpStore,
  newId,
  noUsage,
  UsageLedger
} from "@colloquy/core/adapters"
import { Documents } from "@colloquy/core/documents"
import { Memories } from "@colloquy/core/memory"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import { byteStream, embedLetters, memoryStorage, roomOver } from "../support/DocumentRoom.ts"
import { painterKernel, withImages } from "../media/Painter.ts"
import { learns, memoryKernel, settle, tell } from "../memory/MemoryKernel.ts"
import { storedRun, story } from "../support/Story.ts"
import { slowStores } from "../support/WatchedStores.ts"

const dear: HostedTool = {
  definition: { name: "dear", description: "Costs", parameters: { type: "object", properties: {} } },
  run: (_, call) =>
    Effect.match(call.ensureCredit({ purpose: "dear", amountUsd: 0.3 }), {
      onSuccess: () => "bought",
      onFailure: ({ message }) => `refused: ${message}`
    })
}

/** Asks, and spends what it was permitted. */
const buying = (amountUsd: number): HostedTool => ({
  definition: { name: "buy", description: "Costs", parameters: { type: "object", properties: {} } },
  run: (_, call) =>
    Effect.match(call.ensureCredit({ purpose: "buy", amountUsd }), {
      onSuccess: () => {
        call.spend(chargeOfCost({ provider: "p", model: "m", purpose: "buy" }, amountUsd))
        return "bought"
      },
      onFailure: ({ message }) => `refused: ${message}`
    })
})

const outputsIn = (messages: ReadonlyArray<ChatMessage>) =>
  messages.flatMap((message) => (message.role === "tool" ? [message.output] : []))

/** Something that was spent today. */
const spend = (costUsd: number, inputTokens = 0) =>
  Effect.gen(function* () {
    const usage = { ...noUsage, inputTokens, costUsd }
    yield* (yield* UsageLedger).add(
      yield* newId(ChargeId),
      [{ provider: "p", model: "m", purpose: "chat", usage }],
      null
    )
  })

const free = uses({ inputTokens: 1, outputTokens: 1, costUsd: 0 })

describe("the budget of the day", () => {
  story(
    "is reserved by tools in the order in which they ask, also by calls at the same time",
    [
      [callTools(["dear", {}], ["dear", {}]), free],
      [
        expect(({ messages }) => {
          const told = messages.flatMap((message) => (message.role === "tool" ? [message.output] : []))
          assert.strictEqual(told.filter((output) => output === "bought").length, 1)
          assert.match(told.find((output) => output !== "bought") ?? "", /refused: The budget of the day is used up/u)
        }),
        say("Done."),
        free
      ]
    ],
    Effect.gen(function* () {
      yield* (yield* Turns).send({ content: "?" })
    }),
    { quota: { usdPerDay: 0.5 }, hosted: [dear] }
  )

  story(
    "does not count twice what the run may spend at most",
    [
      [callTool("dear", {}), free],
      [callTool("dear", {}), free],
      [
        expect(({ messages }) => assert.include(JSON.stringify(messages.at(-1)), "US dollars a run")),
        say("Done."),
        free
      ]
    ],
    Effect.gen(function* () {
      yield* (yield* Turns).send({ content: "?" })
    }),
    { quota: { usdPerRun: 0.5 }, hosted: [dear] }
  )

  story(
    "counts once what a tool was permitted to spend and has spent",
    [
      [callTool("buy", {}), free],
      [callTool("buy", {}), free],
      [expect(({ messages }) => assert.deepStrictEqual(outputsIn(messages), ["bought", "bought"])), say("Done."), free]
    ],
    Effect.gen(function* () {
      const { fault, status } = yield* storedRun(yield* (yield* Turns).send({ content: "?" }))
      assert.deepStrictEqual([status, fault], ["COMPLETED", null])
    }),
    { quota: { usdPerDay: 1, usdPerRun: 1 }, hosted: [buying(0.4)] }
  )

  const noCost = uses({ inputTokens: 1, outputTokens: 1, costUsd: null })
  story(
    "counts what tools have spent also where the model's vendor tells no costs",
    [
      [callTool("buy", {}), noCost],
      [callTool("buy", {}), noCost],
      [
        expect(({ messages }) => assert.include(JSON.stringify(messages.at(-1)), "US dollars a run")),
        say("Done."),
        noCost
      ]
    ],
    Effect.gen(function* () {
      yield* (yield* Turns).send({ content: "?" })
    }),
    { quota: { usdPerRun: 0.7 }, hosted: [buying(0.4)] }
  )

  story(
    "of a run is not passed by two calls that ask the store at the same time",
    [
      [callTools(["buy", {}], ["buy", {}]), free],
      [
        expect(({ messages }) =>
          assert.strictEqual(outputsIn(messages).filter((output) => output === "bought").length, 1)
        ),
        say("Done."),
        free
      ]
    ],
    Effect.gen(function* () {
      yield* (yield* Turns).send({ content: "?" })
    }),
    { quota: { usdPerRun: 0.5 }, hosted: [buying(0.4)], stores: slowStores(InMemory.makeState()) }
  )

  it.effect("stops learning, which goes on when the day has ended", () => {
    const learning = Effect.gen(function* () {
      yield* spend(0, 10_000)
      const { assistantId, runId } = yield* tell("I like tea")
      const memories = yield* Memories
      const waiting = Option.getOrThrow(yield* memories.operation(runId))
      assert.strictEqual(waiting.status, "PENDING")
      const [followUp] = yield* (yield* FollowUpStore).list("memory.learn", { skip: 0, limit: 10 })
      assert.include(followUp?.lastError, "The budget of the day is used up")
      yield* TestClock.adjust("10 minutes")
      yield* settle
      assert.strictEqual(Option.getOrThrow(yield* memories.operation(runId)).status, "COMPLETED")
      assert.strictEqual((yield* memories.list(assistantId, null)).total, 1)
    }).pipe(
      Effect.provide(
        Layer.provide(
          memoryKernel(
            learns("Fine.", { op: "ADD", text: "Likes tea", message: 1, quote: "I like tea" }),
            InMemory.makeState()
          ),
          Layer.succeed(Quotas, () => ({ ...noQuota, tokensPerDay: 10_000 }))
        )
      ),
      Principal.provide("ada")
    )
    // The kernel is opened five minutes before the end of the day, because its timers tick through all hours.
    return Effect.andThen(TestClock.adjust("1435 minutes"), learning)
  })

  it.effect("leaves a document without vectors and says so, and messages do not wait for it", () =>
    Effect.gen(function* () {
      const { storage } = yield* memoryStorage
      const counted: Array<number> = []
      const embed: typeof embedLetters = (request) => (counted.push(request.texts.length), embedLetters(request))
      const room = roomOver(storage, { embed }).pipe(
        Layer.provide(Layer.succeed(Quotas, () => ({ ...noQuota, usdPerDay: 1 })))
      )
      yield* Effect.gen(function* () {
        const { id } = yield* (yield* Assistants).create({ name: "a" })
        yield* spend(1)
        const documents = yield* Documents
        const { id: documentId } = yield* documents.upload({
          scope: { _tag: "Assistant", assistantId: id },
          filename: "a.txt",
          bytes: byteStream("Some words.")
        })
        yield* TestClock.adjust("1 second")
        const document = yield* documents.get(documentId)
        assert.strictEqual(document.status, "completed")
        assert.include(document.statusMessage, "found by its words alone for now. The budget of the day is used up")
        assert.deepStrictEqual(counted, [])
      }).pipe(Effect.provide(room), Effect.scoped)
    }).pipe(Principal.provide("ada"))
  )
})

describe("the room for documents", () => {
  it.effect("is looked at before a picture is paid for, and the model is told", () => {
    const asked: Array<never> = []
    return Effect.gen(function* () {
      yield* (yield* Turns).send({ content: "Draw", options: withImages() })
      assert.deepStrictEqual(asked, [])
      assert.include(
        JSON.stringify((yield* ScriptedModel).requests.at(-1)?.messages),
        "The user has used up the room for documents"
      )
    }).pipe(
      Effect.provide(
        painterKernel(
          { steps: [callTool("generate_image", { prompt: "a fox" }), say("No room.")], quota: { bytes: 0 } },
          asked
        )
      ),
      Principal.provide("ada")
    )
  })
})
