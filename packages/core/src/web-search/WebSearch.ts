/**
 * Port: a web search engine. One query, one list of results, best first. The wing (`SearchPart`, `Sources`) handles for all engines what a
 * result may do to a conversation: its length, its address, the note that it is foreign text.
 *
 * `webSearchSuite` of the contracts tests this contract.
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** What to search, and how many results to give. */
export interface WebQuery {
  readonly text: string
  /** The maximum of results. */
  readonly limit: number
}

/** One page that was found. */
export interface WebResult {
  readonly url: string
  readonly title: string | null
  /** The page's text about the query, as plain text. */
  readonly text: string
  /** As the engine writes it; null if it does not. */
  readonly publishedAt: string | null
}

/** What a search engine found, and what that has cost. */
export interface PagesFound {
  readonly results: ReadonlyArray<WebResult>
  /** US dollars, as the engine reports them or as its plan states them; null: not known. */
  readonly costUsd: number | null
}

/** The search engine gave no results, and why. */
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

/** What a search engine of your own implements: an id, a price, and a function from words to pages. `webSearchSuite` tests it. */
export interface WebSearchPort {
  /** The name in charges and errors. */
  readonly id: string
  /** The price of one search, if it is known beforehand. */
  readonly priceUsd: number | null
  /**
   * MUST return results best first, at most `limit`, with their text free of markup. MUST leave out entries that are not results. When the
   * answer is not usable, MUST fail with `SearchFailed`, never with a defect. MUST send one request. MUST buffer a bounded amount of an answer. MUST NOT
   * follow a redirect, nor fetch any page of the results.
   */
  readonly search: (query: WebQuery) => Effect.Effect<PagesFound, SearchFailed>
}
