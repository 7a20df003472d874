/** The page of this folder, opened in a real browser with a file as its microphone: its meter, captions and latency. */
import { assert, it } from "@effect/vitest"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inChromium } from "../../test/browser.ts"
import { faults, soon, speakInto, visit } from "../../packages/studio/test/StudioVisit.ts"
import { server } from "./start.ts"
import { ai, stop } from "./server.ts"

inChromium((launch) => {
  it("opens, listens, answers what is written, shows what is said and how soon, and ends", async () => {
    await ai.ready()
    await once(server.listen(0, "127.0.0.1"), "listening")
    const address = server.address()
    const folder = await mkdtemp(join(tmpdir(), "voice-page-"))
    const browser = await launch(await speakInto(folder))
    try {
      const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`
      await using visitor = await visit(browser, url, { permissions: ["microphone"] })
      const { page } = visitor
      assert.deepStrictEqual(await faults(page), [])
      const state = page.getByRole("status")
      await state.getByText("Nobody listens").waitFor()
      await page.getByRole("button", { name: "Talk" }).click()
      await state.getByText("Listening").waitFor()
      const level = `Number(document.getElementById("meter").style.getPropertyValue("--level"))`
      await soon(page, async () => assert.isAbove(await page.evaluate<number>(level), 0.05, "the microphone is heard"))
      const said = page.getByRole("list", { name: "What was said" })
      await said.getByRole("listitem", { name: "You" }).first().waitFor()
      await state.getByText("Speaking").waitFor()
      await said
        .getByRole("listitem", { name: "Assistant" })
        .filter({ hasText: /seconds of sound/u })
        .first()
        .waitFor()
      await page.getByText(/^\d+ ms from the end of your words to its first sound$/u).waitFor()
      // The microphone goes on speaking, and may interrupt the answer before its second word: then it is asked again.
      await soon(page, async () => {
        await page.getByLabel("Write instead").fill("Hello")
        await page.keyboard.press("Enter")
        await said.getByText("You wrote").first().waitFor({ timeout: 3000 })
      })
      assert.strictEqual(await page.getByRole("alert").textContent(), "")
      assert.deepStrictEqual(await faults(page), [])
      await page.getByRole("button", { name: "End" }).click()
      await state.getByText("Nobody listens").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    } finally {
      await browser.close()
      server.close()
      await stop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
