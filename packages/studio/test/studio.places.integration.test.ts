/** The frame of the studio: addresses of screens and turns, Back, titles, the palette, and a first visit. */
import { assert, describe, it } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { faults, finished, lastAnswer, makeAssistant, newThread, openRoom, say, soon, visit } from "./StudioVisit.ts"
import { shareDemo } from "./DemoStudio.ts"
import { caller } from "../../server/test/TestServer.ts"

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  shareDemo(launch, (opened) => {
    ;({ address, browser, server } = opened)
  })

  describe("addresses", () => {
    it("name the thread and the turn, lead back, and open again from elsewhere; the title says where one is", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      const hash = () => new URL(page.url()).hash
      await makeAssistant(page, { name: "Iris" })
      await soon(page, async () => assert.match(hash(), /^#\/talk\/new\//))
      await say(page, "count to 3")
      await finished(page)
      const first = hash()
      assert.match(first, /^#\/talk\/[^/]+$/)
      await soon(page, async () => assert.strictEqual(await page.title(), "count to 3 · Iris · Colloquy"))
      await newThread(page)
      await say(page, "What time is it?")
      await finished(page)
      const second = hash()
      assert.notStrictEqual(first, second)
      await page.getByRole("button", { name: "Look inside" }).click()
      const steps = page.getByRole("list", { name: "Steps of the turn" })
      await steps.getByText("Settle").waitFor()
      await soon(page, async () => assert.match(hash(), new RegExp(`^${second}/[^/]+$`)))
      await steps.getByRole("button", { name: "Tool server_clock" }).click()
      await soon(page, async () => assert.match(hash(), /\/2$/))
      const inside = page.url()
      await page.goBack()
      await steps.waitFor({ state: "detached" })
      await soon(page, async () => assert.strictEqual(hash(), second))
      await page.goBack()
      await page.locator(".question", { hasText: "count to 3" }).waitFor()
      await soon(page, async () => assert.strictEqual(hash(), first))
      await soon(page, async () => assert.strictEqual(await page.title(), "count to 3 · Iris · Colloquy"))
      await page.goForward()
      await page.locator(".question", { hasText: "What time is it?" }).waitFor()
      const other = await page.context().newPage()
      await other.goto(inside)
      await other.getByRole("button", { name: "Tool server_clock", pressed: true }).waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("of rooms are followed from the rail, and Talk is where it was", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Jon" })
      await say(page, "count to 4")
      await finished(page)
      await openRoom(page, "Voice")
      await page.getByRole("heading", { name: "Talk to Jon" }).waitFor()
      await soon(page, async () => assert.strictEqual(await page.title(), "Voice · Colloquy"))
      assert.deepStrictEqual(await faults(page), [], "voice")
      await openRoom(page, "Talk")
      await lastAnswer(page).getByText("1 2 3 4").waitFor()
      await page.goBack()
      await page.getByRole("heading", { name: "Talk to Jon" }).waitFor()
      await page.reload()
      await page.getByRole("heading", { name: "Talk to Jon" }).waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("of a thread that is not there say so, and show another one", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.locator("main .composer").waitFor()
      await page.goto(`${server.url}/#/talk/00000000-0000-4000-8000-000000000000`)
      await page.reload()
      await page.getByRole("alert").waitFor()
      await page.locator("main .composer").waitFor()
    })
  })

  it("finds rooms, actions, assistants, threads and runs by a few letters, with the keyboard alone", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Kleo" })
    await say(page, "count to 17")
    await finished(page)
    await newThread(page)
    await page.keyboard.press("Control+k")
    const field = page.getByRole("combobox", { name: "Find anything" })
    await field.fill("thread count 17")
    await page.getByRole("option", { name: "count to 17" }).waitFor()
    assert.deepStrictEqual(await faults(page), [], "palette")
    await page.keyboard.press("Enter")
    await page.locator(".question", { hasText: "count to 17" }).waitFor()
    await page.keyboard.press("Control+k")
    await field.fill("run 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17")
    await page.getByRole("option").first().waitFor()
    await page.keyboard.press("Enter")
    await page.getByRole("list", { name: "Steps of the turn" }).waitFor()
    await page.keyboard.press("Control+k")
    await field.fill("room voice")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Talk to Kleo" }).waitFor()
    await page.keyboard.press("Control+k")
    await field.fill("nothing like this")
    await page.getByText("Nothing is found.").waitFor()
    await page.keyboard.press("Escape")
    await field.waitFor({ state: "detached" })
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("waits with a message until its file is read, says so, and lets it be taken back", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Lea" })
    let mayRead: () => void = () => {}
    const isHeld = new Promise<void>((resolve) => (mayRead = resolve))
    await page.route("**/documents/*/status", async (route) => {
      await isHeld
      await route.continue()
    })
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Attach files" }).click()
    ])
    const buffer = Buffer.from("The keeper is called Marguerite.")
    await chooser.setFiles({ name: "guide.md", mimeType: "text/markdown", buffer })
    await page.getByRole("list", { name: "Attached files" }).getByText("guide.md").waitFor()
    await say(page, "Who keeps it?")
    const waiting = page.getByRole("list", { name: "Waiting messages" })
    await waiting.getByText("It is sent when guide.md is read.").waitFor()
    assert.deepStrictEqual(await faults(page), [], "queue")
    await waiting.getByRole("button", { name: "Take back" }).click()
    await soon(page, async () =>
      assert.strictEqual(await page.getByLabel("Message", { exact: true }).inputValue(), "Who keeps it?")
    )
    await page.keyboard.press("Tab")
    await page.getByRole("button", { name: "Send", exact: true }).click()
    await waiting.getByText("Who keeps it?").waitFor()
    await soon(page, async () => assert.strictEqual(await page.locator(".question").count(), 0))
    mayRead()
    await finished(page)
    await page.locator(".question", { hasText: "guide.md" }).waitFor()
    await soon(page, async () => assert.strictEqual(await waiting.count(), 0))
    const { messages } = await caller(server)("GET", `/threads/${new URL(page.url()).hash.split("/")[2]}`)
    assert.strictEqual(messages[0].attachments.length, 1)
    assert.deepStrictEqual(visitor.complaints, [])
  })
})
