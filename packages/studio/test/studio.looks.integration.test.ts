/** How the studio looks and works: with a screen reader, on a phone, with the keyboard only, and with a server that dies. */
import { assert, it } from "@effect/vitest"
import { createServer } from "node:net"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { spawnServer } from "../../server/test/ServerProcess.ts"
import {
  answers,
  faults,
  finished,
  lastAnswer,
  makeAssistant,
  newThread,
  openRoom,
  openLists,
  say,
  pageWork,
  visit,
  soon
} from "./StudioVisit.ts"
import { shareDemo } from "./DemoStudio.ts"
import { caller, serverKey, startDemo } from "../../server/test/TestServer.ts"

/** The contrast of a colour to its background, as WCAG computes it. Runs in the page. */
const contrasts = `(selector, property) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true })
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data] }
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4).reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0)
  const ground = (element) => { for (let each = element; each; each = each.parentElement) { const colour = rgba(getComputedStyle(each).backgroundColor); if (colour[3] > 250) return colour } return [255, 255, 255, 255] }
  return [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility() && !each.disabled).map((each) => {
    const [a, b] = [light(rgba(getComputedStyle(each)[property])), light(ground(each.parentElement))].sort((x, y) => y - x)
    return { what: each.outerHTML.slice(0, 80), contrast: (a + 0.05) / (b + 0.05) }
  })
}`

const measureContrasts = (page: Page, selector: string, property = "borderTopColor") =>
  page.evaluate<ReadonlyArray<{ readonly what: string; readonly contrast: number }>>(
    `(${contrasts})(${JSON.stringify(selector)}, ${JSON.stringify(property)})`
  )

/** The same check in light and in dark colours. */
const inBoth = async (page: Page, check: () => Promise<void>): Promise<void> => {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme })
    await check()
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const sizes = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 }
]

/** Types 20 letters, each after the frame of the one before. Runs in the page. */
const typeKeys = `(async () => {
  for (let key = 0; key < 20; key++) {
    document.execCommand("insertText", false, "a")
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
  }
})()`

inChromium((launch) => {
  let browser: Browser
  let server: RunningServer
  let address = ""
  shareDemo(launch, (opened) => {
    ;({ address, browser, server } = opened)
  })

  it("shows the first step on a phone: an assistant, four beginnings, and that it is a demo; no form", async () => {
    await using visitor = await visit(browser, address, { viewport: { width: 390, height: 844 } })
    const { page } = visitor
    await page.getByRole("heading", { name: "Say something to Ada" }).waitFor()
    const starters = page.getByRole("list", { name: "Beginnings" }).getByRole("button")
    const beginnings = [
      "A toolWhat time is it?",
      "MemoryI live in Oslo.",
      "A documentWho keeps the lighthouse?",
      "VoiceTalk with it"
    ]
    await soon(page, async () => {
      assert.deepStrictEqual(await starters.allTextContents(), beginnings)
      const box = await starters.last().boundingBox()
      assert.isBelow((box?.y ?? 9999) + (box?.height ?? 0), 844)
    })
    await page.getByRole("complementary", { name: "Demo model" }).getByText("OPENAI_API_KEY").waitFor()
    assert.deepStrictEqual(await faults(page), [])
    assert.deepStrictEqual(await caller(server)("GET", "/assistants"), [])
    await starters.first().click()
    await finished(page)
    await lastAnswer(page).getByText("(UTC)").first().waitFor()
    assert.lengthOf(await caller(server)("GET", "/assistants"), 1)
    assert.deepStrictEqual(visitor.complaints, [])
  })

  for (const viewport of sizes) {
    it(
      `is in order for axe, ${viewport.width} wide, light and dark: talk, inside, tools, lists, dialogs, comparison`,
      { timeout: 240_000 },
      async () => {
        await using visitor = await visit(browser, address, { viewport, reducedMotion: "reduce" })
        const { page } = visitor
        const isPhone = viewport.width < 800
        const lists = () => openLists(page)
        await page.getByLabel("Message", { exact: true }).waitFor()
        await lists()
        await page.getByRole("button", { name: "New thread" }).click()
        await say(page, "Show me some markdown")
        await finished(page)
        await say(page, "What time is it?")
        await finished(page, 2)
        await page.getByRole("button", { name: "Options" }).click()
        await page.getByLabel("Reasoning").selectOption("on")
        await say(page, "count to 3")
        await finished(page, 3)
        await inBoth(page, async () => {
          assert.deepStrictEqual(await faults(page), [], "talk")
          for (const { contrast, what } of await measureContrasts(
            page,
            "input, .field, textarea:not(.field *), select"
          ))
            assert.isAtLeast(contrast, 3, what)
        })
        await page.getByRole("button", { name: "Options" }).click()
        await page.getByRole("button", { name: "Look inside" }).last().click()
        await page.getByRole("list", { name: "Steps of the turn" }).getByText("Settle").waitFor()
        await inBoth(page, async () => assert.deepStrictEqual(await faults(page), [], "turn"))
        await page.getByRole("tab", { name: "Prompt" }).click()
        await inBoth(page, async () => assert.deepStrictEqual(await faults(page), [], "prompt"))
        await page.getByRole("tab", { name: "Log" }).click()
        await inBoth(page, async () => {
          assert.deepStrictEqual(await faults(page), [], "log")
          const selected = await measureContrasts(page, "[role=tab][aria-selected=true]", "borderBottomColor")
          for (const { contrast, what } of selected) assert.isAtLeast(contrast, 3, what)
        })
        await page.getByRole("button", { name: "Close the panel" }).click()
        await lists()
        await inBoth(page, async () => {
          assert.deepStrictEqual(await faults(page), [], "lists")
          const marks = await measureContrasts(page, ".item.current .open", "borderLeftColor")
          assert.isAtLeast(marks.length, 2)
          for (const { contrast, what } of marks) assert.isAtLeast(contrast, 3, what)
        })
        await page.getByRole("button", { name: "New assistant" }).click()
        await page.getByRole("dialog").getByRole("combobox", { name: "Model" }).click()
        await page.getByRole("option").first().waitFor()
        await inBoth(page, async () => assert.deepStrictEqual(await faults(page), [], "new assistant"))
        await page.keyboard.press("Escape")
        await page.getByRole("button", { name: "Close", exact: true }).click()
        if (isPhone) await page.keyboard.press("Escape")
        await page.getByRole("button", { name: "Compare two models" }).click()
        await inBoth(page, async () => assert.deepStrictEqual(await faults(page), [], "comparison"))
        await soon(page, async () =>
          assert.isAtMost(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth"), 0)
        )
        assert.deepStrictEqual(visitor.complaints, [])
      }
    )
  }

  it("names its speakers for a screen reader, and tells what happens", async () => {
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await newThread(page)
    await say(page, "count to 3")
    await finished(page)
    await page.getByRole("article", { name: "You say" }).getByText("count to 3").waitFor()
    await page.getByRole("article", { name: "Ada answers" }).getByText("1 2 3").waitFor()
    await page.getByRole("status").getByText("The answer is complete.").waitFor({ state: "attached" })
  })

  it("changes its colours, and remembers which", async () => {
    await using visitor = await visit(browser, address, { colorScheme: "light" })
    const { page } = visitor
    const ground = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor")
    const light = await ground()
    await page.getByRole("button", { name: "Dark colours" }).click()
    await soon(page, async () => assert.notStrictEqual(await ground(), light))
    const dark = await ground()
    await page.reload()
    await page.getByRole("button", { name: "Light colours" }).waitFor()
    await soon(page, async () => assert.strictEqual(await ground(), dark))
  })

  it("has nothing beside the screen at 200 % zoom, in any room, also with text from right to left", async () => {
    await using visitor = await visit(browser, address, { viewport: { width: 640, height: 400 } })
    const { page } = visitor
    await makeAssistant(page, { name: "مساعد" })
    await say(page, "أين وصل طلبي رقم A-17؟")
    await finished(page)
    const directions = `[".question p", ".answer .text", ".bar h2"].map((each) => getComputedStyle(document.querySelector(each)).direction)`
    await soon(page, async () =>
      assert.deepStrictEqual(await page.evaluate<ReadonlyArray<string>>(directions), ["rtl", "ltr", "rtl"])
    )
    for (const room of ["Talk", "Runs", "Playground", "Tests", "Knowledge", "Voice"]) {
      await openRoom(page, room)
      await page.locator("main h2").first().waitFor()
      assert.deepStrictEqual(await faults(page), [], room)
      await soon(page, async () =>
        assert.isAtMost(await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth"), 0, room)
      )
    }
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("answers each key within 100 ms in a thread of a thousand messages", async () => {
    const call = caller(server)
    const { assistant_id } = await call("POST", "/assistants", { name: "Thousand" })
    const text = "It has **words**, `code` and a list:\n\n- one\n- two\n"
    const messages = Array.from({ length: 1000 }, (_, index) =>
      index % 2 === 0 ? { role: "user", content: `Question ${index}` } : { role: "assistant", content: text }
    )
    const { thread_id } = await call("POST", `/assistants/${assistant_id}/threads/import`, { messages })
    await using visitor = await visit(browser, address)
    const { page } = visitor
    await page.locator("main .composer").waitFor()
    await page.goto(`${server.url}/#/talk/${thread_id}`)
    await page.getByText("Question 998", { exact: true }).waitFor()
    await soon(page, async () => assert.strictEqual(await page.locator(".messages > li").count(), 1000))
    await page.getByLabel("Message", { exact: true }).focus()
    const work = await pageWork(page, () => page.evaluate(typeKeys))
    await soon(page, async () =>
      assert.strictEqual(await page.getByLabel("Message", { exact: true }).inputValue(), "a".repeat(20))
    )
    assert.isBelow(work / 20, 100)
  })

  it("shows two hundred messages, and follows the newest", async () => {
    const key = serverKey(server)
    const call = caller(server)
    const post = (path: string, body: object) => call("POST", path, body)
    const { assistant_id } = await post("/assistants", { name: "Long" })
    const { thread_id } = await post(`/assistants/${assistant_id}/threads`, { metadata: { title: "long" } })
    for (let index = 0; index < 200; index++) {
      await post(`/threads/${thread_id}/messages`, { content: `message ${index}`, send_to_llm: false })
    }
    await using visitor = await visit(browser, `${server.url}/#key=${key}`)
    await visitor.page.getByRole("button", { name: "Long" }).first().click()
    const last = visitor.page.locator(".question").nth(199)
    await last.waitFor()
    await soon(visitor.page, async () =>
      assert.isTrue((await last.boundingBox().then((box) => (box?.y ?? 9999) + (box?.height ?? 0))) <= 720)
    )
  })

  it("marks a dead server and a half answer, and goes on when the server is back", async () => {
    const folder = await mkdtemp(join(tmpdir(), "studio-"))
    const port = String(await freePort())
    const environment = {
      COLLOQUY_DATA_DIR: folder,
      PORT: port,
      COLLOQUY_API_KEYS: "key-of-ada-0123456=ada",
      RUN_LEASE_SECONDS: "3"
    }
    try {
      const first = spawnServer(environment)
      await first.printed(/listens on/)
      await using visitor = await visit(browser, `http://127.0.0.1:${port}/#key=key-of-ada-0123456`)
      const { page } = visitor
      await makeAssistant(page, { name: "Ada" })
      await say(page, "count to 1000")
      await page.locator(".live .text", { hasText: "9 10" }).waitFor()
      await first[Symbol.asyncDispose]()
      await lastAnswer(page).getByText("this is half an answer").waitFor()
      await page.getByRole("alert").getByText("The server does not answer.").waitFor()
      await soon(page, async () => assert.strictEqual(await page.locator(".caret").count(), 0))
      await using second = spawnServer(environment)
      await second.printed(/listens on/)
      await lastAnswer(page).getByText("This answer failed.").waitFor()
      await soon(page, async () => assert.include(await lastAnswer(page).locator(".text").textContent(), "9 10"))
      await page.getByText("The server does not answer.").waitFor({ state: "detached" })
      await say(page, "count to 3")
      await page.locator(".answer:not(.live) .text", { hasText: /^1 2 3$/ }).waitFor()
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it("works with the keyboard alone, also where the API is at the root", async () => {
    const own = await startDemo({ BASE_PATH: "" })
    try {
      await using visitor = await visit(browser, `${own.url}/#key=${serverKey(own)}`)
      const { page } = visitor
      const press = async (...names: ReadonlyArray<string>) => {
        for (const name of names) await page.keyboard.press(name)
      }
      await page.getByLabel("Message", { exact: true }).and(page.locator(":focus")).waitFor()
      await page.keyboard.type("count to 1000")
      await press("Enter")
      await page.locator(".live .text", { hasText: "1 2 3" }).waitFor()
      await press("Escape")
      await lastAnswer(page).getByText("Cancelled.").waitFor()
      await page.keyboard.type("count to 3")
      await press("Enter")
      await finished(page, 2)
      await page.getByRole("button", { name: "Look inside" }).last().focus()
      await press("Enter")
      await page.getByRole("tab", { name: "Turn" }).focus()
      await press("ArrowRight")
      await page.locator("#tab-prompt:focus").waitFor()
      await page.getByText("tokens of a window").waitFor()
      await soon(page, async () => assert.strictEqual(await answers(page).count(), 2))
      assert.deepStrictEqual(visitor.complaints, [])
    } finally {
      await own.stop()
    }
  })
})
