/** Small acts of the studio in a real browser: the wheel, copies, a file of memories, a key that is revoked, and what a window leaves out. */
import { assert, describe, it } from "@effect/vitest"
import { readFile } from "node:fs/promises"
import type { Browser } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { choose, faults, finished, lastAnswer, makeAssistant, openRoom, say, soon, visit } from "./StudioVisit.ts"
import { shareDemo } from "./DemoStudio.ts"
import { caller, serverKey, startDemo } from "../../server/test/TestServer.ts"

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  let call: ReturnType<typeof caller>
  shareDemo(launch, (opened) => {
    ;({ address, browser, server } = opened)
    call = caller(server)
  })

  it("the wheel scrolls a conversation, whose new words do not pull a reader back to the end", async () => {
    const { assistant_id } = await call("POST", "/assistants", { name: "Wheel" })
    const messages = Array.from({ length: 60 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `Line ${index}`
    }))
    const { thread_id } = await call("POST", `/assistants/${assistant_id}/threads/import`, { messages })
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await page.locator("main .composer").waitFor()
    await page.goto(`${server.url}/#/talk/${thread_id}`)
    await page.getByText("Line 58", { exact: true }).waitFor()
    await say(page, "count to 300")
    await page.locator(".live .text", { hasText: "1 2 3" }).waitFor()
    const top = () => page.evaluate<number>("document.querySelector('.messages').scrollTop")
    const end = await top()
    await page.locator(".messages").hover()
    await page.mouse.wheel(0, -600)
    await soon(page, async () => assert.isBelow(await top(), end - 300))
    const read = await top()
    await finished(page, 31)
    assert.strictEqual(await top(), read)
    await page.mouse.wheel(0, 10_000)
    await lastAnswer(page).getByText("299 300").waitFor()
    await soon(page, async () => assert.isAbove(await top(), read))
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("an answer and its code are copied, and the act says so", async () => {
    const permissions = ["clipboard-read", "clipboard-write"]
    await using visitor = await visit(browser, address, { permissions })
    const { page } = visitor
    await makeAssistant(page, { name: "Copied" })
    await say(page, "Show me some markdown")
    await finished(page)
    const copied = () => page.evaluate<string>("navigator.clipboard.readText()")
    await lastAnswer(page).hover()
    await lastAnswer(page).locator("footer").getByRole("button", { name: "Copy", exact: true }).click()
    await lastAnswer(page).locator("footer").getByRole("button", { name: "Copied" }).waitFor()
    assert.include(await copied(), "**strong**")
    // As where the page is read without HTTPS.
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    await lastAnswer(page).locator("figure.code").getByRole("button", { name: "Copy" }).click()
    await lastAnswer(page).locator("figure.code").getByRole("button", { name: "Copied" }).waitFor()
    await page.evaluate("delete navigator.clipboard")
    assert.match(await copied(), /^\/\/ Greets by name\.\nconst greet/u)
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("memories are saved as a file, which another assistant reads", async () => {
    const { assistant_id } = await call("POST", "/assistants", { name: "Full" })
    await call("POST", `/assistants/${assistant_id}/memories`, { content: "The user plays chess." })
    const { assistant_id: other } = await call("POST", "/assistants", { name: "Empty" })
    await using visitor = await visit(browser, address)
    const { page } = visitor
    const open = async (id: string) => {
      await page.getByRole("combobox", { name: "Assistant", exact: true }).selectOption(id)
      await page.getByRole("link", { name: "Memories" }).click()
    }
    await openRoom(page, "Knowledge")
    await open(assistant_id)
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as a file" }).click()
    ])
    const buffer = await readFile(await saved.path())
    assert.include(JSON.parse(buffer.toString()).content, "chess")
    await open(other)
    await page.getByText("Nothing is remembered yet.").waitFor()
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Read from a file" }).click()
    ])
    await chooser.setFiles({ name: saved.suggestedFilename(), mimeType: "application/x-ndjson", buffer })
    await page.getByRole("region", { name: "Memories" }).getByText("The user plays chess.").waitFor()
    assert.strictEqual((await call("GET", `/assistants/${other}/memories`)).total_count, 1)
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("what a window leaves out is said beside what it has, and why", async () => {
    const { assistant_id } = await call("POST", "/assistants", { name: "Window" })
    const messages = Array.from({ length: 40 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `${index} ${"many words of old days ".repeat(300)}`
    }))
    const { thread_id } = await call("POST", `/assistants/${assistant_id}/threads/import`, { messages })
    const { run_id } = await call("POST", `/threads/${thread_id}/messages`, { content: "count to 2" })
    await using visitor = await visit(browser, address, { viewport: { width: 1440, height: 900 } })
    const { page } = visitor
    await page.locator("main .composer").waitFor()
    await page.goto(`${server.url}/#/runs/${run_id}/${thread_id}`)
    const panel = page.getByRole("tabpanel")
    await page.getByRole("list", { name: "Steps of the turn" }).getByText("Model").click()
    await panel.getByText("As a request: curl, TypeScript").click()
    await panel.locator("pre", { hasText: /^curl '/u }).waitFor()
    await panel.locator("pre", { hasText: "await fetch(" }).waitFor()
    await page.getByRole("tab", { name: "Prompt" }).click()
    await panel.getByText(/^Left out of “Earlier messages”: \d+ messages, /u).waitFor()
    assert.deepStrictEqual(await faults(page), [], "left out")
    assert.deepStrictEqual(visitor.complaints, [])
  })

  describe("a key", () => {
    it("that is revoked is said to be, refused after seconds, and the page asks for another one", async () => {
      const own = await startDemo()
      try {
        await using visitor = await visit(browser, `${own.url}/#key=${serverKey(own)}`)
        const { page } = visitor
        await choose(page, "Usage and limits")
        await page.getByRole("link", { name: "Keys", exact: true }).click()
        await page.getByRole("button", { name: "Revoke first start" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click()
        await page.getByRole("list", { name: "Keys" }).getByText("revoked").waitFor()
        const headers = { "x-api-key": serverKey(own) }
        // The server remembers a key for a few seconds.
        await soon(page, async () =>
          assert.strictEqual((await fetch(`${own.url}/api/assistants`, { headers })).status, 401)
        )
        await page.reload()
        await page.getByRole("dialog", { name: "API key" }).waitFor()
      } finally {
        await own.stop()
      }
    })
  })
})
