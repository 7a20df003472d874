/** The page of this folder, opened in a real browser with a microphone that is a tone. */
import { assert, it } from "@effect/vitest"
import { once } from "node:events"
import { inChromium } from "../../test/browser.ts"
import { faults, soon, visit } from "../../packages/studio/test/StudioVisit.ts"
import { server } from "./start.ts"
import { ai, stop } from "./server.ts"

inChromium((launch) => {
  it("opens, listens, answers what is written, and ends", async () => {
    await ai.ready()
    await once(server.listen(0, "127.0.0.1"), "listening")
    const address = server.address()
    const browser = await launch(["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"])
    try {
      const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`
      await using visitor = await visit(browser, url, { permissions: ["microphone"] })
      const { page } = visitor
      assert.deepStrictEqual(await faults(page), [])
      await page.getByRole("button", { name: "Talk" }).click()
      await page.getByRole("status").getByText("Listening").waitFor()
      await page.getByLabel("Or write").fill("Hello")
      await page.keyboard.press("Enter")
      const said = page.getByRole("list", { name: "What was said" }).getByRole("listitem")
      await said
        .filter({ hasText: /^assistant: / })
        .first()
        .waitFor()
      await soon(page, async () => assert.strictEqual(await said.filter({ hasText: "no microphone" }).count(), 0))
      assert.deepStrictEqual(await faults(page), [])
      await page.getByRole("button", { name: "Stop" }).click()
      await page.getByRole("status").getByText("The session has ended.").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    } finally {
      await browser.close()
      server.close()
      await stop()
    }
  })
})
