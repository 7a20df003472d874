/** The page of the API: compressed, kept by browsers, in order for screen readers, and without what its reader's vendor adds. */
import { assert, describe, it } from "@effect/vitest"
import axe from "axe-core"
import { createServer } from "node:http"
import type { Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import { docsPageWith } from "../src/docs-page/index.ts"
import { open } from "./Service.ts"
import { listen } from "./Sockets.ts"

const docs = docsPageWith([{ title: "Guide & more", href: "docs/guide" }])

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}

const faults = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe.source)
  const violations = await page.evaluate<ReadonlyArray<Violation>>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)"
  )
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`))
}

describe("the page of the API", () => {
  it("is compressed for who takes that, and a browser that has it is told so", async () => {
    await using service = await open([], { http: { docs } })
    await using server = await listen(createServer(service.node))
    for (const path of ["/docs", "/openapi.json"]) {
      const zipped = await fetch(server.url + path, { headers: { "accept-encoding": "gzip" } })
      assert.strictEqual(zipped.headers.get("content-encoding"), "gzip", path)
      assert.isBelow(Number(zipped.headers.get("content-length")), 1_100_000, path)
      assert.match(zipped.headers.get("vary") ?? "", /\baccept-encoding\b/u)
      const text = await zipped.text()
      const plain = await fetch(server.url + path, { headers: { "accept-encoding": "identity" } })
      assert.isNull(plain.headers.get("content-encoding"))
      assert.strictEqual(await plain.text(), text)
      const etag = zipped.headers.get("etag") ?? ""
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
        const again = await fetch(server.url + path, { headers: { "if-none-match": known } })
        assert.deepStrictEqual([again.status, await again.text()], [304, ""], known)
        assert.strictEqual(again.headers.get("etag"), etag)
      }
      assert.strictEqual((await fetch(server.url + path, { headers: { "if-none-match": '"other"' } })).status, 200)
    }
  })

  it("has no headers of hosts in its samples, which the description has", async () => {
    await using service = await open([], { http: { docs } })
    const page = await service.call("GET", "/docs", undefined, { key: null })
    const description = await service.call("GET", "/openapi.json", undefined, { key: null })
    assert.notInclude(page.text, "x_session_token")
    assert.include(JSON.stringify(description.body), "x_session_token")
  })

  inChromium((launch) => {
    it(
      "asks for the API key, links to the guide, and is in order for axe, light and wide, dark and narrow",
      { timeout: 120_000 },
      async () => {
        await using service = await open([], { http: { docs } })
        await using server = await listen(createServer(service.node))
        const browser = await launch()
        try {
          for (const [colorScheme, width] of [
            ["light", 1440],
            ["dark", 390]
          ] as const) {
            const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } })
            const complaints: Array<string> = []
            page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())))
            await page.goto(`${server.url}/docs`)
            await page.getByText("Create an assistant").first().waitFor()
            await page.getByText("X-API-Key").first().waitFor()
            assert.strictEqual(
              await page.getByRole("link", { name: "Guide & more" }).getAttribute("href"),
              "docs/guide"
            )
            // The reader draws in several frames.
            await page.locator(".endpoints[tabindex]").nth(5).waitFor({ state: "attached" })
            await page.locator("[role=region].response-card").first().waitFor({ state: "detached" })
            assert.deepStrictEqual(await faults(page), [], `${colorScheme} ${width}`)
            assert.strictEqual(await page.getByText("Developer Tools").count(), 0)
            assert.deepStrictEqual(complaints, [])
            await page.close()
          }
        } finally {
          await browser.close()
        }
      }
    )
  })
})
