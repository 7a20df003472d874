/** The page in a real browser, against a server in this process with the demo model. Each function once; conditions are waited for. */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { inChromium } from "../../test/browser.ts"
import { type RunningServer, startServer } from "./Server.ts"
import { type Environment, readSettings } from "./Settings.ts"

const start = async (environment: Environment = {}) =>
  startServer(await Effect.runPromise(readSettings({ COLLOQUY_DATA_DIR: "memory://", PORT: "0", ...environment })))

const keyOf = (server: RunningServer) => (server.newKey === null ? "" : Redacted.value(server.newKey))

interface Visit {
  readonly page: Page
  /** What the browser complained about. */
  readonly complaints: Array<string>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** A visitor of his own, with nothing in his browser's memory. */
const visit = async (browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Visit> => {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const complaints: Array<string> = []
  page.on("pageerror", (error) => complaints.push(error.message))
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
  })
  await page.goto(address)
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() }
}

const makeAssistant = async (page: Page, { name = "Ada", tools = "" } = {}) => {
  await page.locator("#making[open]").waitFor()
  await page.getByLabel("Name").fill(name)
  await page.getByLabel("Tools that you answer by hand").fill(tools)
  await page.getByRole("button", { name: "Make assistant" }).click()
  await page.locator("#assistants [aria-current]", { hasText: name }).waitFor()
  await page.locator("#send:enabled").waitFor()
}

const say = async (page: Page, text: string) => {
  await page.locator("#send:enabled").waitFor()
  await page.getByLabel("Message", { exact: true }).fill(text)
  await page.keyboard.press("Enter")
}

const answers = (page: Page) => page.locator("#messages .answer")
const lastText = (page: Page) => answers(page).last().locator(".text")
const finished = (page: Page, count = 1) =>
  page
    .locator("#messages .answer:not(.live)")
    .nth(count - 1)
    .waitFor()
const numbers = (to: number) => Array.from({ length: to }, (_, index) => index + 1).join(" ")

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  beforeAll(async () => {
    server = await start()
    browser = await launch()
    address = `${server.url}/#key=${keyOf(server)}`
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
  })

  describe("the page", () => {
    it("makes an assistant, streams its answer and shows its reasoning", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page)
      assert.notInclude(page.url(), "key=")
      await page.getByLabel("Think aloud").check()
      await say(page, "count to 60")
      await answers(page).locator("details", { hasText: "Counting is something" }).waitFor()
      await page.locator(".live .text", { hasText: "1 2 3" }).waitFor()
      await finished(page)
      assert.strictEqual(await lastText(page).textContent(), numbers(60))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("goes on after a reload in the middle of an answer, without a word lost or doubled", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.locator("#new-thread:enabled").click()
      await say(page, "count to 120")
      await page.locator(".live .text", { hasText: "9 10" }).waitFor()
      await page.reload()
      await page.locator(".live .text", { hasText: "1 2 3" }).waitFor()
      await finished(page)
      assert.strictEqual(await lastText(page).textContent(), numbers(120))
      assert.strictEqual(await page.locator("#messages .user").count(), 1)
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("goes on by itself when the connection breaks", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.locator("#new-thread:enabled").click()
      await page.route("**/messages", async (route) => {
        const whole = await (await route.fetch()).text()
        const body = whole.slice(0, whole.indexOf('"content":" 20"'))
        await route.fulfill({ contentType: "text/event-stream", body })
      })
      await say(page, "count to 30")
      await finished(page)
      assert.strictEqual(await lastText(page).textContent(), numbers(30))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("lets a tool call be answered by hand, also after a reload", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.locator("#making summary").click()
      await makeAssistant(page, { name: "Bob", tools: "get_weather: the weather of a city\nget_news" })
      await say(page, "get_weather, please")
      await page.getByLabel("get_weather({})").waitFor()
      await page.reload()
      await page.getByLabel("get_weather({})").fill("rain")
      await page.getByRole("button", { name: "Send the results" }).click()
      await finished(page, 2)
      assert.strictEqual(await lastText(page).textContent(), "get_weather says: rain")
      await page.reload()
      await page.locator(".notes", { hasText: "get_weather → rain" }).waitFor()
      assert.isTrue(await page.locator("#tool-form").isHidden())
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("cancels, and keeps what was said", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.locator("#new-thread:enabled").click()
      await say(page, "count to 1000")
      await page.locator(".live .text", { hasText: "1 2 3" }).waitFor()
      await page.getByRole("button", { name: "Cancel" }).click()
      await answers(page).locator(".notes", { hasText: "Cancelled." }).waitFor()
      const said = await lastText(page).textContent()
      await page.reload()
      await answers(page).locator(".notes", { hasText: "Cancelled." }).waitFor()
      assert.strictEqual(await lastText(page).textContent(), said)
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("shows the log and the prompt of every turn", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.locator("#new-thread:enabled").click()
      await say(page, "What time is it?")
      await finished(page)
      await say(page, "count to 3")
      await finished(page, 2)
      const events = page.locator("#events")
      await events.getByText("run_ended").waitFor()
      await events.locator("summary", { hasText: "content_streaming × 3" }).click()
      await events.getByText('{"content":" 2"}').waitFor()
      await page.reload()
      await page.getByRole("button", { name: "Look inside" }).first().click()
      await events.getByText("tool_call_ready").waitFor()
      await page.getByRole("tab", { name: "Context" }).click()
      const context = page.locator("#context")
      await context.getByText("tokens of a window of 32000").waitFor()
      assert.strictEqual(await context.locator("tr", { hasText: "tools" }).count(), 1)
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("asks typed questions, and shows the answers as bars, also after a reload", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.locator("#new-thread:enabled").click()
      await page.locator("#asking summary").click()
      await page.locator("#questions").fill("no JSON")
      await say(page, "I want my money back today")
      await page.getByRole("status").getByText("no JSON object").waitFor()
      const topic = {
        type: "choice",
        instructions: "Topic?",
        criteria: { refund: "money back", delivery: "parcel late" }
      }
      const anger = { type: "score", instructions: "How angry?", criteria: ["calm", "furious"] }
      const questions = { urgent: { type: "noul", instructions: "Is it urgent today?" }, topic, anger }
      await page.locator("#questions").fill(JSON.stringify(questions))
      await page.locator("#send").click()
      await finished(page)
      const values = () =>
        page.evaluate<ReadonlyArray<number>>('[...document.querySelectorAll(".chart meter")].map(({ value }) => value)')
      const shown = await values()
      assert.lengthOf(shown, 5)
      assert.isAbove(shown[1] ?? 0, shown[2] ?? 1)
      assert.closeTo((shown[1] ?? 0) + (shown[2] ?? 0), 1, 1e-9)
      await page.locator(".bar.chosen", { hasText: "refund" }).waitFor()
      await page.locator(".chart h3", { hasText: "topic: refund, confidence" }).waitFor()
      await page.locator("#events").getByText("run_ended").waitFor()
      await page.reload()
      await page.locator(".chart h3", { hasText: "urgent:" }).waitFor()
      assert.deepStrictEqual(await values(), shown)
      await say(page, "count to 3")
      await finished(page, 2)
      assert.strictEqual(await lastText(page).textContent(), "1 2 3")
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("tells what is wrong in words: a key, a tool list", async () => {
      await using visitor = await visit(browser, `${server.url}/#key=wrong`)
      const { page } = visitor
      await page.getByRole("alert").getByText("Invalid or missing API key").waitFor()
      await page.getByLabel("Key", { exact: true }).fill(keyOf(server))
      await page.getByRole("button", { name: "Go" }).click()
      await page.locator("#new-thread:enabled").waitFor()
      await page.locator("#making summary").click()
      await page.getByLabel("Tools that you answer by hand").fill("[1")
      await page.getByRole("button", { name: "Make assistant" }).click()
      await page.getByRole("status").getByText("begin like a JSON list").waitFor()
    })

    it("fits a narrow screen", async () => {
      await using visitor = await visit(browser, address, { viewport: { width: 360, height: 640 } })
      const { page } = visitor
      await page.getByRole("button", { name: "Threads" }).click()
      await page.getByRole("button", { name: "New thread" }).click()
      await say(page, "count to 3")
      await finished(page)
      await page.getByRole("button", { name: "Inside", exact: true }).click()
      await page.locator("#events").getByText("run_ended").waitFor()
      const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
      assert.isAtMost(overflow, 0)
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  it("works with the keyboard alone, also where the API is at the root", async () => {
    const own = await start({ BASE_PATH: "" })
    try {
      await using visitor = await visit(browser, `${own.url}/#key=${keyOf(own)}`)
      const { page } = visitor
      const press = (...names: ReadonlyArray<string>) =>
        names.reduce((before, name) => before.then(() => page.keyboard.press(name)), Promise.resolve())
      const focusOn = (id: string) => page.locator(`${id}:focus`).waitFor()
      await focusOn("[name=name]")
      await page.keyboard.type(" Lovelace")
      await press("Tab", "Tab", "Tab", "Tab", "Enter")
      await focusOn("#content")
      await page.keyboard.type("count to 1000")
      await press("Enter")
      await page.locator(".live .text", { hasText: "1 2 3" }).waitFor()
      await press("Escape")
      await finished(page)
      await press("Tab", "Space", "Shift+Tab")
      assert.isTrue(await page.getByLabel("Think aloud").isChecked())
      await page.keyboard.type("count to 3")
      await press("Enter")
      await finished(page, 2)
      await page.getByRole("tab", { name: "Events" }).focus()
      await press("ArrowRight")
      await focusOn("#tab-context")
      await page.locator("#context").getByText("tokens of a window").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    } finally {
      await own.stop()
    }
  })
})
