/**
 * The contract of `Reranker`, in the terms of the port. The suite calls a reranker only through the port, and controls what is behind it
 * (a server that speaks a vendor's wire, or a model) through `RerankVendor`.
 */
import type { Reranked, RerankerPort } from "@colloquy/core/memory"
import { Principal } from "@colloquy/core"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { asTest, driverChecks, type Sent, type TakeCase, usualPatience, vendorWords } from "./DriverChecks.ts"
import { shown } from "./PartSteps.ts"

/** A text and its score as a vendor tells them; a model that ranks by words tells only the index. */
export interface RankedText {
  readonly index: number
  readonly score: number
}

/** A reranker with a vendor that ranks as a test says. */
export interface RerankVendor {
  /** With the host's key `sk-of-the-host`, if the vendor uses keys. */
  readonly port: RerankerPort
  /** Answers one request with these texts, in this order. */
  readonly ranks: (texts: ReadonlyArray<RankedText>) => void
  /** Answers one request with a refused key, in words that contain `sk-of-the-host` and `boil`. Absent: there are no keys. */
  readonly refusesKey?: () => void
  /** Answers one request with status 200, or in words, with this text. */
  readonly sends: (text: string) => void
  /** Accepts the request and does not answer; `left` completes when the connection is closed. */
  readonly hangs: () => { readonly asked: Effect.Effect<void>; readonly left: Effect.Effect<void> }
  readonly requests: () => number
  /** The bodies of all requests, as values of JSON. The suite looks for its query and its texts in them. */
  readonly seen: () => ReadonlyArray<unknown>
}

const query = "boil water"
const texts = ["cat", "dog", "kettle"]
const inOrder: ReadonlyArray<Sent> = texts.map((text) => ["a text", text])

/** `scores`: whether the reranker gives scores. */
export const rerankerSuite = (
  name: string,
  open: Effect.Effect<RerankVendor, never, Scope.Scope>,
  options: { readonly scores: boolean }
): void => {
  describe(`the contract of Reranker: ${name}`, () => rerankerCases(asTest, open, options))
}

/** Its cases; `patience`: how many milliseconds a reranker may take. */
export const rerankerCases = (
  test: TakeCase,
  open: Effect.Effect<RerankVendor, never, Scope.Scope>,
  { scores }: { readonly scores: boolean },
  patience = usualPatience
): void => {
  const { ask, expectClosed, expectFields, expectQuiet, expectRequests, expectSent, expectFailure, fault } =
    driverChecks("reranker", patience)
  const own = /sk-of-the-host|secret|boil/u

  const rerank = ({ port }: RerankVendor) => port.rerank({ query, texts }).pipe(Principal.provide("ada"))

  /** By its score the last text is the best; one that gives no scores says so by its order. */
  const ranksLast = (vendor: RerankVendor) => {
    const best = { index: 2, score: 0.9 }
    const least = { index: 0, score: 0.1 }
    vendor.ranks(scores ? [least, best] : [best, least])
    return [best.index, least.index]
  }

  /** `wanted`: indexes, the best first. Fewer of them are an order too, and others may follow. */
  const expectOrder = (on: string, order: Reranked["order"], wanted: ReadonlyArray<number>): void => {
    const told = order.map(({ index }) => index)
    const compared = Math.max(1, Math.min(told.length, wanted.length))
    expectFields(on, { indexes: told.slice(0, compared) }, { indexes: wanted.slice(0, compared) })
    const given = order.flatMap(({ score }) => (score === null ? [] : [score]))
    if (given.some((score, at) => !(score >= 0 && score <= 1) || score > (given[at - 1] ?? 1)))
      fault(`gave the order ${shown(order)} ${on}`, "give scores from 0 to 1, none above the one before it, or null")
  }

  const rankedOrder = Effect.fnUntraced(function* (vendor: RerankVendor, on: string) {
    const result = yield* Effect.result(ask(on, () => rerank(vendor)))
    if (Result.isSuccess(result)) return result.success.order
    const error = result.failure
    if (error._tag !== "ModelError") return fault(`failed with ${shown(error)} ${on}`, "fail with a `ModelError`")
    expectQuiet(error, on, own)
    return null
  })

  test("MUST give the texts best first, after one request for all texts, with what it used", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      const on = "on a ranking"
      const wanted = ranksLast(vendor)
      const { charge, order } = yield* ask(on, () => rerank(vendor))
      expectOrder(on, order, wanted)
      if (scores && order[0]?.score === null)
        fault(`gave the best text no score ${on}`, "give its score, or say `scores: false` to the suite")
      if (charge !== null) {
        expectFields(on, charge, { purpose: "rerank" })
        const { costUsd, inputTokens } = charge.usage
        if (!(inputTokens > 0) && costUsd === null)
          fault(`told the usage ${shown(charge.usage)} for a request`, "tell the tokens that it used, or what it cost")
      } else if (vendor.port.model !== null)
        fault("told no charge for a request", "tell what it used; one that costs nothing has no `model`")
      expectRequests(vendor.requests())
    }))

  test("MUST name the provider of its charges", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      ranksLast(vendor)
      const { charge } = yield* ask("on a ranking", () => rerank(vendor))
      const payee = vendor.port.model?.provider ?? null
      if (charge !== null && charge.provider !== payee)
        fault(
          `names ${shown(payee)} as the provider of its \`model\`, and ${shown(charge.provider)} in its charge`,
          "name the same provider in both, so that the call is noted before it is paid"
        )
    }))

  test("MUST send the query and every text, in the order of the texts", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      ranksLast(vendor)
      yield* ask("on a ranking", () => rerank(vendor))
      const [body] = vendor.seen()
      expectSent(body, inOrder, [["the query", query]])
      const received = JSON.stringify(body)
      if (
        received.indexOf(query) > received.indexOf("cat") &&
        received.lastIndexOf(query) < received.lastIndexOf("kettle")
      )
        fault(
          `sent the query ${shown(query)} between the texts`,
          "send the query as the query, and the texts as the texts"
        )
    }))

  for (const [what, ranked] of [
    ["an unknown index", [{ index: 3, score: 0.5 }]],
    ["an index before the first", [{ index: -1, score: 0.5 }]],
    ["half an index", [{ index: 0.5, score: 0.5 }]],
    [
      "an index twice",
      [
        { index: 0, score: 0.5 },
        { index: 0, score: 0.5 }
      ]
    ],
    ["no texts", []]
  ] as const) {
    test(`MUST give only indexes of the texts, each once, or fail, on ${what}`, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.ranks(ranked)
        const indexes = ((yield* rankedOrder(vendor, `on ${what}`)) ?? []).map(({ index }) => index)
        if (new Set(indexes).size < indexes.length || indexes.some((index) => texts[index] === undefined))
          fault(`gave the indexes ${shown(indexes)} of 3 texts on ${what}`, "give only indexes of the texts, each once")
      }))
  }

  test("MUST keep the order of scores that are not from 0 to 1, and give none of them, or fail", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      const on = "on scores of another scale"
      const ranked = [
        { index: 1, score: 8.5 },
        { index: 2, score: 0.5 },
        { index: 0, score: -3 }
      ]
      vendor.ranks(ranked)
      const order = yield* rankedOrder(vendor, on)
      if (order === null) return
      expectOrder(
        on,
        order,
        ranked.map(({ index }) => index)
      )
    }))

  for (const [what, text] of [
    ["a page of HTML", `<html>${vendorWords}</html>`],
    ["JSON of another kind", `{"results":7,"data":{"a":1},"message":"${vendorWords}"}`],
    ["nothing", ""]
  ] as const) {
    test(`MUST fail, or keep the order, and not fail with a defect, on ${what}`, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.sends(text)
        const order = (yield* rankedOrder(vendor, `on ${what}`)) ?? []
        if (order.length > 0) fault(`gave the order ${shown(order)} on ${what}`, "fail, or give an empty order")
      }))
  }

  test("MUST fail on a refused key, without any text of the vendor", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      const on = "on a refused key"
      if (vendor.refusesKey === undefined) return
      vendor.refusesKey()
      const error = yield* expectFailure(on, () => rerank(vendor))
      expectRequests(vendor.requests())
      expectFields(on, error, { reason: "auth" })
      expectQuiet(error, on, own)
    }))

  test("MUST close the connection when it is interrupted", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      yield* expectClosed(vendor.hangs(), () => rerank(vendor))
    }))
}
