import { isFromOtherSite } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"

type Headers = Readonly<Record<string, string>>

const app = { host: "app.example" }
const own = { addresses: ["https://ai.example/ai"], trusted: ["https://friend.example"] }

/** What a request says of its page, and whether that page is one of another site. */
const requests: ReadonlyArray<readonly [string, Headers, boolean]> = [
  ["a program", {}, false],
  ["the own page in a browser without Sec-Fetch-Site", { ...app, origin: "https://app.example" }, false],
  ["the own page", { ...app, origin: "https://app.example", "sec-fetch-site": "same-origin" }, false],
  ["the own page behind a proxy that changes Host", { host: "10.0.0.1:80", "sec-fetch-site": "same-origin" }, false],
  ["a navigation", { ...app, "sec-fetch-site": "none" }, false],
  ["the address that the host has named", { host: "10.0.0.1", origin: "https://ai.example" }, false],
  ["the usual port", { host: "app.example:443", origin: "https://app.example" }, false],
  ["what a proxy was asked for", { host: "a:1", origin: "https://b.example", "x-forwarded-host": "b.example" }, false],
  [
    "what the first of two proxies was asked for",
    { host: "a:1", origin: "https://b.example", "x-forwarded-host": "b.example, a:1", "x-forwarded-proto": "https" },
    false
  ],
  ["a trusted origin", { ...app, origin: "https://friend.example", "sec-fetch-site": "cross-site" }, false],
  ["another site", { ...app, origin: "https://evil.example", "sec-fetch-site": "cross-site" }, true],
  ["another site without an Origin", { ...app, "sec-fetch-site": "cross-site" }, true],
  ["another site, written otherwise", { ...app, "sec-fetch-site": "Cross-Site" }, true],
  ["another site in a header that stands twice", { ...app, "sec-fetch-site": "same-origin, cross-site" }, true],
  ["another site in a browser without Sec-Fetch-Site", { ...app, origin: "https://evil.example" }, true],
  ["a subdomain", { ...app, origin: "https://blog.app.example", "sec-fetch-site": "same-site" }, true],
  ["another port", { host: "localhost:8787", origin: "http://localhost:3000", "sec-fetch-site": "same-site" }, true],
  ["another scheme", { ...app, origin: "http://app.example", "x-forwarded-proto": "https" }, true],
  ["a frame without an origin", { ...app, origin: "null", "sec-fetch-site": "cross-site" }, true],
  ["a frame without an origin in an old browser", { ...app, origin: "null" }, true],
  ["a trusted origin written otherwise", { ...app, origin: "https://friend.example.evil.example" }, true],
  ["a path for an origin", { ...app, origin: "https://evil.example/app.example" }, true],
  ["a name for an origin", { ...app, origin: "https://app.example@evil.example" }, true],
  ["no address at all", { ...app, origin: "%%%" }, true],
  ["nothing for a host", { host: "", origin: "https://evil.example" }, true]
]

describe("a request", () => {
  it.each(requests)("of %s", (_name, headers, isOther) => {
    assert.strictEqual(isFromOtherSite(headers, own), isOther)
  })
})
