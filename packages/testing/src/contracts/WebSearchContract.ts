/**
 * The contract of `WebSearch`, in the terms of the port. The suite calls an adapter only through the port, and controls the engine behind
 * it (a server that speaks the engine's wire) through `SearchVendor`.
 */
import type { SearchFailed, WebQuery, WebResult, WebSearchPort } from "@colloquy/core/web-search"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { expectQuietError } from "./TextForUsers.ts"

/** A search engine that finds what a test gives it. */
export interface SearchVendor {
  /** With the key `sk-of-the-host`, if the engine uses keys. */
  readonly port: WebSearchPort
  /** How many bytes of an answer the adapter buffers. */
  readonly mostBytes: number
  /** The price of a search that `gives` reports; null if it reports none. */
  readonly costUsd: number | null
  /** Each call answers one request, in the order of the calls. */
  readonly gives: (results: ReadonlyArray<WebResult>) => void
  readonly answers: (status: number, headers: { readonly [name: string]: string }, body: string) => void
  readonly breaksOff: () => void
  /** Accepts the request and does not answer; `left` completes when the connection is closed. */
  readonly hangs: () => { readonly asked: Effect.Effect<void>; readonly left: Effect.Effect<void> }
  readonly seen: () => ReadonlyArray<{ readonly text: string; readonly key: string | null }>
  /** Another server, which no adapter may call. */
  readonly trap: { readonly url: string; readonly visits: () => number }
}

const query: WebQuery = { text: "foxes & hens ☃ 50%", limit: 2 }

/** What every search engine must do. */
export const webSearchSuite = (
  name: string,
  open: Effect.Effect<SearchVendor, never, Scope.Scope>,
  /** The statuses with a meaning on this wire, with the expected reasons. */
  statuses: ReadonlyArray<readonly [status: number, reason: SearchFailed["reason"]]>
): void => {
  describe(`the contract of WebSearch: ${name}`, () => {
    const pages = (vendor: SearchVendor): ReadonlyArray<WebResult> => [
      { url: "https://a.example/?q=1&b=2", title: "A", text: "First.", publishedAt: null },
      { url: vendor.trap.url, title: null, text: "", publishedAt: null },
      { url: "https://c.example/", title: "C", text: "Third.", publishedAt: null }
    ]

    it.live("MUST give results best first, and not more than were asked for, and fetch none of them", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.gives(pages(vendor))
        const { costUsd, results } = yield* vendor.port.search(query)
        assert.deepStrictEqual(results, pages(vendor).slice(0, 2))
        assert.strictEqual(costUsd, vendor.costUsd)
        assert.deepStrictEqual(
          vendor.seen().map(({ text }) => text),
          [query.text]
        )
        for (const { key } of vendor.seen()) if (key !== null) assert.include(key, "sk-of-the-host")
        assert.strictEqual(vendor.trap.visits(), 0)
      })
    )

    it.live("MUST give text without markup", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        const [page] = pages(vendor)
        if (page === undefined) return
        const marked = "<strong>Foxes</strong> &amp; hens: 1 < 2 &#39;ok&#x27; <script src='x'>"
        vendor.gives([{ ...page, title: "<b>T</b>", text: marked }])
        const [found] = (yield* vendor.port.search(query)).results
        assert.deepInclude(found, { title: "T", text: "Foxes & hens: 1 < 2 'ok'" })
      })
    )

    it.live("MUST give nothing if nothing was found", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.gives([])
        assert.deepStrictEqual((yield* vendor.port.search(query)).results, [])
      })
    )

    for (const [status, reason] of statuses) {
      it.live(`MUST fail with ${reason} on status ${status}, after one request, without any text of the engine`, () =>
        Effect.gen(function* () {
          const vendor = yield* open
          const headers = { "content-type": "application/json" }
          vendor.answers(status, headers, '{"error":"sk-of-the-host asked for foxes","detail":{"error":"foxes"}}')
          const error = yield* Effect.flip(vendor.port.search(query))
          assert.deepInclude(error, { _tag: "SearchFailed", reason, status })
          expectQuietError(error, /foxes/u)
          assert.strictEqual(vendor.seen().length, 1)
        })
      )
    }

    for (const [what, answer] of [
      [
        "a page of HTML with 200",
        (vendor: SearchVendor) => vendor.answers(200, { "content-type": "text/html" }, "<html>")
      ],
      ["JSON of another kind", (vendor: SearchVendor) => vendor.answers(200, {}, '{"results":7,"web":[]}')],
      ["an answer that breaks off", (vendor: SearchVendor) => vendor.breaksOff()]
    ] as const) {
      it.live(`MUST fail, and not with a defect, on ${what}`, () =>
        Effect.gen(function* () {
          const vendor = yield* open
          answer(vendor)
          assert.strictEqual((yield* Effect.flip(vendor.port.search(query)))._tag, "SearchFailed")
        })
      )
    }

    it.live("MUST fail on an answer that is larger than it buffers", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.answers(200, { "content-type": "application/json" }, " ".repeat(vendor.mostBytes + 1) + notResults)
        assert.strictEqual((yield* Effect.flip(vendor.port.search(query)))._tag, "SearchFailed")
        assert.strictEqual(vendor.seen().length, 1)
      })
    )

    it.live("MUST leave out entries that are not results", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.answers(200, { "content-type": "application/json" }, notResults)
        assert.deepStrictEqual((yield* vendor.port.search(query)).results, [])
      })
    )

    it.live("MUST NOT follow a redirect", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        for (const status of [301, 302, 307]) {
          vendor.answers(status, { location: vendor.trap.url }, "")
          assert.strictEqual((yield* Effect.flip(vendor.port.search(query)))._tag, "SearchFailed")
        }
        assert.strictEqual(vendor.trap.visits(), 0)
      })
    )

    it.live("MUST close the connection when it is interrupted", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        const { asked, left } = vendor.hangs()
        const fiber = yield* Effect.forkChild(vendor.port.search(query))
        yield* asked
        yield* Fiber.interrupt(fiber)
        yield* left
      })
    )
  })
}

const entries = '[null, 7, "x", {}, {"url": 7}, {"url": ""}, []]'
const notResults = `{"results": ${entries}, "web": {"results": ${entries}}}`
