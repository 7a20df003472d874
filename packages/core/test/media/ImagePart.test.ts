/** How pictures join a turn: the tool, what it may be asked, what it costs, and pictures that a model makes by itself. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, callTools, draw, expect, say, ScriptedModel, type ScriptStep, uses } from "@colloquy/testing"
import {
  InsufficientCredit,
  Principal,
  StoreUnavailable,
  readSupplement,
  Threads,
  TurnRefused,
  Turns,
  type Usage
} from "@colloquy/core"
import {
  type ChatRequest,
  firstPage,
  type ImageRequest,
  ModelError,
  type ModelErrorReason,
  noUsage,
  UsageLedger
} from "@colloquy/core/adapters"
import { DocumentStore } from "@colloquy/core/documents"
import { mediaGenerated, mediaIn } from "@colloquy/core/media"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { cost, painted, painterKernel, type PainterOptions, png, type Services, withImages } from "./Painter.ts"
import { documentsIn } from "../support/DocumentRoom.ts"

const story = (
  title: string,
  options: PainterOptions,
  body: (asked: ReadonlyArray<ImageRequest>) => Effect.Effect<void, unknown, Services | Principal>
) =>
  it.effect(title, () => {
    const asked: Array<ImageRequest> = []
    return body(asked).pipe(Effect.provide(painterKernel(options, asked)), Principal.provide("ada"))
  })

const resultsIn = (request: ChatRequest): ReadonlyArray<string> =>
  request.messages.flatMap((message) => (message.role === "tool" ? [message.output] : []))

const imageTool = (request: ChatRequest) => request.tools.find(({ name }) => name === "generate_image")

/** The model calls the tool, and then looks at the result. */
const paintsOnce = (args: Record<string, unknown>, check: (result: string) => void): ReadonlyArray<ScriptStep> => [
  callTool("generate_image", JSON.stringify(args)),
  [expect((request) => check(resultsIn(request).at(-1) ?? "")), say("Here it is.")]
]

const described = {
  supportsVision: true,
  details: {
    supported_parameters: {
      aspect_ratio: { type: "enum", values: ["1:1", "16:9"] },
      n: { type: "range", min: 1, max: 2 },
      seed: { type: "boolean" },
      temperature: { type: "range", min: 0, max: 1 }
    }
  }
}

const refusedPaths = (image: object) =>
  Effect.gen(function* () {
    const refused = yield* Effect.flip((yield* Turns).send({ content: "Hi", options: { image: { ...image } } }))
    if (!(refused instanceof TurnRefused)) throw refused
    return refused.problems.map(({ path }) => path.join("."))
  })

describe("generate_image", () => {
  story(
    "stores a picture as a document, tells of it as it comes, keeps it with the answer and charges it",
    { steps: paintsOnce({ prompt: "A fox" }, (result) => assert.match(result, /"document_id":"[0-9a-f-]{36}"/u)) },
    (asked) =>
      Effect.gen(function* () {
        const turn = yield* (yield* Turns).start({ content: "Paint a fox.", options: withImages(), stream: true })
        const events = yield* Stream.runCollect(turn.events)
        const [told] = events.flatMap((event) => (event._tag === "PartTold" ? [event] : []))
        assert.strictEqual(told?.type, mediaGenerated)
        const reply = yield* turn.reply
        const [made, ...others] = mediaIn(reply.supplements["image"])
        assert.deepStrictEqual(others, [])
        assert.deepStrictEqual(told?.data, made)
        const [document] = yield* documentsIn(reply.threadId)
        assert.strictEqual(document?.id, made?.documentId)
        assert.deepInclude(document, { mimeType: "image/png", status: "completed", size: 9 })
        assert.deepInclude(asked[0], { provider: "painter", model: "oil", prompt: "A fox", inputs: [], options: {} })
        const { messages } = yield* (yield* Threads).get(reply.threadId)
        const stored = messages.at(-1)
        assert.deepStrictEqual(stored && mediaIn(readSupplement(stored, "image")?.value)[0], made)
        const { days } = yield* (yield* UsageLedger).recent(firstPage)
        assert.deepInclude(
          days.find(({ purpose }) => purpose === "image"),
          { model: "oil" }
        )
        assert.strictEqual(days.find(({ purpose }) => purpose === "image")?.usage.costUsd, cost)
      })
  )

  story(
    "is offered only in turns that ask for it",
    { steps: [[expect((request) => assert.deepStrictEqual(request.tools, [])), say("No.")]] },
    () => Effect.asVoid(Effect.flatMap(Turns, (turns) => turns.send({ content: "Paint." })))
  )

  story(
    "offers what the model's descriptors allow and the message has not fixed",
    {
      describe: () => described,
      steps: [
        [
          expect((request) => {
            const properties = imageTool(request)?.parameters?.["properties"]
            assert.deepStrictEqual(Object.keys(Object(properties)), ["prompt", "input_document_ids", "n", "seed"])
            assert.deepInclude(Object(properties), { n: { type: "integer", minimum: 1, maximum: 2 } })
          }),
          callTool("generate_image", { prompt: "A fox", n: 2, aspect_ratio: "1:1" })
        ],
        [expect((request) => assert.include(resultsIn(request)[0], "no effect: aspect_ratio")), say("Done.")]
      ],
      paint: () => Effect.succeed(painted(png(1), png(2)))
    },
    (asked) =>
      Effect.gen(function* () {
        const reply = yield* (yield* Turns).send({ content: "Paint.", options: withImages({ aspect_ratio: "16:9" }) })
        assert.deepStrictEqual(asked[0]?.options, { aspect_ratio: "16:9", n: 2 })
        assert.strictEqual(mediaIn(reply.supplements["image"]).length, 2)
      })
  )

  for (const [what, args, problem] of [
    ["no prompt", { prompt: " " }, "Give a prompt"],
    ["a value that the model does not take", { prompt: "A fox", n: 3 }, "n: The model takes 1 to 2"],
    [
      "an option that the model does not have",
      { prompt: "A fox", quality: "high" },
      "quality: The model does not take"
    ],
    ["documents that are no list of ids", { prompt: "A fox", input_document_ids: [7] }, "as a list of document ids"]
  ] as const) {
    story(
      `tells the model of ${what}, and asks nobody`,
      { describe: () => described, steps: paintsOnce(args, (result) => assert.include(result, problem)) },
      (asked) =>
        Effect.gen(function* () {
          const { status } = yield* (yield* Turns).send({ content: "Paint.", options: withImages() })
          assert.strictEqual(status, "COMPLETED")
          assert.deepStrictEqual(asked, [])
        })
    )
  }

  story(
    "takes pictures of the conversation as inputs, and nothing else",
    { steps: [callTool("generate_image", { prompt: "A fox" }), say("Here.")] },
    (asked) =>
      Effect.gen(function* () {
        const turns = yield* Turns
        const { append } = yield* ScriptedModel
        const first = yield* turns.send({ content: "Paint.", options: withImages() })
        const { threadId } = first
        const [fox] = mediaIn(first.supplements["image"])
        const again = (ids: ReadonlyArray<string>, result: RegExp) => {
          append(
            ...paintsOnce({ prompt: "Make it blue", input_document_ids: ids }, (text) => assert.match(text, result))
          )
          return turns.send({ content: "Blue.", threadId, options: withImages() })
        }
        yield* again([fox?.documentId ?? ""], /document_id/u)
        assert.deepStrictEqual(asked[1]?.inputs, [{ mediaType: "image/png", bytes: png(1) }])
        append(callTool("generate_image", { prompt: "A hen" }), say("Here."))
        const elsewhere = yield* turns.send({ content: "Paint.", options: withImages() })
        const [hen] = mediaIn(elsewhere.supplements["image"])
        yield* again([hen?.documentId ?? ""], /has no document/u)
        yield* again(["../../etc/passwd"], /has no document/u)
        assert.strictEqual(asked.length, 3)
      })
  )

  story(
    "keeps every picture of a turn, also of calls side by side",
    {
      steps: [
        [uses({ costUsd: 0.5 }), callTools(["generate_image", { prompt: "1" }], ["generate_image", { prompt: "2" }])],
        [uses({ costUsd: 0.5 }), say("Two.")]
      ]
    },
    () =>
      Effect.gen(function* () {
        const reply = yield* (yield* Turns).send({ content: "Paint two.", options: withImages() })
        const made = mediaIn(reply.supplements["image"])
        assert.strictEqual(new Set(made.map(({ documentId }) => documentId)).size, 2)
        assert.strictEqual((yield* documentsIn(reply.threadId)).length, 2)
        assert.closeTo(reply.usage.costUsd ?? 0, 2 * cost + 1, 1e-9)
      })
  )

  for (const [what, answer, result] of [
    [
      "a provider that fails",
      Effect.fail(new ModelError({ reason: "refused", provider: "painter", model: "oil" })),
      "refused to answer"
    ],
    [
      "a page of HTML",
      Effect.succeed(painted(new TextEncoder().encode("<html>Busy</html>"))),
      "no image of a known type"
    ],
    [
      "a picture that is too large",
      Effect.succeed(painted(new Uint8Array(200).fill(1).map((_, at) => png(1)[at] ?? 1))),
      "more than 100 bytes"
    ]
  ] as const) {
    story(
      `tells the model of ${what}, and the turn goes on`,
      {
        paint: () => answer,
        settings: { maxSize: { image: 100, audio: 1, video: 1 } },
        steps: paintsOnce({ prompt: "A fox" }, (text) => assert.include(text, result))
      },
      () =>
        Effect.gen(function* () {
          const reply = yield* (yield* Turns).send({ content: "Paint.", options: withImages() })
          assert.strictEqual(reply.status, "COMPLETED")
          assert.deepStrictEqual(mediaIn(reply.supplements["image"]), [])
          assert.deepStrictEqual(yield* documentsIn(reply.threadId), [])
        })
    )
  }

  const failing = (reason: ModelErrorReason, more: { readonly usage?: Usage; readonly status?: number } = {}) =>
    Effect.fail(new ModelError({ reason, provider: "painter", model: "oil", ...more }))
  for (const [what, answer, charged, result] of [
    ["that was refused", failing("refused"), [], "No picture was made"],
    ["that was refused for no known reason", failing("unknown", { status: 409 }), [], "No picture was made"],
    [
      "whose cost was told with the failure",
      failing("malformed", { usage: { ...noUsage, costUsd: 0.03 } }),
      [0.03],
      "may be charged"
    ],
    ["of which nobody knows whether it arrived", failing("timeout"), [null], "It is not known whether"],
    ["that takes too long", Effect.never, [null], "did not answer in time"]
  ] as const) {
    story(
      `a request ${what} is charged with what is known of its cost, and never sent again by itself`,
      { paint: () => answer, steps: paintsOnce({ prompt: "A fox" }, (text) => assert.include(text, result)) },
      (asked) =>
        Effect.gen(function* () {
          const turn = yield* (yield* Turns).start({ content: "Paint.", options: withImages(), stream: true })
          const reply = yield* Effect.forkChild(turn.reply, { startImmediately: true })
          yield* TestClock.adjust("6 minutes")
          assert.strictEqual((yield* Fiber.join(reply)).status, "COMPLETED")
          assert.lengthOf(asked, 1)
          const { days } = yield* (yield* UsageLedger).recent(firstPage)
          const costs = days.flatMap(({ purpose, usage }) => (purpose === "image" ? [usage.costUsd] : []))
          assert.deepStrictEqual(costs, [...charged])
        })
    )
  }

  story(
    "a request of a cancelled run is given up, and charged as one of which nobody knows the cost",
    { paint: () => Effect.never, steps: [callTool("generate_image", { prompt: "A fox" })] },
    () =>
      Effect.gen(function* () {
        const turns = yield* Turns
        const turn = yield* turns.start({ content: "Paint.", options: withImages(), stream: true })
        yield* TestClock.adjust("1 second")
        yield* turns.cancel(turn.threadId, turn.runId)
        const reply = yield* turn.reply
        assert.strictEqual(reply.status, "CANCELLED")
        assert.isNull(reply.usage.costUsd)
        const { days } = yield* (yield* UsageLedger).recent(firstPage)
        assert.deepStrictEqual(
          days.flatMap(({ purpose, usage }) => (purpose === "image" ? [usage.costUsd] : [])),
          [null]
        )
      })
  )

  const state = InMemory.makeState()
  const away = new StoreUnavailable({ operation: "DocumentStore.insert" })
  let refusals = 0
  story(
    "stores a picture again while the database is unavailable, because it is paid for",
    {
      state,
      stores: Layer.effect(
        DocumentStore,
        DocumentStore.useSync((store) => ({
          ...store,
          insert: (...args) =>
            Effect.suspend(() =>
              ++refusals < 5
                ? Effect.fail(away)
                : refusals === 5
                  ? // The record is written, and its answer is lost.
                    Effect.andThen(store.insert(...args), Effect.fail(away))
                  : store.insert(...args)
            )
        }))
      ).pipe(Layer.provideMerge(InMemory.layerFrom(state))),
      steps: paintsOnce({ prompt: "A fox" }, (result) => assert.match(result, /"document_id"/u))
    },
    (asked) =>
      Effect.gen(function* () {
        const turn = yield* (yield* Turns).start({ content: "Paint.", options: withImages(), stream: true })
        const reply = yield* Effect.forkChild(turn.reply, { startImmediately: true })
        yield* TestClock.adjust("10 seconds")
        const { status, supplements } = yield* Fiber.join(reply)
        assert.strictEqual(status, "COMPLETED")
        assert.lengthOf(mediaIn(supplements["image"]), 1)
        assert.lengthOf(yield* documentsIn(turn.threadId), 1)
        assert.lengthOf(asked, 1)
      })
  )

  const purposes: Array<string> = []
  story(
    "asks for credit first; without it the model reads so, and nobody is asked",
    {
      metering: {
        ensureCredit: ({ purpose }) => {
          purposes.push(purpose)
          return purpose === "image" ? Effect.fail(new InsufficientCredit()) : Effect.void
        },
        record: () => Effect.void
      },
      steps: paintsOnce({ prompt: "A fox" }, (result) => assert.include(result, "not enough credit"))
    },
    (asked) =>
      Effect.gen(function* () {
        const { status } = yield* (yield* Turns).send({ content: "Paint.", options: withImages() })
        assert.strictEqual(status, "COMPLETED")
        assert.deepStrictEqual(purposes, ["chat", "image"])
        assert.deepStrictEqual(asked, [])
      })
  )

  story(
    "names all that is wrong with its options, before anything is stored",
    { steps: [], describe: () => described },
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* refusedPaths({}), ["provider", "model"])
        assert.deepStrictEqual(yield* refusedPaths({ provider: "scripted", model: "oil" }), ["provider"])
        assert.deepStrictEqual(yield* refusedPaths({ provider: "painter", model: "oil", config: [] }), ["config"])
        const config = { n: 9, quality: "high", mood: "blue", aspect_ratio: "1:1" }
        assert.deepStrictEqual(yield* refusedPaths({ provider: "painter", model: "oil", config }), [
          "config.n",
          "config.quality",
          "config.mood"
        ])
        assert.deepStrictEqual(yield* (yield* Threads).list({ page: firstPage, includeMessages: false }), [])
      })
  )
})

describe("pictures that a conversation's model makes by itself", () => {
  story(
    "are stored, told and kept, also where nobody asked for the tool, and the thread can go on",
    { steps: [draw("image/png", png(7)), [expect((request) => void (later = request)), say("Yes.")]] },
    () =>
      Effect.gen(function* () {
        const turns = yield* Turns
        const reply = yield* turns.send({ content: "Draw." })
        assert.deepInclude(reply, { status: "COMPLETED", content: "" })
        const [made] = mediaIn(reply.supplements["image"])
        assert.deepInclude(made, { mediaType: "image", mimeType: "image/png" })
        assert.strictEqual((yield* documentsIn(reply.threadId))[0]?.id, made?.documentId)
        yield* turns.send({ content: "Nice?", threadId: reply.threadId })
        const roles = later?.messages.map(({ role }) => role)
        assert.strictEqual(roles?.at(0), "user")
        assert.isFalse(later?.messages.some((message) => message.role === "assistant" && message.content === ""))
      })
  )
  let later: ChatRequest | undefined

  story(
    "stand beside those of the tool, in their order",
    {
      steps: [
        [draw("image/png", png(1)), callTool("generate_image", { prompt: "A hen" })],
        [draw("image/png", png(3)), say("Three.")]
      ]
    },
    () =>
      Effect.gen(function* () {
        const reply = yield* (yield* Turns).send({ content: "Draw.", options: withImages() })
        const documents = yield* documentsIn(reply.threadId)
        const ids = mediaIn(reply.supplements["image"]).map(({ documentId }) => documentId)
        assert.deepStrictEqual(
          ids,
          documents.map(({ id }) => id)
        )
        assert.strictEqual(ids.length, 3)
      })
  )

  story(
    "that are no pictures fail the run where there is nothing else",
    {
      steps: [
        draw("image/png", new TextEncoder().encode("<svg/>")),
        [draw("image/png", Uint8Array.of(1)), say("Look.")]
      ]
    },
    () =>
      Effect.gen(function* () {
        const turns = yield* Turns
        const failed = yield* turns.send({ content: "Draw." })
        assert.deepInclude(failed.fault, { code: "output_not_supported" })
        assert.include(failed.fault?.message, "could not be kept")
        const spoken = yield* turns.send({ content: "Again.", threadId: failed.threadId })
        assert.strictEqual(spoken.status, "COMPLETED")
      })
  )
})
