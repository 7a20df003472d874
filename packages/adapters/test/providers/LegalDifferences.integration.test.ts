/**
 * What the contracts of chat drivers, embedding drivers and rerankers permit. Each line of the tables is a difference from a sound adapter that
 * the port allows: no case of its suite may find anything.
 */
import {
  type ChatDriver,
  type ChatEvent,
  type ChatRequest,
  type EmbeddingDriver,
  ModelError,
  noUsage
} from "@colloquy/core/adapters"
import type { Reranked, RerankerPort } from "@colloquy/core/memory"
import type { ChatSuiteOptions, ChatVendor, EmbeddingVendor, RerankVendor } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { chatDriverCases } from "../../../testing/src/contracts/ChatDriverContract.ts"
import { type TakeCase, usualPatience } from "../../../testing/src/contracts/DriverChecks.ts"
import { embeddingDriverCases } from "../../../testing/src/contracts/EmbeddingDriverContract.ts"
import { rerankerCases } from "../../../testing/src/contracts/RerankerContract.ts"
import { chatVendor } from "./ChatVendors.ts"
import { embeddingVendor, vendors as embeddingVendors } from "./EmbeddingVendors.ts"
import { rerankVendor, vendors as rerankVendors } from "./RerankVendors.ts"
import { anthropic } from "./vendors/Anthropic.ts"

/** What the cases say of an adapter, with their titles. */
const foundBy = (cases: (test: TakeCase) => void) =>
  Effect.gen(function* () {
    const all: Array<readonly [title: string, run: () => Effect.Effect<void, unknown, Scope.Scope>]> = []
    cases((title, run) => void all.push([title, run]))
    assert.isAbove(all.length, 5)
    const found: Array<string> = []
    for (const [title, run] of all) {
      const exit = yield* Effect.exit(Effect.scoped(run()))
      if (Exit.isFailure(exit)) found.push(`${title}: ${String(Cause.squash(exit.cause))}`)
    }
    return found
  })

const permits = (what: string, cases: (test: TakeCase) => void) =>
  it.effect(what, () => Effect.map(foundBy(cases), (found) => assert.deepStrictEqual(found, [])), 60_000)

// ------ chat

type TextEvent = Extract<ChatEvent, { readonly _tag: "ReasoningDelta" | "TextDelta" }>

const isText = (event: ChatEvent): event is TextEvent => event._tag === "TextDelta" || event._tag === "ReasoningDelta"

const telling =
  (change: (event: ChatEvent, request: ChatRequest) => ReadonlyArray<ChatEvent>) =>
  (driver: ChatDriver): ChatDriver =>
  (request) =>
    Stream.flatMap(driver(request), (event) => Stream.fromIterable(change(event, request)))

/** Two deltas of one kind that follow each other, as one. */
const inPairs =
  (driver: ChatDriver): ChatDriver =>
  (request) =>
    Stream.suspend(() => {
      let held: TextEvent | null = null
      const release = Stream.suspend(() => {
        const event = held
        held = null
        return Stream.fromIterable(event === null ? [] : [event])
      })
      const paired = Stream.flatMap(driver(request), (event): Stream.Stream<ChatEvent> => {
        if (!isText(event)) return Stream.concat(release, Stream.make(event))
        const before = held
        held = before?._tag === event._tag ? null : event
        if (before === null) return Stream.empty
        return Stream.make(held === null ? { ...event, text: before.text + event.text } : before)
      })
      const failing = Stream.catch(paired, (error) => Stream.concat(release, Stream.fail(error)))
      return Stream.concat(failing, release)
    })

const wholeText =
  (driver: ChatDriver): ChatDriver =>
  (request) =>
    Stream.unwrap(
      Effect.map(Stream.runCollect(driver(request)), (events) => {
        const text = events.map((event) => (event._tag === "TextDelta" ? event.text : "")).join("")
        const reasoning = events.map((event) => (event._tag === "ReasoningDelta" ? event.text : "")).join("")
        return Stream.fromIterable<ChatEvent>([
          { _tag: "ReasoningDelta", text: reasoning },
          { _tag: "TextDelta", text },
          ...events.filter((event) => !isText(event))
        ])
      })
    )

const own = (id: string): string => `own-${id}`

const ownIds = telling((event) => {
  if (event._tag === "ToolCallReady") return [{ ...event, call: { ...event.call, id: own(event.call.id) } }]
  return event._tag === "ToolCallStart" || event._tag === "ToolCallDelta" ? [{ ...event, id: own(event.id) }] : [event]
})

const inCharacters = telling((event) => {
  if (isText(event)) return ["", ...Array.from(event.text), ""].map((text) => ({ ...event, text }))
  if (event._tag !== "ToolCallDelta") return [event]
  return ["", ...Array.from(event.arguments)].map((args) => ({ ...event, arguments: args }))
})

const alive = telling((event) =>
  event._tag === "Usage" || event._tag === "Finished"
    ? [event]
    : [{ _tag: "KeepAlive" }, { _tag: "Usage", usage: noUsage }, event]
)

const wholeCalls = telling((event) => (event._tag === "ToolCallDelta" ? [] : [event]))

const twoFigures = telling((event) =>
  event._tag === "Usage" ? [{ ...event, usage: { ...event.usage, cachedInputTokens: 0, reasoningTokens: 0 } }] : [event]
)

const slow =
  (driver: ChatDriver): ChatDriver =>
  (request) =>
    Stream.tap(driver(request), () => Effect.sleep("20 millis"))

const chatDifferences: ReadonlyArray<
  readonly [what: string, change: (sound: ChatDriver) => ChatDriver, cannot?: ChatSuiteOptions["cannot"]]
> = [
  [
    "tells each character, empty deltas and usage on the way, and gives calls ids of its own",
    (driver) => alive(inCharacters(ownIds(driver)))
  ],
  ["is slow, tells two deltas as one, and calls without deltas", (driver) => slow(inPairs(wholeCalls(driver)))],
  [
    "does not stream, and tells only input and output tokens",
    (driver) => wholeText(twoFigures(driver)),
    {
      streaming: "the provider answers when it is done",
      "reasoning before each text": "the provider tells all reasoning before the text",
      "cached and reasoning tokens": "the provider does not tell them"
    }
  ],
  [
    "does not tell usage",
    telling((event) => (event._tag === "Usage" ? [] : [event])),
    { usage: "the provider does not tell it" }
  ]
]

describe("the contract of chat drivers permits one that", () => {
  for (const [what, change, cannot = {}] of chatDifferences) {
    const open = Effect.map(chatVendor(anthropic), (vendor): ChatVendor => ({
      ...vendor,
      driver: change(vendor.driver)
    }))
    permits(what, (test) => chatDriverCases(test, open, { cannot: { ...anthropic.cannot, ...cannot } }, usualPatience))
  }
})

// ------ embeddings

const embedding =
  (change: (embed: EmbeddingDriver["embed"]) => EmbeddingDriver["embed"]) =>
  (driver: EmbeddingDriver): EmbeddingDriver => ({ ...driver, embed: change((request) => driver.embed(request)) })

const withUnitLength = (vector: Float32Array): Float32Array => {
  const length = Math.hypot(...vector)
  return vector.map((each) => each / length)
}

const fieldsIn = ({ model, provider, reason, retryAfterMillis, status }: ModelError) => ({
  model,
  provider,
  reason,
  ...(status === undefined ? {} : { status }),
  ...(retryAfterMillis === undefined ? {} : { retryAfterMillis })
})

const embeddingDifferences: ReadonlyArray<
  readonly [what: string, change: (sound: EmbeddingDriver) => EmbeddingDriver]
> = [
  [
    "is slow, gives vectors unit length, and does not read the words of an error",
    embedding(
      (embed) => (request) =>
        embed(request).pipe(
          Effect.delay("30 millis"),
          Effect.map((reply) => ({ ...reply, vectors: reply.vectors.map(withUnitLength) })),
          Effect.mapError((error) =>
            error.status === 400 ? new ModelError({ ...fieldsIn(error), reason: "invalid_request" }) : error
          )
        )
    )
  ],
  ["takes one text at a time", (driver) => ({ ...driver, maxTexts: 1, maxCharacters: 1 })]
]

describe("the contract of embedding drivers permits one that", () => {
  const cohere = embeddingVendors.find(({ name }) => name === "Cohere") ?? assert.fail("no Cohere")
  for (const [what, change] of embeddingDifferences) {
    const open = Effect.map(embeddingVendor(cohere), (vendor): EmbeddingVendor => ({
      ...vendor,
      driver: change(vendor.driver)
    }))
    permits(what, (test) => embeddingDriverCases(test, open))
  }
})

// ------ rerankers

type Order = Reranked["order"]

const ordering =
  (change: (order: Order, texts: ReadonlyArray<string>) => Order) =>
  (port: RerankerPort): RerankerPort => ({
    ...port,
    rerank: (request) =>
      Effect.map(port.rerank(request), (reply) => ({ ...reply, order: change(reply.order, request.texts) }))
  })

const rerankDifferences: ReadonlyArray<readonly [what: string, change: (sound: RerankerPort) => RerankerPort]> = [
  ["gives the best text alone", ordering((order) => order.slice(0, 1))],
  [
    "gives every text",
    ordering((order, texts) => {
      const rest = [...texts.keys()].filter((index) => order.every((each) => each.index !== index))
      return order.length === 0 ? order : [...order, ...rest.map((index) => ({ index, score: null }))]
    })
  ],
  ["gives all the same score", ordering((order) => order.map(({ index }) => ({ index, score: 0.5 })))],
  [
    "gives scores from 0 to 1 by their place",
    ordering((order) => order.map(({ index }, at) => ({ index, score: 1 / (at + 1) })))
  ],
  [
    "costs nothing",
    (port) => ({
      model: null,
      rerank: (request) => Effect.map(port.rerank(request), (reply) => ({ ...reply, charge: null }))
    })
  ],
  [
    "is paid for the search, and not for tokens",
    (port) => ({
      ...port,
      rerank: (request) =>
        Effect.map(port.rerank(request), (reply) => ({
          ...reply,
          charge: reply.charge === null ? null : { ...reply.charge, usage: { ...noUsage, costUsd: 0.002 } }
        }))
    })
  ],
  ["is slow", (port) => ({ ...port, rerank: (request) => Effect.delay(port.rerank(request), "100 millis") })]
]

describe("the contract of rerankers permits one that", () => {
  const cohere = rerankVendors["cohere"] ?? assert.fail("no Cohere")
  for (const [what, change] of rerankDifferences) {
    const open = Effect.map(rerankVendor(cohere), (vendor): RerankVendor => ({ ...vendor, port: change(vendor.port) }))
    permits(what, (test) => rerankerCases(test, open, { scores: true }))
  }
})
