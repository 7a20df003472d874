/** What comes late, twice, out of order or not at all: another thread is opened meanwhile, a message is refused, a connection ends. */
import { assert, it } from "@effect/vitest"
import type { Browser, Page, Route } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { caller } from "../../server/test/TestServer.ts"
import { shareDemo } from "./DemoStudio.ts"
import { answers, finished, lastText, makeAssistant, newThread, openRoom, say, soon, visit } from "./StudioVisit.ts"

/** Holds the requests to an address back until they are released. */
const hold = async (page: Page, address: string | RegExp, method: string) => {
  let release: () => void = () => {}
  let begin: () => void = () => {}
  const isReleased = new Promise<void>((resolve) => (release = resolve))
  const hasBegun = new Promise<void>((resolve) => (begin = resolve))
  const held: Array<Route> = []
  await page.route(address, async (route) => {
    if (route.request().method() !== method) return route.fallback()
    held.push(route)
    begin()
    await isReleased
    await route.continue()
  })
  return { release: () => release(), hasBegun, held }
}

const field = (page: Page) => page.getByLabel("Message", { exact: true })

const openOld = async (page: Page, title: string): Promise<void> => {
  await page.getByRole("region", { name: "Threads" }).getByText(title, { exact: true }).click()
  await page.locator(".question", { hasText: title }).waitFor()
}

const questions = (page: Page) => page.locator(".question p").allTextContents()

const attach = async (page: Page, name: string): Promise<void> => {
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("button", { name: "Attach files" }).click()
  ])
  await chooser.setFiles({ name, mimeType: "text/markdown", buffer: Buffer.from("The keeper is called Marguerite.") })
}

const threadIn = (page: Page): string => new URL(page.url()).hash.split("/")[2] ?? ""

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  shareDemo(launch, (opened) => {
    ;({ address, browser, server } = opened)
  })

  it("a message goes to the thread that is made for it, also when another one is opened meanwhile", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Late" })
    await say(page, "count to 3")
    await finished(page)
    const old = threadIn(page)
    await newThread(page)
    const making = await hold(page, /\/assistants\/[^/]+\/threads$/u, "POST")
    await say(page, "count to 4")
    await making.hasBegun
    await openOld(page, "count to 3")
    const isSent = page.waitForResponse((response) => response.url().endsWith("/messages"))
    making.release()
    await isSent
    await page.getByRole("region", { name: "Threads" }).getByText("count to 4", { exact: true }).waitFor()
    assert.deepStrictEqual(await questions(page), ["count to 3"])
    assert.strictEqual(threadIn(page), old)
    await openOld(page, "count to 4")
    await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), "1 2 3 4"))
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("typed answers of a thread that was left do not come into the open one", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Typed" })
    await say(page, "count to 3")
    await finished(page)
    await newThread(page)
    await page.getByRole("button", { name: "Options" }).click()
    await page.getByLabel("Ask typed questions").check()
    const asking = await hold(page, /\/threads\/[^/]+\/messages$/u, "POST")
    await say(page, "My parcel is late!")
    await asking.hasBegun
    await openOld(page, "count to 3")
    const isAnswered = page.waitForResponse((response) => response.url().endsWith("/messages"))
    asking.release()
    assert.strictEqual((await isAnswered).status(), 200)
    await openOld(page, "My parcel is late!")
    await finished(page)
    await openOld(page, "count to 3")
    assert.deepStrictEqual(await questions(page), ["count to 3"])
    assert.strictEqual(await field(page).inputValue(), "")
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("a refused message leaves the run that waits as it is, and comes back into the field", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Refused", tools: "get_news: the news" })
    await say(page, "get_news")
    const result = page.getByRole("textbox", { name: "Result of get_news" })
    await result.waitFor()
    await page.route("**/messages", (route) => route.fulfill({ status: 402, json: { detail: "Top up your account." } }))
    // The same words as before, which did reach the server.
    await say(page, "get_news")
    await page.getByRole("alert").getByText("Top up your account.").waitFor()
    await soon(page, async () => assert.strictEqual(await field(page).inputValue(), "get_news"))
    assert.strictEqual(await page.getByText("Cancelled.").count(), 0)
    await result.fill("none")
    const submitted: Array<string> = []
    page.on("request", (request) => {
      if (request.url().includes("submit-tool-outputs")) submitted.push(request.url())
    })
    await page.getByRole("button", { name: "Send the results" }).dblclick()
    await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), "get_news says: none"))
    assert.lengthOf(submitted, 1)
  })

  it("acts on a thread that was left change nothing of the open one", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    const result = page.getByRole("textbox", { name: "Result of get_news" })
    await makeAssistant(page, { name: "Left", tools: "get_news: the news" })
    await say(page, "get_news today")
    await result.waitFor()
    await newThread(page)
    await say(page, "count to 2")
    await finished(page)
    await say(page, "get_news")
    await result.waitFor()
    const cancelling = await hold(page, "**/cancel", "POST")
    await page.getByRole("button", { name: "Cancel", exact: true }).click()
    await cancelling.hasBegun
    await openOld(page, "get_news today")
    await result.waitFor()
    const isCancelled = page.waitForResponse("**/cancel")
    cancelling.release()
    await isCancelled
    await openOld(page, "count to 2")
    await page.getByText("Cancelled.").waitFor()
    const rewinding = await hold(page, "**/rewind", "POST")
    await answers(page).first().getByRole("button", { name: "Rewind to this answer" }).click()
    await rewinding.hasBegun
    await openOld(page, "get_news today")
    await result.waitFor()
    const isRewound = page.waitForResponse("**/threads?include_messages=false*")
    rewinding.release()
    await isRewound
    assert.deepStrictEqual(await questions(page), ["get_news today"])
    assert.strictEqual(await result.count(), 1)
    assert.strictEqual(await page.getByText("What was here before is kept").count(), 0)
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("a message that is sent while another tab's change is being read stays", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Tabs" })
    await say(page, "count to 2")
    await finished(page)
    let release: () => void = () => {}
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    let read: () => void = () => {}
    const hasRead = new Promise<void>((resolve) => (read = resolve))
    await page.route(new RegExp(`/threads/${threadIn(page)}$`, "u"), async (route) => {
      const response = await route.fetch()
      read()
      await isReleased
      await route.fulfill({ response })
    })
    const other = await page.context().newPage()
    await other.goto(`${server.url}/healthz`)
    const change = { kind: "thread", threadId: threadIn(page), runId: "of another tab", hasEnded: true }
    await other.evaluate(`new BroadcastChannel("colloquy-studio").postMessage(${JSON.stringify(change)})`)
    await hasRead
    await say(page, "count to 40")
    await page.locator(".answer.live .text", { hasText: "1 2" }).waitFor()
    const isRead = page.waitForResponse((response) => response.url().endsWith(change.threadId))
    release()
    await (await isRead).finished()
    await finished(page, 2)
    assert.deepStrictEqual(await questions(page), ["count to 2", "count to 40"])
    await soon(page, async () => assert.match((await lastText(page).textContent()) ?? "", /39 40$/u))
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("a file is watched on when the server does not answer for a moment", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Moment" })
    let times = 0
    await page.route("**/documents/*/status", (route) => (times++ === 0 ? route.abort() : route.continue()))
    await attach(page, "guide.md")
    const file = page.getByRole("list", { name: "Attached files" }).getByRole("listitem")
    await soon(page, async () => {
      assert.isAbove(times, 1)
      assert.notInclude((await file.textContent()) ?? "", "being read")
    })
    assert.notInclude((await file.textContent()) ?? "", "could not be read")
    assert.strictEqual(await file.getByRole("alert").count(), 0)
  })

  it("a message is sent once, also when its stream ends before it has begun", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Once" })
    let times = 0
    await page.route("**/messages", async (route) => {
      if (times++ > 0) return route.continue()
      await route.fetch()
      await route.fulfill({ status: 200, contentType: "text/event-stream", body: "" })
    })
    await say(page, "count to 5")
    await finished(page)
    assert.strictEqual(times, 2)
    const { messages } = await caller(server)("GET", `/threads/${threadIn(page)}`)
    assert.lengthOf(messages, 2)
  })

  it("a title ends with a whole character", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Titles" })
    await say(page, `${"x".repeat(79)}🙂 and more`)
    await finished(page)
    const { metadata_ } = await caller(server)("GET", `/threads/${threadIn(page)}`)
    assert.strictEqual(metadata_.title, `${"x".repeat(79)}🙂`)
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("files stay with their thread, make one thread with their message, and go when they are removed", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    const attached = page.getByRole("list", { name: "Attached files" })
    await makeAssistant(page, { name: "Files" })
    const making = await hold(page, /\/assistants\/[^/]+\/threads$/u, "POST")
    await attach(page, "guide.md")
    await making.hasBegun
    await say(page, "count to 2")
    making.release()
    await finished(page)
    assert.lengthOf(making.held, 1)
    await page.locator(".question", { hasText: "guide.md" }).waitFor()
    const reading = await hold(page, "**/documents/*/status", "GET")
    await attach(page, "other.md")
    await attached.getByText("other.md").waitFor()
    await newThread(page)
    await attached.waitFor({ state: "detached" })
    await page.goBack()
    await attached.getByText("other.md").waitFor()
    reading.release()
    const thread = threadIn(page)
    const sending = await hold(page, "**/documents", "POST")
    await attach(page, "removed.md")
    await sending.hasBegun
    await page.getByRole("button", { name: "Remove removed.md" }).click()
    await attached.getByText("removed.md").waitFor({ state: "detached" })
    const isDeleted = page.waitForResponse((response) => response.request().method() === "DELETE")
    sending.release()
    await isDeleted
    const documents = await caller(server)("GET", `/threads/${thread}/documents`)
    assert.deepStrictEqual(
      documents.map(({ filename }: { readonly filename: string }) => filename),
      ["guide.md", "other.md"]
    )
  })

  it("records of an assistant that was left do not come into the open one", async () => {
    const call = caller(server)
    const [one, two] = await Promise.all(
      ["One", "Two"].map((name) => call("POST", "/assistants", { name }).then(({ assistant_id }) => assistant_id))
    )
    await call("POST", `/assistants/${one}/memories`, { content: "One likes tea." })
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await page.locator("main .composer").waitFor()
    let mayList: () => void = () => {}
    const isListed = new Promise<void>((resolve) => (mayList = resolve))
    await page.route(`**/assistants/${one}/documents`, async (route) => {
      await isListed
      const [document_id, created_at] = ["00000000-0000-7000-8000-000000000001", new Date().toISOString()]
      const document = { document_id, filename: "one.md", status: "completed", status_message: null, summary: null }
      await route.fulfill({ json: [{ ...document, created_at }] })
    })
    const isAsked = page.waitForRequest(`**/assistants/${one}/documents`)
    await page.goto(`${server.url}/#/knowledge/${one}/documents`)
    await isAsked
    const isListedLate = page.waitForResponse(`**/assistants/${one}/documents`)
    await page.goto(`${server.url}/#/knowledge/${two}/documents`)
    await page.getByText("There is none.").waitFor()
    mayList()
    await (await isListedLate).finished()
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert.strictEqual(await page.getByText("one.md").count(), 0)
    const reading = await hold(page, new RegExp(`/assistants/${one}/memories$`, "u"), "GET")
    await page.goto(`${server.url}/#/knowledge/${one}/memories`)
    await reading.hasBegun
    const isRead = page.waitForResponse((response) => response.url().endsWith(`/assistants/${one}/memories`))
    await page.goto(`${server.url}/#/knowledge/${two}/memories`)
    await page.getByText("Nothing is remembered yet.").waitFor()
    reading.release()
    await (await isRead).finished()
    await page.goto(`${server.url}/#/knowledge/${two}/settings`)
    await page.goto(`${server.url}/#/knowledge/${two}/memories`)
    await page.getByText("Nothing is remembered yet.").waitFor()
    assert.strictEqual(await page.getByText("One likes tea.").count(), 0)
    await page.goto(`${server.url}/#/knowledge/${one}/memories`)
    await page.getByText("One likes tea.").waitFor()
    // An answer to earlier words that comes after the one to later words.
    const search = page.getByLabel("Search memories")
    const held: Array<Route> = []
    await page.route("**/memories/search", async (route) => {
      if (held.length === 0) held.push(route)
      else await route.fulfill({ json: { memories: [] } })
    })
    await search.fill("tea")
    await soon(page, async () => assert.lengthOf(held, 1))
    await search.fill("coffee")
    await page.getByText("Nothing is found.").waitFor()
    const isAnswered = page.waitForResponse("**/memories/search")
    await Promise.all(held.map((route) => route.continue()))
    await (await isAnswered).finished()
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert.strictEqual(await page.getByText("One likes tea.").count(), 0)
  })

  it("the list of runs is read to its end while words are typed", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await makeAssistant(page, { name: "Runs" })
    await say(page, "count to 2")
    await finished(page)
    let release: () => void = () => {}
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    let hasBegun: () => void = () => {}
    const isAsked = new Promise<void>((resolve) => (hasBegun = resolve))
    await page.route(/\/runs\?limit=100&since/u, async (route) => {
      const isSecond = route.request().url().includes("cursor=more")
      const { runs } = await (await route.fetch({ url: route.request().url().replace("&cursor=more", "") })).json()
      if (!isSecond) return route.fulfill({ json: { runs, next_cursor: "more" } })
      hasBegun()
      await isReleased
      const older = { ...runs[0], run_id: "older", content_preview: "words of the second page" }
      await route.fulfill({ json: { runs: [older], next_cursor: null } })
    })
    await openRoom(page, "Runs")
    await isAsked
    await page.getByLabel("Words, model or id").fill("words of")
    await page.getByText("No run fits these filters.").waitFor()
    release()
    await page.getByRole("row").getByText("words of the second page").waitFor()
  })

  it("Escape and Enter inside of an input method take back and choose nothing", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    const compose = (key: string) =>
      page.evaluate(
        `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "${key}", isComposing: true, bubbles: true, cancelable: true }))`
      )
    await makeAssistant(page, { name: "Kana" })
    await say(page, "count to 30")
    await page.locator(".answer.live .text", { hasText: "1 2" }).waitFor()
    await field(page).focus()
    await compose("Escape")
    await finished(page)
    assert.strictEqual(await page.getByText("Cancelled.").count(), 0)
    await page.keyboard.press("Control+k")
    await page.getByRole("combobox", { name: "Find anything" }).fill("new thread")
    await compose("Enter")
    await page.getByRole("option", { name: "New thread" }).waitFor()
    await page.getByRole("combobox", { name: "Find anything" }).fill("light and dark")
    await page.keyboard.press("Enter")
    const focused = () => page.evaluate<string | null>("document.activeElement.getAttribute('aria-label')")
    await soon(page, async () => assert.strictEqual(await focused(), "Message"))
    await page.getByRole("button", { name: "Edit your message" }).click()
    await page.getByLabel("Text of your message").fill("count to 31")
    await compose("Escape")
    assert.strictEqual(await page.getByLabel("Text of your message").inputValue(), "count to 31")
    await page.keyboard.press("Escape")
    await page.getByLabel("Text of your message").waitFor({ state: "detached" })
    // Escape in another room does not cancel an answer that nobody sees there.
    await say(page, "count to 60")
    await page.locator(".answer.live .text", { hasText: "1 2" }).waitFor()
    // A title that is being written stays when the list is drawn again.
    await page.getByRole("button", { name: "Rename thread count to 30" }).click()
    const title = page.getByLabel("Title of the thread")
    await title.fill("Half a ti")
    await finished(page, 2)
    assert.strictEqual(await title.inputValue(), "Half a ti")
    await title.press("Escape")
    await say(page, "count to 80")
    await page.locator(".answer.live .text", { hasText: "1 2" }).waitFor()
    await openRoom(page, "Runs")
    await page.getByLabel("Words, model or id").press("Escape")
    await openRoom(page, "Talk")
    await finished(page, 3)
    assert.strictEqual(await page.getByText("Cancelled.").count(), 0)
    // What an act in a dialog is refused for is told in the dialog: what is behind it is out of reach.
    await page.route("**/api/assistants", (route) =>
      route.fulfill({ status: 402, json: { detail: "Top up <first>." } })
    )
    await page.getByRole("button", { name: "New assistant" }).click()
    await page.getByRole("button", { name: "Make assistant" }).click()
    await page.getByRole("dialog").getByRole("alert").getByText("Top up <first>.").waitFor()
  })

  it("a microphone that is permitted after the session has ended is switched off again", async () => {
    await using visitor = await visit(browser, "about:blank")
    const { page } = visitor
    await page.addInitScript(
      "navigator.mediaDevices.getUserMedia = () => new Promise((resolve) => { window.permit = () => resolve({ getTracks: () => [{ stop: () => { window.isOff = true } }] }) })"
    )
    await page.goto(address)
    await makeAssistant(page, { name: "Mute" })
    await openRoom(page, "Voice")
    await page.getByRole("button", { name: "Begin" }).click()
    await soon(page, async () => assert.isTrue(await page.evaluate<boolean>("window.permit !== undefined")))
    await page.getByRole("button", { name: "End", exact: true }).click()
    await page.getByRole("button", { name: "Begin" }).waitFor()
    await page.evaluate("window.permit()")
    await soon(page, async () => assert.isTrue(await page.evaluate<boolean>("window.isOff === true")))
    await page.getByText("The session has ended. What was said is on the thread.").waitFor()
  })

  it("settings that the form cannot write stay as they are", async () => {
    const call = caller(server)
    const made = { name: "Stops", model_options: { stop: ["\n\n"] } }
    const { assistant_id } = await call("POST", "/assistants", made)
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await page.locator("main .composer").waitFor()
    await page.goto(`${server.url}/#/knowledge/${assistant_id}/settings`)
    await page.getByLabel("Name", { exact: true }).fill("Still stops")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("Saved as version 2").waitFor()
    const { model_options, name } = await call("GET", `/assistants/${assistant_id}`)
    assert.deepStrictEqual({ model_options, name }, { ...made, name: "Still stops" })
    assert.deepStrictEqual(visitor.complaints, [])
  })
})
