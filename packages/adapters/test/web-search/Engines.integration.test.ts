/** Every search engine against a server that speaks its wire: the contract of the port, and what each sends in its own words. */
import type { WebResult, WebSearchPort } from "@colloquy/core/web-search"
import { type SearchVendor, webSearchSuite } from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Http from "node:http"
import { record, string } from "../../src/protocols/Wire.ts"
import { brave, type EngineSettings, exa, searXng, tavily } from "../../src/web-search/index.ts"
import * as FakeVendor from "../providers/FakeVendor.ts"

interface Wire {
  readonly make: (settings: EngineSettings & { readonly baseUrl: string }) => WebSearchPort
  /** Without the query of the address. */
  readonly path: string
  readonly answer: (results: ReadonlyArray<WebResult>) => unknown
  readonly keyHeader: string | null
  readonly costUsd: number | null
  readonly statuses: Parameters<typeof webSearchSuite>[2]
}

const usual: Wire["statuses"] = [
  [400, "invalid_query"],
  [401, "auth"],
  [429, "rate_limited"],
  [500, "unavailable"],
  [503, "unavailable"]
]

const wires: { readonly [name: string]: Wire } = {
  Tavily: {
    make: tavily,
    path: "/search",
    answer: (results) => ({
      query: "q",
      answer: null,
      images: [],
      results: results.map(({ text, title, url }) => ({ url, title, content: text, score: 0.9, raw_content: null })),
      response_time: 1.2,
      request_id: "r"
    }),
    keyHeader: "authorization",
    costUsd: null,
    statuses: [...usual, [432, "quota"], [433, "quota"]]
  },
  Exa: {
    make: exa,
    path: "/search",
    answer: (results) => ({
      requestId: "r",
      resolvedSearchType: "neural",
      results: results.map(({ text, title, url }) => ({
        id: url,
        url,
        title,
        publishedDate: null,
        author: null,
        text
      })),
      costDollars: { total: 0.006, search: { neural: 0.005 } }
    }),
    keyHeader: "x-api-key",
    costUsd: 0.006,
    statuses: [...usual, [402, "quota"]]
  },
  Brave: {
    make: brave,
    path: "/res/v1/web/search",
    answer: (results) => ({
      type: "search",
      query: { original: "q", more_results_available: false },
      ...(results.length === 0
        ? {}
        : {
            web: { type: "search", results: results.map(({ text, title, url }) => ({ url, title, description: text })) }
          })
    }),
    keyHeader: "x-subscription-token",
    costUsd: null,
    statuses: [...usual, [422, "invalid_query"], [403, "auth"]]
  },
  SearXNG: {
    make: searXng,
    path: "/search",
    answer: (results) => ({
      query: "q",
      number_of_results: 0,
      results: results.map(({ text, title, url }) => ({
        url,
        title,
        content: text,
        engine: "x",
        engines: ["x"],
        score: 1
      })),
      answers: [],
      suggestions: [],
      unresponsive_engines: [["y", "timeout"]]
    }),
    keyHeader: null,
    costUsd: 0,
    statuses: [
      [403, "format_not_allowed"],
      [429, "rate_limited"],
      [500, "unavailable"]
    ]
  }
}

/** The script of `FakeVendor` knows whole paths: a query of the address is part of it. */
const sentQuery = ({ body, path }: FakeVendor.Seen): string =>
  string(record(body).query) ?? new URL(path, "http://x.example").searchParams.get("q") ?? ""

const pathFor = (wire: Wire, text: string): string => {
  if (wire.make === brave) return `${wire.path}?${new URLSearchParams({ q: text, count: "2" }).toString()}`
  return wire.make === searXng
    ? `${wire.path}?${new URLSearchParams({ q: text, format: "json" }).toString()}`
    : wire.path
}

const contractQuery = "foxes & hens ☃ 50%"

const open = (wire: Wire, settings: EngineSettings = {}) =>
  Effect.gen(function* () {
    const [fake, trap] = [yield* FakeVendor.make, yield* FakeVendor.make]
    const script = (reply: FakeVendor.Reply) => fake.script(pathFor(wire, contractQuery), reply)
    const vendor: SearchVendor = {
      port: wire.make({ apiKey: "sk-of-the-host", baseUrl: `${fake.baseUrl}/`, ...settings }),
      mostBytes: 4 * 1024 * 1024,
      costUsd: wire.costUsd,
      gives: (results) => script(FakeVendor.json(wire.answer(results))),
      answers: (status, headers, body) => script({ status, headers, body: [body] }),
      breaksOff: () => script({ headers: { "content-type": "application/json" }, body: ['{"resu', FakeVendor.closed] }),
      hangs: () => {
        script({ headHeldBy: new FakeVendor.Gate(), body: [] })
        return FakeVendor.firstRequest(fake)
      },
      seen: () =>
        fake.requests.map((seen) => ({
          text: sentQuery(seen),
          key: wire.keyHeader === null ? null : String(seen.headers[wire.keyHeader] ?? "")
        })),
      trap: { url: `${trap.baseUrl}/inside`, visits: () => trap.requests.length }
    }
    return { vendor, fake, script }
  })

for (const [name, wire] of Object.entries(wires)) {
  webSearchSuite(
    name,
    Effect.map(open(wire), ({ vendor }) => vendor),
    wire.statuses
  )
}

describe("a search engine", () => {
  it.effect("is asked in its own words", () =>
    Effect.gen(function* () {
      const query = { text: contractQuery, limit: 2 }
      const sent = (wire: Wire | undefined) =>
        Effect.gen(function* () {
          const { fake, vendor } = yield* open(wire ?? assert.fail())
          vendor.gives([])
          yield* vendor.port.search(query)
          return fake.requests[0] ?? assert.fail()
        })
      assert.deepStrictEqual((yield* sent(wires["Tavily"])).body, { query: contractQuery, max_results: 2 })
      assert.deepStrictEqual((yield* sent(wires["Exa"])).body, {
        query: contractQuery,
        numResults: 2,
        type: "auto",
        contents: { text: { maxCharacters: 2_000 } }
      })
      assert.strictEqual((yield* sent(wires["Brave"])).method, "GET")
      assert.strictEqual((yield* sent(wires["SearXNG"])).headers.authorization, "Bearer sk-of-the-host")
    })
  )

  it.effect("costs what its plan has, where it does not tell", () =>
    Effect.gen(function* () {
      const { vendor } = yield* open(wires["Tavily"] ?? assert.fail(), { priceUsd: 0.01 })
      vendor.gives([])
      assert.strictEqual(vendor.port.priceUsd, 0.01)
      assert.strictEqual((yield* vendor.port.search({ text: contractQuery, limit: 2 })).costUsd, 0.01)
    })
  )

  it.effect("is given up on when its answer has no end", () =>
    Effect.gen(function* () {
      const { fake, script, vendor } = yield* open(wires["SearXNG"] ?? assert.fail(), { maxAnswerBytes: 500_000 })
      script({
        headers: { "content-type": "application/json" },
        body: ['{"results":[', { forever: "{},".repeat(20_000) }]
      })
      const error = yield* Effect.flip(vendor.port.search({ text: contractQuery, limit: 2 }))
      assert.strictEqual(error.reason, "malformed")
      yield* Effect.promise(() => fake.requests[0]?.aborted ?? assert.fail())
    })
  )

  it.effect("that is not there is unavailable", () =>
    Effect.gen(function* () {
      const free = yield* Effect.callback<number>((resume) => {
        const server = Http.createServer().listen(0, "127.0.0.1", () => {
          const address = server.address()
          server.close(() => resume(Effect.succeed(typeof address === "object" ? (address?.port ?? 0) : 0)))
        })
      })
      const port = searXng({ baseUrl: `http://127.0.0.1:${free}` })
      assert.strictEqual((yield* Effect.flip(port.search({ text: "x", limit: 1 }))).reason, "unavailable")
    })
  )
})
