/**
 * What the contracts of chat drivers, embedding drivers and rerankers say of a single fault. Each line of the tables is a fault in an adapter
 * that is sound otherwise, the case that finds it, and the beginning of the sentence that its author reads.
 */
import {
  type ChatDriver,
  type ChatEvent,
  type ChatRequest,
  type ContentPart,
  type EmbeddingDriver,
  ModelError,
  noUsage
} from "@colloquy/core/adapters"
import type { RerankerPort } from "@colloquy/core/memory"
import type { ChatVendor, EmbeddingVendor, RerankVendor } from "@colloquy/testing/contracts"
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

type Fault<Adapter> = readonly [
  what: string,
  change: (sound: Adapter) => Adapter,
  foundBy: string,
  says: string,
  /** Of a driver that never does what is waited for. */
  patience?: number
]

type Cases = (test: TakeCase, patience: number) => void

/** What the case says first; null: it finds nothing. */
const saidBy = (cases: Cases, title: string, patience: number) =>
  Effect.gen(function* () {
    const found: Array<Effect.Effect<void, unknown, Scope.Scope>> = []
    cases((each, run) => void (each === title && found.push(run())), patience)
    const exit = yield* Effect.exit(found[0] ?? Effect.die(new Error(`There is no case "${title}".`)))
    if (Exit.isSuccess(exit)) return null
    const error = Cause.squash(exit.cause)
    return error instanceof Error ? error.message : String(error)
  })

const finds = <Adapter>(
  who: string,
  faults: ReadonlyArray<Fault<Adapter>>,
  casesWith: (change: (sound: Adapter) => Adapter) => Cases
) =>
  describe(`the contract of a ${who} tells of one that`, () => {
    for (const [what, change, foundBy, says, patience = usualPatience] of faults) {
      it.effect(what, () =>
        Effect.gen(function* () {
          const sentence = (yield* saidBy(casesWith(change), foundBy, patience)) ?? assert.fail("It found nothing.")
          const begins = `The ${who} ${says}`
          assert.strictEqual(sentence.slice(0, begins.length), begins)
          assert.match(sentence, /It must .+\.$/u)
        })
      )
    }
  })

/** As an author without types could write it. */
const forged = <A>(value: unknown): A => value as A

const leaking = (error: ModelError): ModelError => new ModelError({ ...fieldsOf(error), code: "<html>sk-of-the-host" })
const fieldsOf = ({ model, provider, reason }: ModelError) => ({ model, provider, reason })

/** Goes on with what was asked, whoever has left. */
const detached = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatten(Effect.promise(() => Effect.runPromiseExit(effect)))

// ------ chat

const asking =
  (change: (request: ChatRequest) => Partial<ChatRequest>) =>
  (driver: ChatDriver): ChatDriver =>
  (request) =>
    driver({ ...request, ...change(request) })

const withContent =
  (change: (content: ReadonlyArray<ContentPart>) => ReadonlyArray<ContentPart>) =>
  ({ messages }: ChatRequest): Partial<ChatRequest> => ({
    messages: messages.map((each) => (each.role === "user" ? { ...each, content: change(each.content) } : each))
  })

const telling =
  (change: (event: ChatEvent) => unknown) =>
  (driver: ChatDriver): ChatDriver =>
  (request) =>
    Stream.flatMap(driver(request), (event) =>
      Stream.fromIterable(forged<ReadonlyArray<ChatEvent>>([change(event)].flat()))
    )

const failing =
  (change: (error: ModelError) => ModelError) =>
  (driver: ChatDriver): ChatDriver =>
  (request) =>
    Stream.mapError(driver(request), change)

const finished = (fields: object) => telling((event) => (event._tag === "Finished" ? { ...event, ...fields } : event))

const whole = "MUST send every text of the prompt, those of messages in their order"
const pictures = "MUST send a picture between the texts of its message"
const call = "MUST tell one call in two pieces, from its start to the whole arguments"
const page = "MUST NOT finish, and not fail with a defect, on a page of HTML with 200"
const needs = "MUST send back what the provider needs back with its answer, and nothing of another provider"
const refused =
  "MUST fail with overloaded when the provider says so, after one request, without any text of the provider"
const collected =
  (driver: ChatDriver): ChatDriver =>
  (request) =>
    Stream.unwrap(Effect.map(Stream.runCollect(driver(request)), (events) => Stream.fromIterable(events)))

const chatFaults: ReadonlyArray<Fault<ChatDriver>> = [
  [
    "sends another question",
    asking(() => ({ messages: [{ role: "user", content: [{ type: "text", text: "x" }] }] })),
    whole,
    'did not send the question ("Grüße 🌊 When is high water?").'
  ],
  ["asks another model", asking(() => ({ model: "other" })), whole, 'did not send the name of the model ("model-1").'],
  ["drops the system prompt", asking(() => ({ system: null })), whole, "did not send the system prompt"],
  ["drops the tools", asking(() => ({ tools: [] })), whole, "did not send the description of a tool"],
  [
    "drops the outputs of tools",
    asking(({ messages }) => ({ messages: messages.filter(({ role }) => role !== "tool") })),
    whole,
    'did not send the output of a tool ("At half past nine").'
  ],
  [
    "turns the conversation around",
    asking(({ messages }) => ({ messages: messages.toReversed() })),
    whole,
    'sent the text of an answer ("Let me look it up.") before what it follows.'
  ],
  [
    "drops `toolChoice`",
    asking(() => ({ toolChoice: "auto" })),
    "MUST tell the provider `toolChoice`",
    'sent with `toolChoice` as "required" the same request as without it.'
  ],
  [
    "drops `maxOutputTokens`",
    asking(() => ({ maxOutputTokens: null })),
    "MUST tell the provider `maxOutputTokens`",
    "sent with `maxOutputTokens` as 4321 the same request as without it."
  ],
  [
    "drops `sampling`",
    asking(() => ({ sampling: {} })),
    "MUST tell the provider `sampling`",
    'sent with `sampling` as {"temperature":0.25} the same request as without it.'
  ],
  [
    "drops `thinking`",
    asking(() => ({ thinking: null })),
    "MUST tell the provider `thinking`",
    'sent with `thinking` as {"effort":"high"} the same request as without it.'
  ],
  [
    "drops pictures",
    asking(withContent((content) => content.filter(({ type }) => type === "text"))),
    pictures,
    "did not send the bytes of a picture"
  ],
  [
    "sends pictures before texts",
    asking(withContent((content) => content.toSorted((a, b) => a.type.localeCompare(b.type)))),
    pictures,
    'sent the bytes of a picture ("iVBORw0KGgo=") before what it follows.'
  ],
  [
    "ignores the customer's key",
    asking(() => ({ apiKey: null })),
    "MUST ask with the customer's own key if there is one",
    "did not send the `apiKey` of the request."
  ],
  [
    "names another tool at the start of a call",
    telling((event) => (event._tag === "ToolCallStart" ? { ...event, name: "zzz" } : event)),
    call,
    'named the tool "zzz" at the start of a call of "get_time".'
  ],
  [
    "tells a call twice",
    telling((event) => (event._tag === "ToolCallReady" ? [event, event] : event)),
    call,
    'told twice that the call "call_time" is ready.'
  ],
  [
    "does not start a call",
    telling((event) => (event._tag === "ToolCallStart" ? [] : event)),
    call,
    'told a delta of the call "call_time" before its start.'
  ],
  [
    "finishes twice",
    telling((event) => (event._tag === "Finished" ? [event, event] : event)),
    "MUST tell text",
    "told `Finished` after `Finished`."
  ],
  [
    "loses a text",
    telling((event) => (event._tag === "TextDelta" ? [] : event)),
    "MUST tell text",
    'told `text` as "" on the answer "text". It must tell it as "Good morning."'
  ],
  [
    "tells reasoning after the text",
    (driver) => (request) =>
      Stream.unwrap(
        Effect.map(Stream.runCollect(driver(request)), (events) =>
          Stream.fromIterable(
            events.toSorted((a, b) => Number(b._tag === "TextDelta") - Number(a._tag === "TextDelta"))
          )
        )
      ),
    "MUST tell reasoning, then text",
    'told `kinds` as ["text","reasoning"] on the answer "reasoning, then text".'
  ],
  [
    "gives two calls one id",
    telling((event) => {
      if (event._tag === "ToolCallReady") return { ...event, call: { ...event.call, id: "call" } }
      return event._tag === "ToolCallStart" || event._tag === "ToolCallDelta" ? { ...event, id: "call" } : event
    }),
    "MUST tell two calls whose pieces interleave, from its start to the whole arguments",
    'told the start of the call "call" twice.'
  ],
  [
    "tells other arguments than it told in deltas",
    telling((event) => (event._tag === "ToolCallDelta" ? { ...event, arguments: "[" } : event)),
    call,
    'told the deltas "[[" of a call with the arguments'
  ],
  [
    "loses what was used",
    telling((event) => (event._tag === "Usage" ? [] : event)),
    "MUST tell text",
    'told `usage` as null on the answer "text".'
  ],
  [
    "loses which tokens were cached",
    telling((event) =>
      event._tag === "Usage" ? { ...event, usage: { ...event.usage, cachedInputTokens: 0 } } : event
    ),
    "MUST tell cached and reasoning tokens",
    "told `usageDetails` as {"
  ],
  ["loses the model", finished({ model: null }), "MUST tell the model that answered", "told `model` as null"],
  ["loses what the provider needs back", finished({ providerData: null }), needs, "told no `providerData`"],
  [
    "does not send back what the provider needs back",
    asking(({ messages }) => ({
      messages: messages.map((each) => (each.role === "assistant" ? { ...each, providerData: null } : each))
    })),
    needs,
    'did not send back "c2ln" with the answer that had it.'
  ],
  [
    "sends what another provider needs back",
    asking(({ messages }) => ({
      messages: messages.map((each) =>
        each.role === "assistant" && each.providerData !== null
          ? { ...each, providerData: { ...each.providerData, provider: "vendor" } }
          : each
      )
    })),
    needs,
    "sent `providerData` of another provider."
  ],
  [
    "puts text of the provider into an error",
    failing(leaking),
    refused,
    "put text of the provider into its error on a refusal for the reason overloaded"
  ],
  [
    "fails on a page with its text",
    failing(leaking),
    page,
    "put text of the provider into its error on a page of HTML with 200"
  ],
  [
    "puts text of the provider into the error of a lost connection",
    failing(leaking),
    "MUST NOT finish an answer that loses its connection",
    'put text of the provider into its error on the answer "loses its connection"'
  ],
  [
    "takes a lost connection for a wrong key",
    failing((error) => new ModelError({ ...fieldsOf(error), reason: "auth" })),
    "MUST NOT finish an answer that breaks off with an error",
    'told `error` as "auth" on the answer "breaks off with an error".'
  ],
  [
    "puts a key into `forOperator`",
    failing((error) => new ModelError({ ...fieldsOf(error), forOperator: "sk-of-the-host" })),
    refused,
    "put the host's key into its error on"
  ],
  [
    "leaves out the status",
    failing((error) => new ModelError({ ...fieldsOf(error), retryAfterMillis: 7000 })),
    refused,
    "told no `status` in its error on a refusal for the reason overloaded."
  ],
  [
    "does not say when to ask again",
    failing((error) => new ModelError({ ...fieldsOf(error), status: 529 })),
    refused,
    "told `retryAfterMillis` as undefined on a refusal for the reason overloaded."
  ],
  [
    "tells a wrong reason",
    failing((error) => new ModelError({ ...fieldsOf(error), reason: "unknown" })),
    refused,
    'told `reason` as "unknown" on a refusal for the reason overloaded. It must tell it as "overloaded".'
  ],
  [
    "has a defect in place of an error",
    (driver) => (request) => Stream.catchCause(driver(request), Stream.die),
    refused,
    "has a defect on a refusal for the reason overloaded ("
  ],
  [
    "asks again by itself",
    (driver) => (request) => Stream.catch(driver(request), () => driver(request)),
    refused,
    "sent 2 requests for one call."
  ],
  [
    "does not stream",
    collected,
    "MUST close the connection when its events are not read to the end",
    "did not tell the first words of an answer that goes on within 0.3 seconds.",
    300
  ],
  [
    "does not close its connection",
    (driver) => (request) =>
      Stream.unwrap(Effect.map(detached(Stream.runCollect(driver(request))), (events) => Stream.fromIterable(events))),
    "MUST close the connection when it is interrupted before the first event",
    "did not close its connection after an interruption within 1 seconds.",
    1000
  ],
  [
    "never ends",
    (driver) => (request) => Stream.concat(driver(request), Stream.never),
    "MUST tell text",
    'did not end on the answer "text" within 0.3 seconds.',
    300
  ]
]

const chatWith = (change: (sound: ChatDriver) => ChatDriver): Cases => {
  const open = Effect.map(chatVendor(anthropic), (vendor): ChatVendor => ({ ...vendor, driver: change(vendor.driver) }))
  return (test, patience) => chatDriverCases(test, open, {}, patience)
}

finds("driver", chatFaults, chatWith)

// ------ embeddings

type Embed = EmbeddingDriver["embed"]

const embedding =
  (change: (embed: Embed) => Embed) =>
  (driver: EmbeddingDriver): EmbeddingDriver => ({ ...driver, embed: change((request) => driver.embed(request)) })

const vectorsAs = (change: (vector: Float32Array) => unknown) =>
  embedding(
    (embed) => (request) =>
      Effect.map(embed(request), (reply) => ({
        ...reply,
        vectors: forged<typeof reply.vectors>(reply.vectors.map(change))
      }))
  )

const given = "MUST give one vector for each text, in the order of the texts, after one request"

const embeddingFaults: ReadonlyArray<Fault<EmbeddingDriver>> = [
  [
    "sends other texts",
    embedding((embed) => (request) => embed({ ...request, texts: request.texts.map(() => "x") })),
    "MUST send every text unchanged, in the order of the texts",
    'did not send a text ("Grüße, 世界 🌍").'
  ],
  [
    "sends texts without their line breaks",
    embedding(
      (embed) => (request) => embed({ ...request, texts: request.texts.map((text) => text.replaceAll("\n", " ")) })
    ),
    "MUST send every text unchanged, in the order of the texts",
    'did not send a text ("  A lighthouse\\nat \\"night\\"  ").'
  ],
  [
    "sends texts without the spaces around them",
    embedding((embed) => (request) => embed({ ...request, texts: request.texts.map((text) => text.trim()) })),
    "MUST send every text unchanged, in the order of the texts",
    'did not send a text ("  A lighthouse\\nat \\"night\\"  ").'
  ],
  [
    "takes a missing number for 0",
    embedding(
      (embed) => (request) =>
        Effect.catch(embed(request), () =>
          Effect.succeed({ vectors: request.texts.map(() => new Float32Array(4)), usage: noUsage })
        )
    ),
    "MUST fail, and not with a defect, on an answer with a number that is missing",
    "answered on an answer with a number that is missing."
  ],
  [
    "ignores `dimensions`",
    embedding((embed) => (request) => embed({ ...request, dimensions: null })),
    "MUST tell the provider `dimensions`",
    "sent with `dimensions` as 2 the same request as without it."
  ],
  [
    "ignores `purpose`",
    embedding((embed) => (request) => embed({ ...request, purpose: "document" })),
    "MUST tell the provider `purpose`",
    'sent with `purpose` as "query" the same request as without it.'
  ],
  [
    "cuts numbers to their sign",
    vectorsAs((vector) => vector.map(Math.sign)),
    given,
    "gave the numbers [1,-1,0,1] where"
  ],
  [
    "gives plain arrays",
    vectorsAs((vector) => [...vector]),
    given,
    "gave the vector [0.75,-0.25,0,0.5], which is no `Float32Array`."
  ],
  [
    "turns the vectors around",
    embedding(
      (embed) => (request) => Effect.map(embed(request), (reply) => ({ ...reply, vectors: reply.vectors.toReversed() }))
    ),
    given,
    "gave the numbers [0,0.5,0.25,-0.125] where the provider gave [0.75,-0.25,0,0.5]."
  ],
  [
    "takes no text",
    (driver) => ({ ...driver, maxTexts: 0 }),
    "MUST take at least one text of at least one character in a request",
    "has the limit 0 as `maxTexts`."
  ],
  [
    "puts text of the provider into an error",
    embedding((embed) => (request) => Effect.mapError(embed(request), leaking)),
    "MUST fail, and not with a defect, on an answer with text that is no JSON",
    "put text of the provider into its error on an answer with text that is no JSON"
  ],
  [
    "has a defect in place of an error",
    embedding((embed) => (request) => Effect.orDie(embed(request))),
    "MUST fail, and not with a defect, on an answer with text that is no JSON",
    "has a defect on an answer with text that is no JSON ("
  ],
  [
    "does not close its connection",
    embedding((embed) => (request) => detached(embed(request))),
    "MUST close the connection when it is interrupted",
    "did not close its connection after an interruption within 1 seconds.",
    1000
  ],
  [
    "asks again by itself",
    embedding((embed) => (request) => Effect.catch(embed(request), () => embed(request))),
    "MUST fail with overloaded on status 503, after one request, without any text of the provider",
    "sent 2 requests for one call."
  ]
]

finds("driver", embeddingFaults, (change) => {
  const cohere = embeddingVendors.find(({ name }) => name === "Cohere") ?? assert.fail("no Cohere")
  const open = Effect.map(embeddingVendor(cohere), (vendor): EmbeddingVendor => ({
    ...vendor,
    driver: change(vendor.driver)
  }))
  return (test, patience) => embeddingDriverCases(test, open, {}, patience)
})

// ------ rerankers

type Rerank = RerankerPort["rerank"]

const reranking =
  (change: (rerank: Rerank) => Rerank) =>
  (port: RerankerPort): RerankerPort => ({ ...port, rerank: change((request) => port.rerank(request)) })

const sends = "MUST send the query and every text, in the order of the texts"
const names = "MUST name the provider of its charges"
const best = "MUST give the texts best first, after one request for all texts, with what it used"

const rerankFaults: ReadonlyArray<Fault<RerankerPort>> = [
  [
    "sends another query",
    reranking((rerank) => (request) => rerank({ ...request, query: "x" })),
    sends,
    'did not send the query ("boil water").'
  ],
  [
    "sends other texts",
    reranking((rerank) => (request) => rerank({ ...request, texts: request.texts.map(() => "x") })),
    sends,
    'did not send a text ("cat").'
  ],
  [
    "swaps the query and a text",
    reranking(
      (rerank) =>
        ({ query, texts: [cat = "", ...texts] }) =>
          rerank({ query: cat, texts: [query, ...texts] })
    ),
    sends,
    'sent the query "boil water" between the texts.'
  ],
  ["names nobody", (port) => ({ ...port, model: null }), names, "names null as the provider of its `model`, and "],
  [
    "names another provider",
    (port) => ({ ...port, model: { provider: "zzz", model: "q" } }),
    names,
    'names "zzz" as the provider of its `model`, and "cohere" in its charge.'
  ],
  [
    "gives the worst first",
    reranking(
      (rerank) => (request) => Effect.map(rerank(request), (reply) => ({ ...reply, order: reply.order.toReversed() }))
    ),
    best,
    "told `indexes` as [0,2] on a ranking. It must tell it as [2,0]."
  ],
  [
    "gives no text",
    reranking((rerank) => (request) => Effect.map(rerank(request), (reply) => ({ ...reply, order: [] }))),
    best,
    "told `indexes` as [] on a ranking. It must tell it as [2]."
  ],
  [
    "gives scores that rise",
    reranking(
      (rerank) => (request) =>
        Effect.map(rerank(request), (reply) => ({
          ...reply,
          order: reply.order.map(({ index }, at) => ({ index, score: at / 10 }))
        }))
    ),
    best,
    'gave the order [{"index":2,"score":0},{"index":0,"score":0.1}] on a ranking.'
  ],
  [
    "gives no scores where it says so",
    reranking(
      (rerank) => (request) =>
        Effect.map(rerank(request), (reply) => ({
          ...reply,
          order: reply.order.map(({ index }) => ({ index, score: null }))
        }))
    ),
    best,
    "gave the best text no score on a ranking."
  ],
  [
    "does not say what it used",
    reranking((rerank) => (request) => Effect.map(rerank(request), (reply) => ({ ...reply, charge: null }))),
    best,
    "told no charge for a request."
  ],
  [
    "gives scores of another scale",
    reranking(
      (rerank) => (request) =>
        Effect.map(rerank(request), (reply) => ({
          ...reply,
          order: reply.order.map(({ index }) => ({ index, score: 8.5 }))
        }))
    ),
    "MUST keep the order of scores that are not from 0 to 1, and give none of them, or fail",
    'gave the order [{"index":1,"score":8.5}'
  ],
  [
    "turns the order of such scores around",
    reranking(
      (rerank) => (request) => Effect.map(rerank(request), (reply) => ({ ...reply, order: reply.order.toReversed() }))
    ),
    "MUST keep the order of scores that are not from 0 to 1, and give none of them, or fail",
    "told `indexes` as [0,2,1] on scores of another scale."
  ],
  [
    "puts text of the vendor into an error",
    reranking(
      (rerank) => (request) =>
        Effect.mapError(rerank(request), (error) => (error._tag === "ModelError" ? leaking(error) : error))
    ),
    "MUST fail, or keep the order, and not fail with a defect, on a page of HTML",
    "put text of the provider into its error on a page of HTML"
  ],
  [
    "has a defect in place of an error",
    reranking((rerank) => (request) => Effect.orDie(rerank(request))),
    "MUST fail on a refused key, without any text of the vendor",
    "has a defect on a refused key ("
  ],
  [
    "cannot be interrupted",
    reranking((rerank) => (request) => Effect.uninterruptible(rerank(request))),
    "MUST close the connection when it is interrupted",
    "did not close its connection after an interruption within 1 seconds.",
    1000
  ]
]

finds("reranker", rerankFaults, (change) => {
  const cohere = rerankVendors["cohere"] ?? assert.fail("no Cohere")
  const open = Effect.map(rerankVendor(cohere), (vendor): RerankVendor => ({ ...vendor, port: change(vendor.port) }))
  return (test, patience) => rerankerCases(test, open, { scores: true }, patience)
})
