/** What a host may choose of the studio, and a reload without a server, in a real browser. */
import { webHandler } from "@colloquy/http"
import { studio, type StudioOptions } from "@colloquy/studio"
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import express, { type Express, type RequestHandler } from "express"
import { once } from "node:events"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import { demoKernel } from "../../server/test/DemoKernel.ts"
import { callApi, serverKey, startDemo } from "../../server/test/TestServer.ts"
import {
  choose,
  faults,
  finished,
  lastText,
  makeAssistant,
  openLists,
  openRoom,
  say,
  soon,
  visit
} from "./StudioVisit.ts"

type Options = Omit<StudioOptions, "api" | "ai">

/** A host with a kernel of its own, which knows its user. */
const open = (options: Options = {}) => {
  const ai = webHandler({ kernel: demoKernel, basePath: "/ai", authenticate: () => "ada" })
  return serve((app) => app.use("/ai", ai.node).use("/studio", studio({ ai, ...options }).node), ai.dispose)
}

/** A host before the standalone server, which has every room. */
const openWhole = async (options: Options) => {
  const demo = await startDemo()
  const headers = { "x-api-key": serverKey(demo) }
  const pass: RequestHandler = (message, response) => {
    const address = demo.url + message.originalUrl
    const passed = request(
      address,
      { method: message.method, headers: { ...message.headers, ...headers } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      }
    )
    passed.on("error", () => response.destroy())
    response.on("close", () => passed.destroy())
    message.pipe(passed)
  }
  return serve((app) => app.use("/api", pass).use("/studio", studio({ api: "/api", ...options }).node), demo.stop)
}

const serve = async (mount: (app: Express) => void, dispose: () => Promise<void>) => {
  const app = express()
  mount(app)
  app.use("/whole", studio({ api: "/api" }).node)
  const server = createServer(app).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, "close")
    await dispose()
  }
  return {
    url: `http://127.0.0.1:${port}/studio/`,
    whole: `http://127.0.0.1:${port}/whole/`,
    stop,
    [Symbol.asyncDispose]: stop
  }
}

const roomsIn = (page: Page) => page.getByRole("navigation", { name: "Rooms" }).getByRole("link").allTextContents()

/**
 * The names of everything on the page that can be pressed, filled in, or followed, also of what is not seen: what may not act is not drawn at
 * all. A field that is only read is none.
 */
const controls = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(
    `[...document.querySelectorAll("button, a, input, textarea, select, summary")]
      .filter((each) => !each.readOnly)
      .map((each) => (each.ariaLabel ?? each.closest("label")?.textContent ?? each.textContent).trim().replace(/\\s+/g, " "))`
  )

/** Words with which an act begins. A control that only looks has another name. */
const acts =
  /^(?:add|again|approve|ask|attach|begin|cancel|change|compare two|copy assistant|delete|edit|expect|first message|forget|fork|go on|good|bad|keep|make|message|new|no$|other model|pause|read from a file|reject|remove|rename|restore|resume|result of|revoke|rewind|run now|save$|send|something to|start|take back|tell|try |yes$)/iu

/** Links to places where something is begun. */
const linksToActs = ':is(a[href^="#/playground"], a[href*="/experiments/new"])'

/** One of everything that could be acted on. */
const fill = async (api: string): Promise<void> => {
  const send = async (path: string, body: object, method: "POST" | "PUT" = "POST") => {
    // The host adds its key.
    const answer = await callApi({ api, key: "" }, method, path, body)
    assert.isBelow(answer.status, 300, path)
    return answer.body
  }
  const tool = { type: "function", function: { name: "ask_owner", parameters: { type: "object", properties: {} } } }
  const { assistant_id: helper } = await send("/assistants", { name: "Helping" })
  const { assistant_id: id } = await send("/assistants", {
    name: "Watched",
    system_prompt: "Be brief.",
    tools: [tool],
    helpers: [{ assistant_id: helper, name: "helping", description: "Looks things up" }]
  })
  await send(`/assistants/${id}`, { system_prompt: "Be very brief." }, "PUT")
  await send(`/assistants/${id}/memories`, { content: "The user lives in Oslo." })
  await send(`/assistants/${id}/schedules`, {
    cron: "0 9 * * *",
    timezone: "UTC",
    content: "Good morning",
    thread: "new"
  })
  await send("/webhooks", { url: "https://example.com/hook", events: ["run.completed"] })
  const { case_id } = await send("/evals/cases", { assistant_id: id, question: "count to 3", tags: ["kept"] })
  await send("/evals/experiments", { name: "Tried", case_ids: [case_id], variants: [{ name: "now" }] })
  const asked = { assistant_id: id, content: "Please use ask_owner" }
  const { run_id, status } = await send("/threads/messages", asked)
  assert.strictEqual(status, "REQUIRES_ACTION", run_id)
  // A message would be refused while it is read.
  const file = new FormData()
  file.append("file", new Blob(["The lighthouse stands."]), "lighthouse.md")
  const uploaded = await fetch(`${api}/assistants/${id}/documents`, { method: "POST", body: file })
  assert.isBelow(uploaded.status, 300, await uploaded.text())
}

/** Goes to every place of the studio that is not there for acts alone. */
const tour = async (page: Page, at: (place: string) => Promise<void>): Promise<void> => {
  const openPanes = async (name: string, marks: Readonly<Record<string, string>>) => {
    const panes = page.getByRole("navigation", { name }).getByRole("link")
    await panes.first().waitFor()
    for (const pane of await panes.allTextContents()) {
      await panes.filter({ hasText: pane }).click()
      await panes.and(page.locator("[aria-current=page]")).filter({ hasText: pane }).waitFor()
      await page
        .locator("main")
        .getByText(marks[pane] ?? "")
        .first()
        .waitFor()
      await at(`${name}: ${pane}`)
    }
  }
  await finished(page)
  await openLists(page)
  await at("talk")
  await page.getByRole("button", { name: "Look inside" }).last().click()
  const steps = page.getByRole("list", { name: "Steps of the turn" })
  await steps
    .getByRole("button", { name: /^Model/ })
    .first()
    .click()
  await page.getByRole("region", { name: /^Step/ }).waitFor()
  await at("inside")
  await page.getByRole("button", { name: "Close the panel" }).click()
  await openRoom(page, "Runs")
  await page.getByText(/1 run waits for/).waitFor()
  await page.getByRole("table").getByText("count to 3").waitFor()
  await at("runs")
  await openRoom(page, "Tests")
  await openPanes("Tests of answers", {
    Cases: "kept",
    Experiments: "Tried",
    Feedback: "Bad",
    Online: "Turns are not scored",
    Calibration: "A probability of 80 %"
  })
  await page.getByRole("link", { name: "Experiments" }).click()
  await page.getByRole("link", { name: "Tried" }).click()
  await page.getByText("1 of 1 attempt").waitFor()
  await at("an experiment")
  await openRoom(page, "Knowledge")
  await page.getByRole("combobox", { name: /^Assistant/ }).selectOption("Watched")
  await openPanes("What an assistant has", {
    Settings: "Version 1",
    Documents: "lighthouse.md",
    Memories: "The user lives in Oslo.",
    Schedules: "Good morning",
    Helpers: "Looks things up",
    Webhooks: "https://example.com/hook",
    Keys: "may do everything",
    Usage: "Requests this minute"
  })
  await page.getByRole("link", { name: "Settings" }).click()
  await page.getByRole("button", { name: "Compare version 1 with now" }).click()
  await page.locator("del, ins").first().waitFor()
  await at("versions")
}

/** The looks that no other test has: the others see each room in light, on a wide screen. */
const looks = [
  ["dark", 1280],
  ["dark", 390],
  ["light", 390]
] as const

/** What is on the page now, in each of these looks. */
const inOrder = async (page: Page, place: string): Promise<void> => {
  for (const [colorScheme, width] of looks) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    assert.deepStrictEqual(await faults(page), [], `${place}, ${colorScheme}, ${width} wide`)
  }
  await page.setViewportSize({ width: 1280, height: 720 })
}

inChromium((launch) => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())

  describe("with one of everything", () => {
    let host: Awaited<ReturnType<typeof openWhole>>
    beforeAll(async () => {
      host = await openWhole({ readOnly: true })
      await fill(`${new URL(host.url).origin}/api`)
      await using writer = await visit(browser, host.whole)
      const { page } = writer
      await makeAssistant(page, { name: "Counting" })
      await say(page, "count to 3")
      await finished(page)
      await page.getByRole("button", { name: "Bad answer" }).click()
      await page.getByRole("button", { name: "Bad answer", pressed: true }).waitFor()
    })
    afterAll(() => host.stop())

    const acting = async (page: Page) => (await controls(page)).filter((each) => acts.test(each))

    it("has acts where there may be some, and is in order for axe in the dark and on a phone, with its dialogs", async () => {
      await using visitor = await visit(browser, host.whole, { reducedMotion: "reduce" })
      const { page } = visitor
      // Each of these places has acts where it may have them, so that their absence in the other test says something.
      const without: Array<string> = []
      await finished(page)
      await tour(page, async (place) => {
        if ((await acting(page)).length === 0) without.push(place)
        await inOrder(page, place)
      })
      assert.deepStrictEqual(without, [
        "Tests of answers: Online",
        "Tests of answers: Calibration",
        "What an assistant has: Usage"
      ])
      await openRoom(page, "Playground")
      await page.getByText("Model options").click()
      await page.getByText("Options of this model").first().click()
      await inOrder(page, "playground")
      await openRoom(page, "Voice")
      await page.getByRole("button", { name: "Begin" }).waitFor()
      await inOrder(page, "voice")
      await page.goto(`${host.whole}#/tests/experiments/new`)
      await page.getByRole("button", { name: "Begin" }).waitFor()
      await inOrder(page, "new experiment")
      await openRoom(page, "Talk")
      await finished(page)
      const dialog = page.getByRole("dialog")
      const dialogs: Readonly<Record<string, () => Promise<void>>> = {
        palette: () => page.keyboard.press("Control+k"),
        "keep as test": () => page.getByRole("button", { name: "Keep as test" }).last().click(),
        "new assistant": () => page.getByRole("button", { name: "New assistant" }).click(),
        "API key": () => choose(page, "API key"),
        "delete a thread": () =>
          page
            .getByRole("button", { name: /^Delete thread/u })
            .first()
            .click()
      }
      for (const [name, begin] of Object.entries(dialogs)) {
        await begin()
        await dialog.waitFor()
        await inOrder(page, name)
        await page.keyboard.press("Escape")
        await dialog.waitFor({ state: "detached" })
      }
      await page.getByRole("button", { name: "Bad answer" }).click()
      await page.getByLabel("What was wrong?").waitFor()
      await page.getByRole("button", { name: "Options" }).click()
      await page.getByLabel("Ask typed questions").check()
      await inOrder(page, "typed questions")
      await page.getByRole("button", { name: "You", exact: true }).click()
      await inOrder(page, "you")
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("readOnly shows what happened, draws nothing that changes it, and sends no such request", async () => {
      await using visitor = await visit(browser, host.url)
      const { page } = visitor
      const changing: Array<string> = []
      page.on("request", (sent) => {
        if (sent.method() !== "GET") changing.push(`${sent.method()} ${sent.url()}`)
      })
      await finished(page)
      await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), "1 2 3"))
      const shown = ["Talk", "Runs1", "Tests", "Knowledge"]
      await soon(page, async () => assert.deepStrictEqual(await roomsIn(page), shown, "one run waits"))
      await tour(page, async (place) => {
        assert.deepStrictEqual(await acting(page), [], place)
        assert.strictEqual(await page.locator(linksToActs).count(), 0, place)
        assert.deepStrictEqual(await faults(page), [], place)
      })
      // Addresses that lead to acts show what is there.
      await page.goto(`${host.url}#/tests/experiments/new`)
      await page.getByRole("link", { name: "Tried" }).waitFor()
      assert.deepStrictEqual(await acting(page), [])
      // Whoever finds another way is told, and nothing is sent.
      const refused = await page.evaluate<string>(
        `import("./studio/api/http.ts").then(({ post }) => post("/assistants", { name: "x" })).then(() => "sent", (error) => error.message)`
      )
      assert.strictEqual(refused, "Nothing can be changed here. This studio only looks.")
      assert.deepStrictEqual(changing, [])
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })

  it("has the rooms, the name and the colour that the host chose, in light and dark", async () => {
    await using host = await open({ rooms: ["runs", "knowledge"], brand: { name: "Acme", colour: "#ffd400" } })
    for (const colorScheme of ["light", "dark"] as const) {
      await using visitor = await visit(browser, `${host.url}#/runs`, { colorScheme })
      const { page } = visitor
      await page.getByRole("heading", { name: "Runs", exact: true }).waitFor()
      await soon(page, async () => assert.deepStrictEqual(await roomsIn(page), ["Runs", "Knowledge"]))
      await soon(page, async () => assert.match(await page.title(), / · Acme$/u))
      await page.getByRole("heading", { name: "Acme" }).waitFor()
      assert.deepStrictEqual(await faults(page), [], colorScheme)
      await openRoom(page, "Knowledge")
      await page.getByRole("heading", { name: "Knowledge" }).waitFor()
      assert.deepStrictEqual(await faults(page), [], colorScheme)
      // The address of a room that was not chosen shows the first one.
      await page.goto(`${host.url}#/talk`)
      await page.getByRole("heading", { name: "Runs", exact: true }).waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    }
  })

  it("says that it is offline when it is loaded again without a server", async () => {
    await using host = await open()
    await using visitor = await visit(browser, host.url)
    const { page } = visitor
    await page.getByLabel("Message", { exact: true }).waitFor()
    await page.evaluate("navigator.serviceWorker.ready.then(() => {})")
    await host.stop()
    await page.reload()
    await page.getByRole("alert").getByText("The server does not answer. It is tried again.").waitFor()
    await page.getByRole("status").getByText("Offline").waitFor()
    await soon(page, async () =>
      assert.strictEqual(
        await page.evaluate<string>("getComputedStyle(document.querySelector('.rail')).display"),
        "flex"
      )
    )
  })
})
