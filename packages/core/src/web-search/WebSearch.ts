/**
 * Port: a search engine of the web. One query, one list of results, best first. What a result may do to a conversation (its length, its
 * address, the warning that it is other people's text) is decided once for all engines by the wing (`SearchPart`, `Sources`).
 *
 * `webSearchSuite` of the contracts tests what is promised here.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export interface WebQuery {
  readonly text: string
  /** So many results at most. */
  readonly limit: number
}

export interface WebResult {
  readonly url: string
  readonly title: string | null
  /** What the page says about the query, as plain text. */
  readonly text: string
  /** As the engine writes it; null when it does not. */
  readonly publishedAt: string | null
}

export interface WebAnswer {
  readonly results: ReadonlyArray<WebResult>
  /** US dollars, as the engine reports them or its plan has them; null: not known. */
  readonly costUsd: number | null
}

export class SearchFailed extends Schema.TaggedError<SearchFailed>()("SearchFailed", {
  engine: Schema.String,
  reason: Schema.Literals([
    "auth",
    "quota",
    "rate_limited",
    "invalid_query",
    "format_not_allowed",
    "unavailable",
    "malformed"
  ]),
  status: Schema.optionalKey(Schema.Int)
}) {
  override get message() {
    return `The web search "${this.engine}" failed: ${facts[this.reason]}`
  }
}

const facts: Readonly<Record<SearchFailed["reason"], string>> = {
  auth: "it did not accept the key.",
  quota: "its account has no credit left.",
  rate_limited: "it is limiting requests. Search again later.",
  invalid_query: "it did not accept the query. Ask for something shorter.",
  format_not_allowed: "it does not answer programs. Allow the format json in its settings.",
  unavailable: "it could not be reached, or did not answer in time.",
  malformed: "its answer could not be read."
}

export interface WebSearchPort {
  /** Named in charges and errors. */
  readonly id: string
  /** What one search costs, where that is known beforehand. */
  readonly priceUsd: number | null
  /**
   * MUST give results best first, `limit` at most, with their text free of markup. MUST leave out what is no result, and fail with
   * `SearchFailed`, never with a defect, when the answer is none. MUST send one request. MUST hold a bounded amount of what it reads. MUST NOT
   * follow a redirect, nor fetch any page of the results.
   */
  readonly search: (query: WebQuery) => Effect.Effect<WebAnswer, SearchFailed>
}

export class WebSearch extends Context.Service<WebSearch, WebSearchPort>()("@colloquy/core/web-search/WebSearch") {}
