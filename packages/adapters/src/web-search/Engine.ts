/**
 * The common part of the search engines: one request through the same transport as providers (with limits, without redirects), one list of
 * results as plain text, and every failure as `SearchFailed`. An engine defines its request and where the results are in the answer.
 */
import type { ModelError } from "@colloquy/core/adapters"
import {
  SearchFailed,
  type PagesFound,
  type WebQuery,
  type WebResult,
  type WebSearchPort
} from "@colloquy/core/web-search"
import * as Effect from "effect/Effect"
import { checkedUrl } from "../protocols/Address.ts"
import type { ApiKey } from "../protocols/ApiKey.ts"
import { faultOfStatus } from "../protocols/Fault.ts"
import { type Call, fetchJson, type TransportSettings } from "../protocols/Transport.ts"
import { list, record, string, text, type WireRecord } from "../protocols/Wire.ts"

/** The key, the address and the price of a search engine. */
export interface EngineSettings extends TransportSettings {
  /** The name of the engine in charges and errors. Default: the vendor's name. */
  readonly id?: string
  readonly apiKey?: ApiKey
  /** The address of the server, for example `https://search.example`. */
  readonly baseUrl?: string
  readonly headers?: { readonly [name: string]: string }
  /** The price of one search in US dollars under your plan. Used when the engine does not report the cost. */
  readonly priceUsd?: number
}

export interface EngineDialect {
  readonly id: string
  readonly baseUrl: string
  readonly secrets: Call["secrets"]
  /** The path below the base URL, and the body of a POST; null for a GET. */
  readonly writeRequest: (query: WebQuery) => { readonly path: string; readonly body: object | null }
  readonly results: (body: WireRecord) => unknown
  readonly read: (entry: WireRecord) => Pick<WebResult, "text" | "publishedAt">
  /** The cost in US dollars, if the answer contains it. */
  readonly cost?: (body: WireRecord) => number | undefined
  /** HTTP statuses that have a special meaning for this engine. */
  readonly reasons?: Readonly<Record<number, SearchFailed["reason"]>>
}

/** The default limits for an engine's answer. */
const bounds = { maxAnswerBytes: 4 * 1024 * 1024, headTimeout: "20 seconds", bodyTimeout: "20 seconds" } as const

export const engine = (settings: EngineSettings, dialect: EngineDialect): WebSearchPort => {
  const { id = dialect.id, priceUsd = null } = settings
  const base = (checkedUrl(settings.baseUrl) ?? dialect.baseUrl).replace(/\/+$/u, "")
  const fault = (error: ModelError) => {
    const own = error.status === undefined ? undefined : dialect.reasons?.[error.status]
    const status = error.status === undefined ? {} : { status: error.status }
    return new SearchFailed({ engine: id, reason: own ?? reasons[error.reason], ...status })
  }
  return {
    id,
    priceUsd,
    search: (query) =>
      Effect.suspend(() => {
        const { body, path } = dialect.writeRequest(query)
        const { headers = {} } = settings
        const call: Call = {
          provider: id,
          model: "",
          url: `${base}${path}`,
          headers: { accept: "application/json", ...headers },
          secrets: dialect.secrets,
          body: body === null ? null : JSON.stringify(body)
        }
        return Effect.flatMap(
          Effect.mapError(
            fetchJson(call, { requestIdHeader: "x-request-id", fault: faultOfStatus }, { ...bounds, ...settings }),
            fault
          ),
          (answer): Effect.Effect<PagesFound, SearchFailed> => {
            const results = dialect.results(record(answer))
            if (!Array.isArray(results)) return Effect.fail(new SearchFailed({ engine: id, reason: "malformed" }))
            const found = results.flatMap((entry) => readEntry(record(entry), dialect))
            return Effect.succeed({
              results: found.slice(0, query.limit),
              costUsd: dialect.cost?.(record(answer)) ?? priceUsd
            })
          }
        )
      })
  }
}

const readEntry = (entry: WireRecord, { read }: EngineDialect): ReadonlyArray<WebResult> => {
  const url = text(entry.url)
  if (url === undefined) return []
  const { publishedAt, text: marked } = read(entry)
  const title = plainText(string(entry.title) ?? "")
  return [{ url, title: title === "" ? null : title, text: plainText(marked), publishedAt }]
}

const reasons: Readonly<Record<ModelError["reason"], SearchFailed["reason"]>> = {
  auth: "auth",
  quota: "quota",
  rate_limited: "rate_limited",
  invalid_request: "invalid_query",
  context_too_long: "invalid_query",
  refused: "invalid_query",
  model_not_found: "unavailable",
  overloaded: "unavailable",
  timeout: "unavailable",
  connection: "unavailable",
  cut_off: "unavailable",
  unknown: "unavailable",
  malformed: "malformed"
}

/** Removes HTML tags and entities: engines highlight the words of the query with them. */
const plainText = (marked: string): string =>
  marked
    .replaceAll(/<\/?[a-z][^<>]{0,500}>/giu, "")
    .replaceAll(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|([a-z]{2,6}));/giu, (written, decimal, hex, name) => {
      if (typeof name === "string") return entities[name.toLowerCase()] ?? written
      const point = Number.parseInt(decimal ?? hex, decimal === undefined ? 16 : 10)
      return point > 31 && point < 0x110000 ? String.fromCodePoint(point) : " "
    })
    .trim()

const entities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " "
}

/** Joins several excerpts of one page. */
export const joined = (pieces: unknown): string =>
  list(pieces)
    .flatMap((piece) => text(piece) ?? [])
    .join(" … ")
