/** The panes of the studio that belong to its user: what was used of each limit, and the keys. */
import { assert, it } from "@effect/vitest"
import { inChromium } from "../../../test/browser.ts"
import { choose, faults, soon, visit } from "./StudioVisit.ts"
import { keyOf, startDemo } from "../../server/test/TestServer.ts"

inChromium((launch) => {
  it("shows usage and limits, and says where there is none", async () => {
    const server = await startDemo({ LIMITS: '{"documents": 7, "usd_per_day": null}' })
    const browser = await launch([])
    try {
      await using visitor = await visit(browser, `${server.url}/#key=${keyOf(server)}`)
      const { page } = visitor
      await choose(page, "Usage and limits")
      const shown = page.locator("dl.usage")
      await soon(page, async () => {
        const text = (await shown.innerText()).replaceAll(/\s+/gu, " ")
        assert.match(text, /Documents 0 of 7/u)
        assert.match(text, /Cost today \$0 no limit/u)
        assert.match(text, /Turns this minute 0 of 60/u)
      })
      assert.deepStrictEqual(await faults(page), [])
      await page.getByRole("link", { name: "Keys", exact: true }).click()
      const item = page.getByRole("list", { name: "Keys" }).getByRole("listitem")
      await item.getByText("used by this page").waitFor()
      await soon(page, async () =>
        assert.match(await item.innerText(), /^first start may do everything.*, without an end$/su)
      )
      assert.deepStrictEqual(await faults(page), [])
      await item.getByRole("button", { name: "Revoke first start" }).click()
      const sure = page.getByRole("dialog", { name: "Revoke the key" })
      await soon(page, async () => assert.include(await sure.innerText(), "It is the key of this page"))
      await sure.getByRole("button", { name: "Keep it" }).click()
    } finally {
      await browser.close()
      await server.stop()
    }
  })
})
