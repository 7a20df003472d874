/** What a host may choose of the studio, and a reload without a server, in a real browser. */
import { webHandler } from "@colloquy/http"
import { studio, type StudioOptions } from "@colloquy/studio"
import { assert, afterAll, beforeAll, it } from "@effect/vitest"
import express, { type Express, type RequestHandler } from "express"
import { once } from "node:events"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import { demoKernel } from "../../server/test/DemoKernel.ts"
import { keyOf, startDemo } from "../../server/test/TestServer.ts"
import { faults, finished, lastText, openLists, openRoom, say, visit } from "./StudioVisit.ts"

type Options = Omit<StudioOptions, "api" | "ai">

/** A host with a kernel of its own, which knows its user. */
const open = (options: Options = {}) => {
  const ai = webHandler({ kernel: demoKernel, basePath: "/ai", authenticate: () => "ada" })
  return serve((app) => app.use("/ai", ai.node).use("/studio", studio({ ai, ...options }).node), ai.dispose)
}

/** A host before the standalone server, which has every room. */
const openWhole = async (options: Options) => {
  const demo = await startDemo()
  const headers = { "x-api-key": keyOf(demo) }
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

/** The names of everything in a room that can be pressed or filled in. */
const controls = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(
    `[...document.querySelectorAll("main :is(button, input, textarea, select, [contenteditable]), .lists :is(button, input), .side button")]
      .filter((each) => each.checkVisibility() && !each.disabled)
      .map((each) => (each.ariaLabel ?? each.closest("label")?.textContent ?? each.textContent).trim().replace(/\\s+/g, " "))`
  )

/** Words with which an act begins. A control that only looks has another name. */
const acts =
  /^(?:new|add|edit|copy assistant|rename|delete|forget|remove|cancel|send|try again|other model|fork|rewind|compare two|approve|reject|good answer|bad answer|keep as test|go on|begin|make|pause|resume|run now|save$|restore|read from a file|start|begin|keep|good|bad|message|attach|something to)/iu

inChromium((launch) => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())

  it("readOnly shows what happened, has nothing that changes it, and sends no such request", async () => {
    await using host = await openWhole({ readOnly: true })
    {
      await using writer = await visit(browser, host.whole)
      await say(writer.page, "count to 3")
      await finished(writer.page)
      assert.isTrue((await controls(writer.page)).some((each) => acts.test(each)))
      const { origin } = new URL(host.url)
      const made = await fetch(`${origin}/api/evals/cases`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ question: "count to 3" })
      })
      assert.strictEqual(made.status, 201)
      await made.arrayBuffer()
    }
    await using visitor = await visit(browser, host.url)
    const { page } = visitor
    const changing: Array<string> = []
    page.on("request", (sent) => {
      if (sent.method() !== "GET") changing.push(`${sent.method()} ${sent.url()}`)
    })
    await finished(page)
    assert.strictEqual(await lastText(page).textContent(), "1 2 3")
    assert.deepStrictEqual(await roomsIn(page), ["Talk", "Runs", "Tests", "Knowledge"])
    await openLists(page)
    const look = async (place: string) => {
      assert.deepStrictEqual(
        (await controls(page)).filter((each) => acts.test(each)),
        [],
        place
      )
      assert.deepStrictEqual(await faults(page), [], place)
    }
    await look("talk")
    await page.getByRole("button", { name: "Look inside" }).last().click()
    await page.getByRole("list", { name: "Steps of the turn" }).getByText("Settle").waitFor()
    await look("inside")
    await openRoom(page, "Runs")
    await page.getByRole("table").getByText("count to 3").waitFor()
    await look("runs")
    await openRoom(page, "Tests")
    const ofTests = page.getByRole("navigation", { name: "Tests of answers" }).getByRole("link")
    for (const pane of await ofTests.allTextContents()) {
      await ofTests.filter({ hasText: pane }).click()
      await ofTests.and(page.locator("[aria-current=page]")).filter({ hasText: pane }).waitFor()
      await look(`tests: ${pane}`)
    }
    await openRoom(page, "Tests")
    await page.getByRole("list", { name: "Cases" }).getByText("count to 3").waitFor()
    await look("tests")
    await openRoom(page, "Knowledge")
    const panes = page.getByRole("navigation", { name: "What an assistant has" }).getByRole("link")
    for (const pane of await panes.allTextContents()) {
      await panes.filter({ hasText: pane }).click()
      await panes.and(page.locator("[aria-current=page]")).filter({ hasText: pane }).waitFor()
      await look(pane)
    }
    // Whoever finds a way around what is hidden is told, and nothing is sent.
    const refused = await page.evaluate<string>(
      `import("./studio/api/http.ts").then(({ post }) => post("/assistants", { name: "x" })).then(() => "sent", (error) => error.message)`
    )
    assert.strictEqual(refused, "Nothing can be changed here. This studio only looks.")
    assert.deepStrictEqual(changing, [])
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("has the rooms, the name and the colour that the host chose, in light and dark", async () => {
    await using host = await open({ rooms: ["runs", "knowledge"], brand: { name: "Acme", colour: "#ffd400" } })
    for (const colorScheme of ["light", "dark"] as const) {
      await using visitor = await visit(browser, `${host.url}#/runs`, { colorScheme })
      const { page } = visitor
      await page.getByRole("heading", { name: "Runs", exact: true }).waitFor()
      assert.deepStrictEqual(await roomsIn(page), ["Runs", "Knowledge"])
      assert.match(await page.title(), / · Acme$/u)
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
    assert.strictEqual(await page.evaluate<string>("getComputedStyle(document.querySelector('.rail')).display"), "flex")
  })
})
