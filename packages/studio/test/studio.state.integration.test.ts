/** What the studio keeps and shows of its state: what was typed, the model of a thread, the order of an answer, two tabs, the key. */
import { assert, describe, it } from "@effect/vitest"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import {
  answers,
  faults,
  finished,
  lastAnswer,
  lastText,
  makeAssistant,
  newThread,
  numbers,
  say,
  visit,
  soon
} from "./StudioVisit.ts"
import { shareDemo } from "./DemoStudio.ts"
import { caller, serverKey } from "../../server/test/TestServer.ts"

const modelOfThread = (page: Page) => page.getByRole("combobox", { name: "Model for this thread" })

/** The model of the picker with this label, chosen from its list as a user does. */
const choose = async (page: Page, label: string, model: string): Promise<void> => {
  await page.getByRole("combobox", { name: label }).click()
  await page.getByRole("option", { name: model }).click()
}

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  shareDemo(launch, (opened) => {
    ;({ address, browser, server } = opened)
  })

  it("never scrolls away as a whole, however long a thread and whatever is looked at", async () => {
    const call = caller(server)
    const { assistant_id } = await call("POST", "/assistants", { name: "Tall" })
    const { thread_id } = await call("POST", `/assistants/${assistant_id}/threads`, {})
    for (let index = 0; index < 40; index++) {
      const content = `message ${index}\n\nwith a second line`
      await call("POST", `/threads/${thread_id}/messages`, { content, send_to_llm: false })
    }
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await page.goto(`${server.url}/#${thread_id}`)
    await page.reload()
    await page.locator(".question").nth(39).waitFor()
    const overflow =
      "Math.max(...['html', 'body', '.studio', 'main', '.talk'].map((name) => { const e = document.querySelector(name); return e.scrollHeight - e.clientHeight }))"
    await soon(page, async () => assert.strictEqual(await page.evaluate<number>(overflow), 0))
    // A screen reader, a search in the page or a script brings any element into view.
    await page.evaluate("for (const e of document.querySelectorAll('.unseen')) e.scrollIntoView()")
    const top = "document.querySelector('.bar').getBoundingClientRect().top"
    assert.strictEqual(await page.evaluate<number>(top), 0)
    await soon(page, async () => assert.isTrue(await page.getByLabel("Message", { exact: true }).isVisible()))
  })

  describe("an assistant's form", () => {
    it("keeps the name that was typed when a model is chosen, for a new assistant and for an old one", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      const dialog = page.getByRole("dialog")
      const name = dialog.getByLabel("Name", { exact: true })
      await page.getByRole("button", { name: "New assistant" }).click()
      await name.fill("Hedy")
      await dialog.getByLabel("Instructions").fill("Be kind.")
      await choose(page, "Model", "demo/demo-1")
      await soon(page, async () => assert.strictEqual(await name.inputValue(), "Hedy"))
      await soon(page, async () => assert.strictEqual(await dialog.getByLabel("Instructions").inputValue(), "Be kind."))
      await dialog.getByRole("button", { name: "Make assistant" }).click()
      await page.getByRole("button", { name: "Edit assistant Hedy" }).click()
      await name.fill("Hedy Lamarr")
      await dialog.getByRole("combobox", { name: "Model" }).fill("demo/")
      await soon(page, async () => assert.strictEqual(await name.inputValue(), "Hedy Lamarr"))
    })

    it("removes the model of an assistant", async () => {
      const call = caller(server)
      const made = { name: "Bound", llm_provider: "demo", model_name: "demo-1" }
      const { assistant_id } = await call("POST", "/assistants", made)
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.getByRole("button", { name: "Edit assistant Bound" }).click()
      await page.getByRole("dialog").getByRole("combobox", { name: "Model" }).fill("")
      await page.getByRole("button", { name: "Save" }).click()
      await page.getByRole("dialog").waitFor({ state: "detached" })
      const { llm_provider, model_name } = await call("GET", `/assistants/${assistant_id}`)
      assert.deepStrictEqual({ llm_provider, model_name }, { llm_provider: null, model_name: null })
    })
  })

  describe("Escape", () => {
    it("asks before it throws away what was typed into a dialog, however often it is pressed", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      const dialog = page.getByRole("dialog")
      await page.getByRole("button", { name: "New assistant" }).click()
      await dialog.waitFor()
      await page.keyboard.press("Escape")
      await dialog.waitFor({ state: "detached" })
      await page.getByRole("button", { name: "New assistant" }).click()
      await dialog.getByLabel("Instructions").fill("Two hours of work.")
      for (let time = 0; time < 4; time++) await page.keyboard.press("Escape")
      await dialog.getByRole("alert").getByText("is not saved").waitFor()
      await soon(page, async () =>
        assert.strictEqual(await dialog.getByLabel("Instructions").inputValue(), "Two hours of work.")
      )
      await dialog.getByRole("button", { name: "Keep writing" }).click()
      await soon(page, async () =>
        assert.strictEqual(await dialog.getByLabel("Instructions").inputValue(), "Two hours of work.")
      )
      await page.keyboard.press("Escape")
      await dialog.getByRole("button", { name: "Discard it" }).click()
      await dialog.waitFor({ state: "detached" })
    })

    it("keeps a result that is being typed, and the run that waits for it", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Carla", tools: "get_news: the news" })
      await say(page, "get_news")
      const result = page.getByRole("textbox", { name: "Result of get_news" })
      await result.fill("A long story")
      await page.keyboard.press("Escape")
      await page.getByLabel("Message", { exact: true }).fill("a thought")
      await page.keyboard.press("Escape")
      await soon(page, async () => assert.strictEqual(await result.inputValue(), "A long story"))
      await page.getByRole("button", { name: "Send the results" }).click()
      await finished(page, 2)
      await soon(page, async () =>
        assert.strictEqual(await lastText(page).textContent(), "get_news says: A long story")
      )
      await soon(page, async () =>
        assert.strictEqual(await page.getByLabel("Message", { exact: true }).inputValue(), "a thought")
      )
    })
  })

  it("keeps the model of each thread, over other threads and a reload", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Dora" })
    await page.getByRole("button", { name: "Options" }).click()
    await choose(page, "Model for this thread", "demo/demo-1")
    await say(page, "first")
    await finished(page)
    await newThread(page)
    await soon(page, async () => assert.strictEqual(await modelOfThread(page).inputValue(), ""))
    await say(page, "second")
    await finished(page)
    await page.getByRole("region", { name: "Threads" }).getByText("first").click()
    await page.locator(".question", { hasText: "first" }).waitFor()
    await soon(page, async () => assert.strictEqual(await modelOfThread(page).inputValue(), "demo/demo-1"))
    await page.reload()
    await page.getByRole("button", { name: "Options" }).click()
    await soon(page, async () => assert.strictEqual(await modelOfThread(page).inputValue(), "demo/demo-1"))
    await modelOfThread(page).fill("")
    await page.reload()
    await page.getByRole("button", { name: "Options" }).click()
    await soon(page, async () => assert.strictEqual(await modelOfThread(page).inputValue(), ""))
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("keeps the options of each thread, as chips above the field that put them back", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    const chips = page.getByRole("list", { name: "Options of this thread" })
    await makeAssistant(page, { name: "Chips" })
    await page.getByRole("button", { name: "Options" }).click()
    await page.getByLabel("Reasoning").selectOption("low")
    await page.getByLabel("Memory").selectOption("Readonly")
    await say(page, "count to 2")
    await finished(page)
    await soon(page, async () =>
      assert.deepStrictEqual(await chips.getByRole("listitem").allTextContents(), ["A little reasoning", "Remembers"])
    )
    assert.deepStrictEqual(await faults(page), [], "chips")
    await newThread(page)
    await chips.waitFor({ state: "detached" })
    await page.goBack()
    await chips.getByRole("button", { name: "Without: Remembers" }).click()
    await page.reload()
    await soon(page, async () =>
      assert.deepStrictEqual(await chips.getByRole("listitem").allTextContents(), ["A little reasoning"])
    )
    const [request] = await Promise.all([page.waitForRequest("**/messages"), say(page, "count to 3")])
    assert.deepInclude(request.postDataJSON(), { thinking: { effort: "low" } })
    assert.notProperty(request.postDataJSON(), "memory")
    await finished(page, 2)
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("draws text, tool and text in the order in which they came, while they come and after a reload", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Emil" })
    await say(page, "what time is it")
    await finished(page)
    const order = async () =>
      (await lastAnswer(page).locator(".text, .calls").allTextContents()).map((text) =>
        text.includes("(UTC)") && text.startsWith("server_clock says")
          ? "text"
          : text.startsWith("One moment")
            ? "begin"
            : "tool"
      )
    await soon(page, async () => assert.deepStrictEqual(await order(), ["begin", "tool", "text"]))
    await page.reload()
    await finished(page)
    await soon(page, async () => assert.deepStrictEqual(await order(), ["begin", "tool", "text"]))
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("shows in a second tab what happens in the first", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Frida", tools: "get_news: the news" })
    await say(page, "count to 5")
    await finished(page)
    const other = await page.context().newPage()
    await other.goto(page.url())
    await finished(other)
    await other.getByLabel("Message", { exact: true }).fill("half a thought")
    await say(page, "count to 60")
    await other.locator(".answer.live .text", { hasText: "1 2 3" }).waitFor()
    await finished(other, 2)
    await soon(other, async () => assert.strictEqual(await lastText(other).textContent(), numbers(60)))
    await soon(other, async () =>
      assert.strictEqual(await other.getByLabel("Message", { exact: true }).inputValue(), "half a thought")
    )
    await say(page, "get_news")
    await other.getByRole("group", { name: "The assistant waits" }).waitFor()
    await other.locator(".item.current").getByText("waits for you").waitFor()
    await other.getByRole("button", { name: "New thread" }).click()
    const threads = other.getByRole("list", { name: "Today" })
    await threads.getByRole("listitem").filter({ hasText: "count to 5" }).getByText("waits for you").waitFor()
    await other.goBack()
    await other.getByRole("group", { name: "The assistant waits" }).waitFor()
    await page.getByRole("textbox", { name: "Result of get_news" }).fill("none")
    await page.getByRole("button", { name: "Send the results" }).click()
    await answers(other).getByText("get_news says: none").waitFor()
    await soon(other, async () =>
      assert.strictEqual(await other.getByRole("group", { name: "The assistant waits" }).count(), 0)
    )
    await page.getByRole("button", { name: "Rename thread count to 5" }).click()
    await page.getByLabel("Title of the thread").fill("Numbers")
    await page.keyboard.press("Enter")
    await other.getByRole("region", { name: "Threads" }).getByText("Numbers").waitFor()
    await page.getByRole("button", { name: "Delete thread Numbers" }).click()
    await page.getByRole("button", { name: "Delete thread", exact: true }).click()
    await other.getByText("Say something").waitFor()
    assert.deepStrictEqual(visitor.complaints, [])
  })

  describe("a key in the address", () => {
    it("is taken only after a question where another one is kept, and leaves the address in any case", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.getByRole("button", { name: "New assistant" }).waitFor()
      const kept = () => page.evaluate<string>("localStorage.getItem('colloquy-key')")
      await page.goto(`${server.url}/#key=somebody-elses-key`)
      const dialog = page.getByRole("dialog", { name: "Use another API key?" })
      await dialog.waitFor()
      await soon(page, async () => assert.notInclude(page.url(), "key="))
      await soon(page, async () => assert.strictEqual(await kept(), serverKey(server)))
      await dialog.getByRole("button", { name: "Keep mine" }).click()
      await soon(page, async () => assert.strictEqual(await kept(), serverKey(server)))
      await page.goto("about:blank")
      await page.goto(`${server.url}/#key=somebody-elses-key`)
      await dialog.getByRole("button", { name: "Use the other key" }).click()
      await page.getByRole("alert").getByText("Invalid or missing API key").waitFor()
      await soon(page, async () => assert.strictEqual(await kept(), "somebody-elses-key"))
    })

    it("that is kept already asks nothing", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.getByRole("button", { name: "New assistant" }).waitFor()
      await page.goto("about:blank")
      await page.goto(address)
      await page.getByRole("button", { name: "New assistant" }).waitFor()
      await soon(page, async () => assert.strictEqual(await page.getByRole("dialog").count(), 0))
      await soon(page, async () => assert.notInclude(page.url(), "key="))
    })
  })
})
