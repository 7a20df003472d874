/** The studio in a real browser, against a server in this process with the demo model: messages, lists, tools, the details of a turn. */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { readFile } from "node:fs/promises"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import {
  faults,
  answers,
  choose,
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
import { caller, serverKey, startDemo } from "../../server/test/TestServer.ts"

const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a city",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", title: "City", description: "Where" },
        days: { type: "integer", minimum: 1, maximum: 7 },
        unit: { enum: ["celsius", "fahrenheit"] }
      },
      required: ["city", "days"]
    }
  }
}

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  beforeAll(async () => {
    // The second provider is one that nobody answers for: port 9 of this machine discards or refuses.
    server = await startDemo({ VLLM_BASE_URL: "http://127.0.0.1:9/v1" })
    browser = await launch()
    address = `${server.url}/#key=${serverKey(server)}`
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
  })

  describe("talking", () => {
    it("makes the first assistant, streams its answer and shows its reasoning", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Ada" })
      await soon(page, async () => assert.notInclude(page.url(), "key="))
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByLabel("Reasoning").selectOption("on")
      await say(page, "count to 60")
      await lastAnswer(page).locator(".thoughts", { hasText: "nothing to think about" }).waitFor()
      await page.locator(".live .text", { hasText: "1 2 3" }).waitFor()
      await finished(page)
      await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), numbers(60)))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("shows markdown as elements, and nothing of it as HTML", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await newThread(page)
      await say(page, "Show me some markdown")
      await finished(page)
      const text = lastText(page)
      await text.getByRole("heading", { name: "A sample of markdown" }).waitFor()
      await soon(page, async () => assert.strictEqual(await text.locator("strong").textContent(), "strong"))
      await soon(page, async () => assert.strictEqual(await text.locator("li").count(), 3))
      await soon(page, async () => assert.strictEqual(await text.getByRole("cell", { name: "32000" }).count(), 1))
      await soon(page, async () =>
        assert.include(await text.locator("figure.code pre").textContent(), "console.log(greet")
      )
      await soon(page, async () =>
        assert.strictEqual(await text.locator(".code-keyword").first().textContent(), "const")
      )
      const link = text.getByRole("link", { name: "link somewhere" })
      await soon(page, async () => assert.strictEqual(await link.getAttribute("rel"), "noopener noreferrer nofollow"))
      await soon(page, async () => assert.strictEqual(await text.locator("script").count(), 0))
      await text.getByText("<script>alert('this stays text')</script>").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("goes on after a reload in the middle of an answer, without a word lost or doubled", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await newThread(page)
      await say(page, "count to 120")
      await page.locator(".live .text", { hasText: "9 10" }).waitFor()
      await page.reload()
      await page.locator(".live .text", { hasText: "1 2 3" }).waitFor()
      await finished(page)
      await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), numbers(120)))
      await soon(page, async () => assert.strictEqual(await page.locator(".question").count(), 1))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("marks half an answer when the connection breaks, and goes on by itself", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await newThread(page)
      let mayResume: () => void = () => {}
      const isHeld = new Promise<void>((resolve) => (mayResume = resolve))
      await page.route("**/messages", async (route) => {
        const whole = await (await route.fetch()).text()
        const body = whole.slice(0, whole.indexOf('"content":" 20"'))
        await route.fulfill({ contentType: "text/event-stream", body })
      })
      await page.route("**/events?after=*", async (route) => {
        await isHeld
        await route.continue()
      })
      await say(page, "count to 30")
      await lastAnswer(page).getByText("this is half an answer").waitFor()
      await soon(page, async () => assert.strictEqual(await page.locator(".caret").count(), 0))
      mayResume()
      await finished(page)
      await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), numbers(30)))
      await soon(page, async () => assert.strictEqual(await page.getByText("this is half an answer").count(), 0))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("cancels, and keeps what was said", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await newThread(page)
      await say(page, "count to 1000")
      await page.locator(".live .text", { hasText: "1 2 3" }).waitFor()
      await page.getByRole("button", { name: "Cancel" }).click()
      await lastAnswer(page).getByText("Cancelled.").waitFor()
      const said = await lastText(page).textContent()
      await page.reload()
      await lastAnswer(page).getByText("Cancelled.").waitFor()
      await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), said))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("keeps a hosted tool's call and its result over a reload", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await newThread(page)
      await say(page, "What time is it?")
      await finished(page)
      const call = lastAnswer(page).getByRole("listitem").filter({ hasText: "server_clock" })
      await call.getByText("(UTC)").first().waitFor()
      await page.reload()
      await call.locator("summary").click()
      await call.getByLabel("Result of server_clock").getByText("(UTC)").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("asks typed questions, and shows the answers as bars, also after a reload", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await newThread(page)
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByLabel("Ask typed questions").check()
      const row = (number: number) => page.getByRole("group", { name: `Question ${number}` })
      await row(1).getByLabel("Name").fill("")
      await say(page, "I want my money back today")
      await page.getByRole("alert").getByText("A question has no name.").waitFor()
      await soon(page, async () =>
        assert.strictEqual(await page.getByLabel("Message", { exact: true }).inputValue(), "I want my money back today")
      )
      await row(1).getByLabel("Name").fill("urgent")
      await page.getByRole("button", { name: "Add a question" }).click()
      await row(3).getByLabel("Name").fill("anger")
      await row(3).getByLabel("Kind").selectOption("A level on a scale")
      await row(3).getByLabel("What is asked").fill("How angry?")
      await row(3).getByLabel("Levels").fill("calm\nfurious")
      await page.getByRole("list", { name: "Options of this thread" }).getByText("3 typed questions").waitFor()
      assert.deepStrictEqual(await faults(page), [], "questions")
      await page.getByRole("button", { name: "Send", exact: true }).click()
      await finished(page)
      const values = () =>
        page.evaluate<ReadonlyArray<number>>('[...document.querySelectorAll(".chart meter")].map(({ value }) => value)')
      await page.locator(".chart meter").nth(4).waitFor()
      const shown = await values()
      assert.lengthOf(shown, 5)
      assert.isAbove(shown[1] ?? 0, shown[2] ?? 1)
      assert.closeTo((shown[1] ?? 0) + (shown[2] ?? 0), 1, 1e-9)
      await page.locator(".bar.chosen", { hasText: "refund" }).waitFor()
      await page.getByRole("heading", { name: "topic: refund, confidence" }).waitFor()
      await page.reload()
      await page.getByRole("heading", { name: "urgent:" }).waitFor()
      await soon(page, async () => assert.deepStrictEqual(await values(), shown))
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  describe("lists", () => {
    it("show threads with dates, find them by a word, rename and delete them", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Lister" })
      await say(page, "count to 2")
      await finished(page)
      await newThread(page)
      await say(page, "count to 3")
      await finished(page)
      const threads = page.getByRole("region", { name: "Threads" })
      await soon(page, async () => assert.strictEqual(await threads.locator("time").count(), 2))
      await soon(page, async () => assert.match((await threads.locator("time").first().textContent()) ?? "", /\d/))
      await threads.getByRole("button", { name: "Rename thread count to 3" }).click()
      await threads.getByLabel("Title of the thread").fill("Apples and pears")
      await page.keyboard.press("Enter")
      await threads.getByText("Apples and pears").waitFor()
      await page.reload()
      await threads.getByText("Apples and pears").waitFor()
      await threads.getByLabel("Search threads").fill("pear")
      await soon(page, async () =>
        assert.deepStrictEqual(await threads.locator(".title").allTextContents(), ["Apples and pears"])
      )
      await threads.getByRole("button", { name: "Delete thread Apples and pears" }).click()
      await page.getByRole("button", { name: "Delete thread", exact: true }).click()
      await threads.getByText("Apples and pears").waitFor({ state: "detached" })
      await page.reload()
      await threads.getByText("count to 2").waitFor()
      await soon(page, async () => assert.strictEqual(await threads.getByText("Apples and pears").count(), 0))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("let an assistant be edited, copied, searched and deleted", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Grace", tools: "get_news: the news" })
      const assistants = page.getByRole("region", { name: "Assistants" })
      await assistants.getByRole("button", { name: "Edit assistant Grace" }).click()
      await soon(page, async () =>
        assert.strictEqual(await page.getByLabel("Tools that you answer by hand").inputValue(), "get_news: the news")
      )
      await page.getByLabel("Name", { exact: true }).fill("Grace Hopper")
      await page.getByLabel("Instructions").fill("Be brief.")
      await page.getByRole("button", { name: "Save" }).click()
      await assistants.getByRole("button", { name: "Copy assistant Grace Hopper", exact: true }).click()
      await assistants.getByText("Grace Hopper Copy").waitFor()
      const call = caller(server)
      const stored: ReadonlyArray<{ readonly name: string; readonly system_prompt: string }> = await call(
        "GET",
        "/assistants"
      )
      assert.deepStrictEqual(
        stored.flatMap(({ name, system_prompt }) => (name.startsWith("Grace") ? [[name, system_prompt]] : [])),
        [
          ["Grace Hopper", "Be brief."],
          ["Grace Hopper Copy", "Be brief."]
        ]
      )
      await assistants.getByLabel("Search assistants").fill("copy")
      await soon(page, async () =>
        assert.deepStrictEqual(await assistants.locator(".title").allTextContents(), ["Grace Hopper Copy"])
      )
      await assistants.getByRole("button", { name: "Delete assistant Grace Hopper Copy" }).click()
      await page.getByRole("button", { name: "Delete assistant", exact: true }).click()
      await assistants.getByText("Nothing is found.").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("name a wrong model before a message is sent", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await page.getByRole("button", { name: "New assistant" }).click()
      const dialog = page.getByRole("dialog")
      const field = dialog.getByRole("combobox", { name: "Model" })
      await field.fill("demo/gpt-99")
      await dialog.getByRole("alert").getByText("There is no model “gpt-99” of demo in the catalogue.").waitFor()
      await soon(page, async () =>
        assert.isTrue(await dialog.getByRole("button", { name: "Make assistant" }).isDisabled())
      )
      await field.fill("demo-1")
      await dialog.getByRole("option", { name: "demo/demo-1" }).click()
      await soon(page, async () => assert.strictEqual(await field.inputValue(), "demo/demo-1"))
      await dialog.getByText("32,000 tokens").waitFor()
      await soon(page, async () =>
        assert.isTrue(await dialog.getByRole("button", { name: "Make assistant" }).isEnabled())
      )
      await page.keyboard.press("Escape")
      const call = caller(server)
      await call("POST", "/assistants", { name: "Wrong", llm_provider: "demo", model_name: "demo-0" })
      await page.reload()
      await page.getByRole("button", { name: "Wrong" }).first().click()
      await page.getByRole("alert").getByText("There is no model “demo-0” of demo").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("say why an answer failed, also after a reload", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      const call = caller(server)
      await call("POST", "/assistants", { name: "Failing", llm_provider: "vllm", model_name: "absent" })
      await page.reload()
      await page.getByRole("button", { name: "Failing" }).first().click()
      await say(page, "Hello?")
      await lastAnswer(page).getByText("This answer failed.").waitFor()
      const reason = await lastAnswer(page).locator(".mark.failed").textContent()
      assert.isAbove(reason?.length ?? 0, "This answer failed. ".length + 10)
      await page.reload()
      await page.getByRole("button", { name: "Failing" }).first().click()
      await lastAnswer(page)
        .locator(".mark.failed", { hasText: reason ?? "?" })
        .waitFor()
    })
  })

  describe("tools by hand", () => {
    it("are answered in one form with one primary button, by the tool's JSON Schema, also after a reload", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Bob", tools: JSON.stringify([weather]) })
      await say(page, "get_weather, please")
      const form = page.getByRole("group", { name: "The assistant waits for your results" })
      await form.getByText("City").waitFor()
      await page.reload()
      await form.getByText("get_weather, please").waitFor()
      await soon(page, async () =>
        assert.deepStrictEqual(await page.locator("button.primary").allTextContents(), ["Send the results"])
      )
      await form.getByRole("button", { name: "Form" }).click()
      await form.getByLabel("City").fill("Oslo")
      await form.getByLabel("days").fill("9")
      await form.getByLabel("unit").selectOption("celsius")
      await form.getByRole("button", { name: "Send the results" }).click()
      await form.getByRole("alert").getByText("“days” must be at most 7.").waitFor()
      await form.getByLabel("days").fill("2")
      await form.getByRole("button", { name: "Send the results" }).click()
      await finished(page, 2)
      const said = 'get_weather says: {"city":"Oslo","days":2,"unit":"celsius"}'
      await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), said))
      await page.reload()
      await answers(page).first().getByText('{"city":"Oslo","days":2,"unit":"celsius"}').first().waitFor()
      await soon(page, async () => assert.strictEqual(await form.count(), 0))
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("take plain text, and a run that waits can be cancelled", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Carl", tools: "get_news: the news" })
      await say(page, "get_news")
      await page.getByRole("textbox", { name: "Result of get_news" }).fill("none")
      await page.getByRole("button", { name: "Send the results" }).click()
      await finished(page, 2)
      await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), "get_news says: none"))
      await say(page, "get_news again")
      await page.getByRole("textbox", { name: "Result of get_news" }).waitFor()
      await page.getByRole("button", { name: "Cancel" }).click()
      await lastAnswer(page).getByText("Cancelled.").waitFor()
      await soon(page, async () =>
        assert.strictEqual(await page.getByRole("group", { name: "The assistant waits" }).count(), 0)
      )
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  describe("the inside of a turn", () => {
    it("is a waterfall with times and tokens, the prompt part by part, and the log", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await makeAssistant(page, { name: "Eve" })
      await say(page, "count to 3")
      await finished(page)
      await say(page, "What time is it?")
      await finished(page, 2)
      await page.reload()
      await page.getByRole("button", { name: "Look inside" }).last().click()
      const steps = page.getByRole("list", { name: "Steps of the turn" })
      await steps.getByText("Settle").waitFor()
      await soon(page, async () =>
        assert.deepStrictEqual(await steps.locator("b").allTextContents(), [
          "Recall",
          "Model",
          "Tool",
          "Model",
          "Settle"
        ])
      )
      await soon(page, async () => {
        for (const time of await steps.locator(".time").allTextContents()) assert.match(time, /^[\d.]+ (ms|s)$/)
      })
      await soon(page, async () =>
        assert.match((await steps.getByRole("listitem").nth(1).textContent()) ?? "", /demo-1.*\d+ in, \d+ out/)
      )
      await page.getByRole("tab", { name: "Prompt" }).click()
      const panel = page.getByRole("tabpanel")
      await panel.getByText("tokens of a window of 32,000").waitFor()
      // The second call of the model has read what the first one has, and more.
      await panel.locator("summary", { hasText: "Earlier messages" }).first().click()
      await panel.locator(".read", { hasText: "count to 3" }).first().waitFor()
      await panel.locator(".read", { hasText: "1 2 3" }).first().waitFor()
      await panel.locator("summary", { hasText: "Tools" }).first().click()
      await panel.locator(".read", { hasText: '"name": "server_clock"' }).first().waitFor()
      await page.getByRole("tab", { name: "Log" }).click()
      await panel.getByText("run_ended").waitFor()
      await panel.locator("summary", { hasText: "tool_call_ready" }).click()
      await panel.getByText('"tool_call"').waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("goes into a file that another studio opens", async () => {
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await newThread(page)
      await say(page, "What time is it?")
      await finished(page)
      const [saved] = await Promise.all([
        page.waitForEvent("download"),
        lastAnswer(page).getByRole("button", { name: "Share" }).click()
      ])
      const file = await saved.path()
      const said = (await lastText(page).last().textContent()) ?? "?"
      const elsewhere = await startDemo()
      try {
        await using stranger = await visit(browser, `${elsewhere.url}/#key=${serverKey(elsewhere)}`)
        await stranger.page.locator("main .composer").waitFor()
        const open = async (buffer: Buffer) => {
          const [chooser] = await Promise.all([
            stranger.page.waitForEvent("filechooser"),
            choose(stranger.page, "Open a shared turn")
          ])
          await chooser.setFiles({ name: "turn.json", mimeType: "application/json", buffer })
        }
        await open(Buffer.from('{"kind":"something"}'))
        await stranger.page.getByRole("alert").getByText("This file is not a turn").waitFor()
        await open(await readFile(file))
        await stranger.page.locator(".answer .text", { hasText: said }).waitFor()
        await stranger.page.locator(".question", { hasText: "What time is it?" }).waitFor()
        await stranger.page.getByRole("button", { name: "Look inside" }).click()
        const steps = stranger.page.getByRole("list", { name: "Steps of the turn" })
        await steps.getByText("server_clock").waitFor()
        await stranger.page.getByRole("tab", { name: "Log" }).click()
        await stranger.page.getByRole("tabpanel").getByText("run_ended").waitFor()
        assert.deepStrictEqual(stranger.complaints, [])
      } finally {
        await elsewhere.stop()
      }
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  it("compares two models on one message", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Judge" })
    await page.getByRole("button", { name: "Compare two models" }).click()
    await page.getByRole("combobox", { name: "Model A" }).fill("demo/demo-1")
    await page.getByRole("textbox", { name: "Message to both" }).fill("count to 4")
    await page.getByRole("button", { name: "Ask both" }).click()
    for (const letter of ["A", "B"]) {
      const side = page.getByRole("region", { name: `Model ${letter}` })
      await side.locator(".answer:not(.live) .text", { hasText: "1 2 3 4" }).waitFor()
      await soon(page, async () =>
        assert.match((await side.getByRole("heading").first().textContent()) ?? "", /\d (ms|s)/)
      )
      await side
        .getByText(/\d tokens/)
        .first()
        .waitFor()
    }
    await page.getByRole("combobox", { name: "Model B" }).fill("demo/none")
    await page.getByRole("alert").getByText("There is no model “none” of demo").waitFor()
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("asks for a key in words, and takes a right one", async () => {
    await using visitor = await visit(browser, `${server.url}/#key=wrong`)
    const { page } = visitor
    await page.getByRole("alert").getByText("Invalid or missing API key").waitFor()
    await page.getByLabel("Key", { exact: true }).fill(serverKey(server))
    await page.getByRole("button", { name: "Go" }).click()
    await page.getByRole("button", { name: "New thread" }).waitFor()
    await page.getByRole("button", { name: "New assistant" }).click()
    await page.getByLabel("Tools that you answer by hand").fill("[1")
    await page.getByRole("button", { name: "Make assistant" }).click()
    await page.getByRole("alert").getByText("begin like a JSON list").waitFor()
  })
})
