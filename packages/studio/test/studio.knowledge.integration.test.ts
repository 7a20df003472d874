/** The room for what an assistant has, and the playground, in a real browser: each act, and what the API has afterwards. */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { caller, serverKey, startDemo } from "../../server/test/TestServer.ts"
import { faults, openRoom, soon, visit } from "./StudioVisit.ts"

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  let call: ReturnType<typeof caller>
  beforeAll(async () => {
    server = await startDemo({ WEBHOOK_PRIVATE_ADDRESSES: "true" })
    browser = await launch()
    address = `${server.url}/#key=${serverKey(server)}`
    call = caller(server)
  })
  afterAll(async () => {
    await browser.close()
    await server.stop()
  })

  const openPane = async (page: Page, assistantId: string, pane: string): Promise<void> => {
    await openRoom(page, "Knowledge")
    await page.getByRole("combobox", { name: "Assistant", exact: true }).selectOption(assistantId)
    await page.getByRole("navigation", { name: "What an assistant has" }).getByRole("link", { name: pane }).click()
  }
  const make = async (name: string, more: object = {}): Promise<string> =>
    (await call("POST", "/assistants", { name, ...more })).assistant_id

  describe("settings", () => {
    it("are saved as a version; a change from elsewhere is told and not overwritten; versions are compared and restored", async () => {
      const id = await make("Versed", { system_prompt: "Be kind." })
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await openPane(page, id, "Settings")
      const form = page.getByRole("form", { name: "Settings of Versed" })
      await form.getByLabel("Instructions").fill("Be kind and brief.")
      await form.getByText("Model options").click()
      await form.getByLabel("Temperature").fill("0.4")
      await form.getByRole("button", { name: "Save" }).dblclick()
      await form.getByText("Saved as version 2").waitFor()
      const focused = () => page.evaluate<string>("document.activeElement.textContent.trim()")
      await soon(page, async () => assert.strictEqual(await focused(), "Save"))
      assert.strictEqual(await page.getByRole("alert").count(), 0)
      const saved = await call("GET", `/assistants/${id}`)
      assert.deepStrictEqual([saved.system_prompt, saved.model_options], ["Be kind and brief.", { temperature: 0.4 }])
      assert.deepStrictEqual(await faults(page), [], "settings")

      await call("PUT", `/assistants/${id}`, { system_prompt: "Be stern." })
      await form.getByLabel("Instructions").fill("Be late.")
      await form.getByRole("button", { name: "Save" }).click()
      await page.getByRole("alert").getByText("was changed elsewhere").waitFor()
      assert.strictEqual((await call("GET", `/assistants/${id}`)).system_prompt, "Be stern.")
      await page.getByRole("button", { name: "Read the newest version" }).click()
      await form.getByText("Version 3").waitFor()
      await soon(page, async () => assert.strictEqual(await form.getByLabel("Instructions").inputValue(), "Be stern."))

      const versions = page.getByRole("region", { name: "Versions" })
      await versions.getByRole("button", { name: "Compare version 1 with now" }).click()
      await versions.locator("del", { hasText: "kind." }).waitFor()
      await versions.locator("ins", { hasText: "stern." }).waitFor()
      await versions.getByRole("button", { name: "Restore version 1" }).click()
      await versions.getByText("Version 4").waitFor()
      assert.strictEqual((await call("GET", `/assistants/${id}`)).system_prompt, "Be kind.")
      assert.deepStrictEqual(
        visitor.complaints.filter((each) => !each.includes("412")),
        []
      )
    })
  })

  describe("schedules", () => {
    it("are made, show their next five times, are paused, run now, and deleted", async () => {
      const id = await make("Punctual")
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await openPane(page, id, "Schedules")
      const form = page.getByRole("form", { name: "New schedule" })
      await form.getByLabel("Message").fill("count to 2")
      await form.getByRole("button", { name: "Every hour" }).click()
      await form.getByLabel("Time zone").fill("Europe/Oslo")
      const sent: Array<string> = []
      page.on("request", (request) => {
        if (request.method() === "POST") sent.push(new URL(request.url()).pathname)
      })
      await form.getByRole("button", { name: "Make schedule" }).dblclick()
      const list = page.getByRole("list", { name: "Schedules" })
      await list.getByText("count to 2").waitFor()
      assert.deepStrictEqual(sent, [`/api/assistants/${id}/schedules`])
      await soon(page, async () =>
        assert.strictEqual(await list.getByRole("list", { name: "Next times" }).getByRole("listitem").count(), 5)
      )
      assert.deepStrictEqual(await faults(page), [], "schedules")
      await list.getByRole("button", { name: "Pause" }).click()
      await list.getByText("paused", { exact: true }).waitFor()
      const [{ cron, paused, timezone }] = (await call("GET", `/assistants/${id}/schedules`)).schedules
      assert.deepStrictEqual([cron, paused, timezone], ["0 * * * *", true, "Europe/Oslo"])
      await list.getByRole("button", { name: "Resume" }).click()
      await list.getByRole("button", { name: "Pause" }).waitFor()
      await list.getByRole("button", { name: "Run now" }).click()
      await list.getByRole("link", { name: "look at it" }).click()
      await page.getByRole("list", { name: "Steps of the turn" }).getByText("Settle").waitFor()
      await page.goBack()
      await list.getByRole("button", { name: "Delete the schedule" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Delete schedule" }).click()
      await page.getByText("No schedule sends a message").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  describe("webhooks", () => {
    it("show their secret once, their deliveries, send one again, and get a new secret", async () => {
      const id = await make("Loud")
      let heard = 0
      const again = Promise.withResolvers<void>()
      const receiver = createServer((request, response) => {
        heard++
        if (heard === 2) again.resolve()
        request.resume().on("end", () => response.writeHead(heard === 1 ? 400 : 204).end())
      }).listen(0, "127.0.0.1")
      await new Promise((resolve) => receiver.once("listening", resolve))
      const { port } = receiver.address() as AddressInfo
      try {
        await using visitor = await visit(browser, address)
        const { page } = visitor
        await openPane(page, id, "Webhooks")
        const form = page.getByRole("form", { name: "New webhook" })
        await form.getByLabel("Address").fill(`http://127.0.0.1:${port}/hook`)
        await form.getByRole("button", { name: "Make webhook" }).click()
        const dialog = page.getByRole("dialog", { name: "The secret of this webhook" })
        const secret = await dialog.getByRole("group", { name: "Secret" }).innerText()
        assert.match(secret, /^whsec_/u)
        assert.deepStrictEqual(await faults(page), [], "secret")
        await dialog.getByRole("button", { name: "I have kept it" }).click()
        await dialog.waitFor({ state: "detached" })
        assert.notInclude(await page.content(), secret)
        await call("POST", "/threads/messages", { assistant_id: id, content: "count to 2" })
        const list = page.getByRole("list", { name: "Webhooks" })
        const deliveries = page.getByRole("list", { name: "Deliveries to" })
        const [webhook] = (await call("GET", "/webhooks")).webhooks
        await soon(page, async () => {
          const [delivery] = (await call("GET", `/webhooks/${webhook.webhook_id}/deliveries`)).deliveries
          assert.strictEqual(delivery?.last_status, 400)
        })
        await list.getByRole("button", { name: "Deliveries" }).click()
        await deliveries.getByRole("button", { name: "Send run.completed again" }).click()
        await again.promise
        await list.getByRole("button", { name: "New secret" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Make a new secret" }).click()
        await soon(page, async () =>
          assert.notStrictEqual(await dialog.getByRole("group", { name: "Secret" }).innerText(), secret)
        )
        await dialog.getByRole("button", { name: "I have kept it" }).click()
        await list.getByRole("button", { name: "Delete the webhook" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Delete webhook" }).click()
        await page.getByText("No address is told of your runs yet.").waitFor()
        assert.deepStrictEqual(visitor.complaints, [])
      } finally {
        receiver.closeAllConnections()
        receiver.close()
      }
    })
  })

  describe("helpers", () => {
    it("are seen inside of the turn that asked them, step by step, each with a way to its own", async () => {
      const expert = await make("Counter")
      const helpers = [{ assistant_id: expert, name: "count_expert", description: "Counts" }]
      const id = await make("Boss", { helpers })
      const { thread_id } = await call("POST", `/assistants/${id}/threads`, { metadata: { title: "Asks" } })
      const { run_id } = await call("POST", `/threads/${thread_id}/messages`, { content: "Please use count_expert" })
      await using visitor = await visit(browser, address, { viewport: { width: 1440, height: 900 } })
      const { page } = visitor
      await page.locator("main .composer").waitFor()
      await page.goto(`${server.url}/#/talk/${thread_id}/${run_id}`)
      const panel = page.getByRole("tabpanel")
      const own = panel.locator(".helpers > li")
      await own.getByText("count_expert").waitFor()
      await own.getByText("demo-1").first().waitFor()
      assert.deepStrictEqual(await faults(page), [], "nested")
      await own.getByRole("button", { name: "Look inside" }).click()
      await own.waitFor({ state: "detached" })
      await panel.getByRole("list", { name: "Steps of the turn" }).waitFor()
      await openRoom(page, "Runs")
      await page.locator(".run-table tr", { hasText: "helper" }).first().waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("are added with what they are for, and removed", async () => {
      const expert = await make("The Expert!")
      const id = await make("Asker")
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await openPane(page, id, "Helpers")
      const helpers = page.getByRole("region", { name: "Helpers" })
      await helpers.getByRole("button", { name: "Add a helper" }).click()
      await helpers.getByLabel("Assistant").selectOption(expert)
      await helpers.getByLabel("What it is for").fill("Hard questions")
      await helpers.getByRole("button", { name: "Add", exact: true }).click()
      await helpers.getByText("Hard questions").waitFor()
      assert.deepStrictEqual((await call("GET", `/assistants/${id}`)).helpers, [
        { assistant_id: expert, name: "the_expert", description: "Hard questions" }
      ])
      assert.deepStrictEqual(await faults(page), [], "helpers")
      await helpers.getByRole("button", { name: "Remove the_expert from Helpers" }).click()
      await helpers.getByText("Hard questions").waitFor({ state: "detached" })
      assert.deepStrictEqual((await call("GET", `/assistants/${id}`)).helpers, [])
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  describe("what is known", () => {
    it("is searched as a turn would, with scores; memories come from a file", async () => {
      const id = await make("Reader")
      const form = new FormData()
      form.set("file", new File(["The keeper of Fanø is called Marguerite."], "guide.md", { type: "text/markdown" }))
      await fetch(`${server.url}/api/assistants/${id}/documents`, {
        method: "POST",
        headers: { "x-api-key": serverKey(server) },
        body: form
      })
      await using visitor = await visit(browser, address)
      const { page } = visitor
      await openPane(page, id, "Documents")
      await page.getByText("is read,").waitFor()
      await page.getByLabel("Words to search documents for").fill("Who is the keeper?")
      await page.keyboard.press("Enter")
      const found = page.getByRole("list", { name: "What was found" })
      await found.getByText("called Marguerite").waitFor()
      await soon(page, async () => assert.match(await found.locator(".score").innerText(), /^\d\.\d\d$/u))
      assert.deepStrictEqual(await faults(page), [], "search")
      await openPane(page, id, "Memories")
      const [chooser] = await Promise.all([
        page.waitForEvent("filechooser"),
        page.getByRole("button", { name: "Read from a file" }).click()
      ])
      await chooser.setFiles({
        name: "memories.jsonl",
        mimeType: "application/x-ndjson",
        buffer: Buffer.from('{"content":"The user plays chess."}\n{"content":"The user lives in Oslo."}\n')
      })
      const memories = page.getByRole("region", { name: "Memories" })
      await memories.getByText("The user plays chess.").waitFor()
      await memories.getByLabel("New memory").fill("The user sings.")
      await memories.getByRole("button", { name: "Add" }).dblclick()
      await memories.getByText("The user sings.").waitFor()
      await soon(page, async () => assert.lengthOf((await call("GET", `/assistants/${id}/memories`)).memories, 3))
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  it("says what is wrong without covering the panes, and that the assistant of an address is gone", async () => {
    await make("Here")
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await page.locator("main .composer").waitFor()
    await page.goto(`${server.url}/#/knowledge/00000000-0000-4000-8000-000000000000/schedules`)
    await page.getByRole("alert").getByText("The assistant of this address is gone").waitFor()
    await page.getByLabel("Message", { exact: true }).fill("Good morning")
    await page.getByLabel("When (cron)").fill("every day")
    await page.getByRole("button", { name: "Make schedule" }).click()
    await page.getByRole("alert").getByText("no cron expression").waitFor()
    for (const pane of ["Documents", "Webhooks", "Usage"]) {
      await page.getByRole("link", { name: pane }).click()
      await page.getByRole("link", { name: pane }).and(page.locator("[aria-current=page]")).waitFor()
    }
  })

  describe("the playground", () => {
    it("answers a step's prompt again in columns, shows how they differ, saves a version, and leaves no thread", async () => {
      const id = await make("Tried", { system_prompt: "Be kind." })
      const { thread_id } = await call("POST", `/assistants/${id}/threads`, { metadata: { title: "First" } })
      await call("POST", `/threads/${thread_id}/messages`, { content: "count to 3" })
      const { run_id } = await call("POST", `/threads/${thread_id}/messages`, { content: "count to 4" })
      await using visitor = await visit(browser, address, { viewport: { width: 1440, height: 900 } })
      const { page } = visitor
      await openRoom(page, "Runs")
      await page.goto(`${server.url}/#/runs/${run_id}/${thread_id}`)
      await page.getByRole("list", { name: "Steps of the turn" }).getByText("Model").click()
      await page.getByRole("link", { name: "Try it in the playground" }).click()
      const form = page.getByRole("form", { name: "What is asked" })
      await page.locator(".lines li").nth(2).waitFor()
      await soon(page, async () => assert.strictEqual(await form.getByLabel("Instructions").inputValue(), "Be kind."))
      await soon(page, async () =>
        assert.strictEqual(await form.getByLabel("Message 2", { exact: true }).inputValue(), "1 2 3")
      )
      await form.getByLabel("Instructions").fill("Be kind and brief.")
      await form.getByLabel("Message 3", { exact: true }).fill("count to 5")
      await form.getByRole("button", { name: "Add a model" }).click()
      await form.getByText("Model options").click()
      await form.getByLabel("Temperature").fill("0.7")
      await form.getByLabel("Seed").fill("11")
      await form.getByLabel("Stops at these words").fill("never\nsaid")
      await form.getByLabel("Several tools at once").selectOption("No")
      const third = page.getByRole("region", { name: "Model 3" })
      await third.getByText("Options of this model").click()
      await third.getByLabel("Temperature").fill("0.2")
      // Only a model that thinks, as the catalogue has it, is asked how much.
      const nameOfThird = third.getByLabel("Name of model 3")
      await nameOfThird.fill("typedprovider/typed-latest")
      await third.getByLabel("Thinking effort").waitFor({ state: "detached" })
      await nameOfThird.fill("demo/demo-1")
      await third.getByLabel("Thinking effort").selectOption("high")
      const asked: Array<unknown> = []
      page.on("request", (request) => {
        if (request.method() === "POST" && request.url().endsWith("/messages"))
          asked.push(request.postDataJSON().thinking)
      })
      await form.getByRole("button", { name: "Ask 3 models" }).click()
      for (const number of [1, 2, 3]) {
        const column = page.getByRole("region", { name: `Model ${number}` })
        await column.getByText("1 2 3 4 5").waitFor()
        await column.getByText("whole").waitFor()
      }
      assert.sameDeepMembers(asked, [undefined, undefined, { effort: "high" }])
      assert.deepStrictEqual(await faults(page), [], "playground")
      await page.getByRole("region", { name: "Model 2" }).getByRole("button", { name: "Keep as test" }).click()
      const dialog = page.getByRole("dialog", { name: "Keep as test" })
      await dialog.getByLabel("Text").fill("4 5")
      await dialog.getByRole("button", { name: "Keep", exact: true }).click()
      await dialog.getByText("Kept as a case.").waitFor()
      await dialog.getByRole("button", { name: "Done" }).click()
      const [kept] = (await call("GET", "/evals/cases")).cases
      assert.deepStrictEqual(
        [
          kept.question,
          kept.assistant_id,
          kept.messages.map(({ content }: { readonly content: string }) => content),
          kept.instructions
        ],
        ["count to 5", id, ["count to 3", "1 2 3"], "Be kind and brief."]
      )
      await page.getByLabel("Differences from the first").check()
      await page.getByRole("region", { name: "Model 2" }).locator(".word-diff").waitFor()
      await page.getByRole("region", { name: "Model 3" }).getByRole("button", { name: "Save as version" }).click()
      await page.getByText("Saved as version 2").waitFor()
      const saved = await call("GET", `/assistants/${id}`)
      assert.deepStrictEqual(
        [saved.system_prompt, saved.model_name, saved.model_options],
        [
          "Be kind and brief.",
          "demo-1",
          { temperature: 0.2, seed: 11, stop: ["never", "said"], parallel_tool_calls: false }
        ]
      )
      const threads: ReadonlyArray<{ readonly metadata_: { readonly title: string } | null }> = await call(
        "GET",
        `/assistants/${id}/threads`
      )
      assert.deepStrictEqual(
        threads.map(({ metadata_ }) => metadata_?.title),
        ["First"]
      )
      await form.getByLabel("Message 3", { exact: true }).fill("count to 900")
      await form.getByRole("button", { name: "Ask 3 models" }).click()
      await page.getByRole("region", { name: "Model 1" }).getByText("1 2 3").waitFor()
      await form.getByRole("button", { name: "Stop" }).click()
      await page.getByRole("button", { name: "Ask 3 models" }).and(page.locator(":enabled")).waitFor()
      assert.strictEqual((await call("GET", `/assistants/${id}/threads`)).length, 1)
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("has the assistant's tools, which are changed for the columns and kept with a test and a version", async () => {
      const news = { type: "function", function: { name: "get_news", description: "the news" } }
      const id = await make("Tooled", { tools: [news], model_options: { top_p: 0.5 } })
      await using visitor = await visit(browser, address, { viewport: { width: 1440, height: 900 } })
      const { page } = visitor
      await page.locator("main .composer").waitFor()
      const { thread_id } = await call("POST", `/assistants/${id}/threads`, {})
      const { run_id } = await call("POST", `/threads/${thread_id}/messages`, { content: "count to 3" })
      await page.goto(`${server.url}/#/playground/${thread_id}/${run_id}/1`)
      const form = page.getByRole("form", { name: "What is asked" })
      const tools = form.getByLabel("Tools that you answer by hand")
      await soon(page, async () => assert.strictEqual(await tools.inputValue(), "get_news: the news"))
      assert.strictEqual(await form.getByLabel("Top p").inputValue(), "0.5")
      await tools.fill("[1")
      await form.getByRole("alert").getByText("not valid JSON").waitFor()
      assert.isTrue(await form.getByRole("button", { name: "Ask 2 models" }).isDisabled())
      await tools.fill("get_news: the news\nget_weather: the weather of a city")
      await form.getByLabel("Message 1", { exact: true }).fill("Please get_weather")
      const [request] = await Promise.all([
        page.waitForRequest("**/messages"),
        form.getByRole("button", { name: "Ask 2 models" }).click()
      ])
      assert.deepInclude(request.postDataJSON(), { model_options: { top_p: 0.5 } })
      const column = page.getByRole("region", { name: "Model 1" })
      await column.locator(".tool-call", { hasText: "get_weather" }).waitFor()
      assert.deepStrictEqual(await faults(page), [], "tools")
      // What is asked stands beside the answers, and stays there while they are read.
      const [left, right] = [await form.boundingBox(), await column.boundingBox()]
      assert.isAtMost((left?.x ?? 9999) + (left?.width ?? 9999), right?.x ?? 0)
      await column.getByRole("button", { name: "Save as version" }).click()
      await column.getByText("Saved as version 2").waitFor()
      const saved = await call("GET", `/assistants/${id}`)
      const names = saved.tools.map((each: typeof news) => each.function.name)
      assert.deepStrictEqual([names, saved.model_options], [["get_news", "get_weather"], { top_p: 0.5 }])
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })
})
