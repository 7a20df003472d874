/** What the page weighs as its sources have it, in single files. What is published, `packed.integration.test.ts` weighs. */
import { assert, it } from "@effect/vitest"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { shareDemo } from "./DemoStudio.ts"
import { finished, openRoom, say, visit } from "./StudioVisit.ts"

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  shareDemo(launch, (opened) => {
    ;({ address, browser, server } = opened)
  })

  /** The files that the page has loaded so far; the typeface has a limit of its own. */
  const loadedBy = (page: Page): Promise<ReadonlyArray<string>> =>
    page.evaluate(
      `performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname).filter((path) => !path.startsWith("/api") && !path.endsWith(".woff2"))`
    )

  const compressedSize = async (paths: Iterable<string>): Promise<number> => {
    let size = 0
    for (const path of new Set(paths)) {
      const response = await fetch(server.url + path, { headers: { "accept-encoding": "gzip" } })
      assert.strictEqual(response.headers.get("content-encoding"), "gzip", path)
      // `fetch` decompresses; the length that the server states is that of the compressed bytes.
      const length = Number(response.headers.get("content-length") ?? "NaN")
      await response.arrayBuffer()
      size += length
    }
    return size
  }

  /** What the page and all its files weigh. */
  const weigh = async (page: Page): Promise<number> => {
    const paths = [await page.evaluate<string>("location.pathname"), ...(await loadedBy(page))]
    assert.isAbove(paths.length, 20)
    return compressedSize(paths)
  }

  // The first test, while there is no thread: an answer that is still being drawn would load files beside those of the room.
  it("is at most 40 kB more for each room", async () => {
    for (const room of ["Runs", "Playground", "Tests", "Knowledge", "Voice"]) {
      await using visitor = await visit(browser, address)
      await visitor.page.locator("main .composer").waitFor()
      const before = new Set(await loadedBy(visitor.page))
      await openRoom(visitor.page, room)
      await visitor.page.getByRole("heading", { name: room === "Voice" ? /^Talk to/ : room, exact: true }).waitFor()
      const more = [...new Set(await loadedBy(visitor.page))].filter((path) => !before.has(path))
      assert.isAbove(more.length, 3, room)
      assert.isAtMost(await compressedSize(more), 40_000, room)
    }
  })

  it("is at most 60 kB over the wire at a first visit, libraries and all but the typeface, and 85 kB with an answer", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await page.getByRole("list", { name: "Beginnings" }).waitFor()
    assert.isAtMost(await weigh(page), 60_000)
    await say(page, "Show me some markdown")
    await finished(page)
    assert.isAtMost(await weigh(page), 85_000)
  })

  it("lets the first paint come within a second", async () => {
    const paints: Array<number> = []
    for (let index = 0; index < 5; index++) {
      await using visitor = await visit(browser, address)
      await visitor.page.locator("main .composer").first().waitFor()
      paints.push(
        await visitor.page.evaluate<number>(`performance.getEntriesByName("first-contentful-paint")[0].startTime`)
      )
    }
    assert.isBelow(Math.min(...paints), 1000)
  })
})
