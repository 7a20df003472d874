/** Results of a turn in the studio in a real browser: pictures, videos that play, and the sources of a search. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { faults, finished, makeAssistant, say, soon, visit } from "./StudioVisit.ts"
import { serverKey, startDemo } from "../../server/test/TestServer.ts"

const engine = createServer((_request, response) => {
  response.setHeader("content-type", "application/json")
  const results = [
    { url: "https://foxes.example/", title: "Foxes <b>dig</b>", content: "They dig dens." },
    { url: "javascript:alert(1)", title: "Bad", content: "x" }
  ]
  response.end(JSON.stringify({ results }))
})

/** Waits until an expression of the page is true. */
const until = (page: Page, expression: string): Promise<void> =>
  soon(page, async () => assert.isTrue(await page.evaluate<boolean>(expression), expression))

const choose = async (page: Page, label: string) => {
  await page.getByRole("combobox", { name: label }).click()
  await page.getByRole("listbox").getByRole("option").first().click()
}

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  beforeAll(async () => {
    await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve))
    const bound = engine.address()
    const port = typeof bound === "object" && bound !== null ? bound.port : 0
    server = await startDemo({ SEARXNG_BASE_URL: `http://127.0.0.1:${port}`, VIDEO_POLL_SECONDS: "1" })
    browser = await launch(["--autoplay-policy=no-user-gesture-required"])
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
    await new Promise((resolve) => engine.close(resolve))
  })

  it(
    "shows a picture, plays a video and lists the sources of an answer, while it is made and after a reload",
    { timeout: 180_000 },
    async () => {
      await using visitor = await visit(browser, `${server.url}/#key=${serverKey(server)}`)
      const { page } = visitor
      await makeAssistant(page, { name: "Maker" })
      await page.getByRole("button", { name: "Options" }).click()
      await choose(page, "May make pictures with")
      await choose(page, "May make videos with")
      await page.getByLabel("May search the web").check()

      const wishes = ["Draw a fox", "Make a video of a fox", "Search for foxes"]
      for (const [index, wish] of wishes.entries()) {
        await say(page, wish)
        await finished(page, index + 1)
      }

      const look = async () => {
        await until(page, `document.querySelector(".media img")?.naturalWidth > 0`)
        await page.locator("video").scrollIntoViewIfNeeded()
        await until(page, `document.querySelector("video")?.duration > 1`)
        await page.evaluate(`document.querySelector("video").play()`)
        await until(page, `document.querySelector("video").ended`)
        await page.locator(".sources a").first().waitFor()
        const links = `[...document.querySelectorAll(".sources a")].map((each) => [each.textContent, each.href, each.rel])`
        const found = [["Foxes dig", "https://foxes.example/", "noopener noreferrer nofollow"]]
        await soon(page, async () => assert.deepStrictEqual(await page.evaluate(links), found))
        const media = `[...document.querySelectorAll(".media img, .media video")].map((each) => each.getAttribute("src"))`
        await soon(page, async () => {
          const addresses = await page.evaluate<ReadonlyArray<string>>(media)
          assert.lengthOf(addresses, 2)
          for (const address of addresses) assert.match(address, /^\/api\/documents\/[^/]+\/content\?/)
        })
      }
      await look()
      await page.reload()
      await look()
      assert.deepStrictEqual(await faults(page), [])
      assert.deepStrictEqual(visitor.complaints, [])
    }
  )
})
