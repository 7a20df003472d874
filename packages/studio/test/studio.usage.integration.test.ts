/** The pane of the studio that shows what was used of each limit. */
import { assert, it } from "@effect/vitest"
import { inChromium } from "../../../test/browser.ts"
import { choose, faults, visit } from "./StudioVisit.ts"
import { keyOf, startDemo } from "../../server/test/TestServer.ts"

inChromium((launch) => {
  it("shows usage and limits, and says where there is none", { timeout: 120_000 }, async () => {
    const server = await startDemo({ LIMITS: '{"documents": 7, "usd_per_day": null}' })
    const browser = await launch([])
    try {
      await using visitor = await visit(browser, `${server.url}/#key=${keyOf(server)}`)
      const { page } = visitor
      await choose(page, "Usage and limits")
      const shown = page.locator("dl.usage")
      await shown.waitFor()
      const text = (await shown.innerText()).replaceAll(/\s+/gu, " ")
      assert.match(text, /Documents 0 of 7/u)
      assert.match(text, /Cost today \$0 no limit/u)
      assert.match(text, /Turns this minute 0 of 60/u)
      assert.deepStrictEqual(await faults(page), [])
    } finally {
      await browser.close()
      await server.stop()
    }
  })
})
