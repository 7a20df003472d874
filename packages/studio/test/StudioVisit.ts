/** A visitor of the studio in a real browser, for its tests: with separate browser storage, and with a visitor's most frequent actions. */
import axe from "axe-core"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Browser, BrowserContextOptions, Page } from "playwright-core"
import { encodeWav } from "../src/page/lib/wav.ts"

export interface Visit {
  readonly page: Page
  /** The errors and warnings of the browser. */
  readonly complaints: Array<string>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** How long a page may take for what is expected of it, on a machine that does much else: less than a test may take. */
const patience = 90_000

/** `TEST_SLOWDOWN=5` makes the scripts of every page five times slower, which finds tests that look too early. */
const slowdown = Number(process.env["TEST_SLOWDOWN"] ?? 1)

export const visit = async (browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Visit> => {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(patience)
  const page = await context.newPage()
  if (slowdown > 1) {
    const session = await context.newCDPSession(page)
    await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown })
  }
  const complaints: Array<string> = []
  page.on("pageerror", (error) => complaints.push(error.message))
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
  })
  await page.goto(address)
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() }
}

/**
 * Repeats a check after each frame of the page until it passes. Every assertion about what a page shows goes through it: the result of an
 * act is there when the page has drawn it, and not at once. Pauses between the looks, which grow to 50 milliseconds, leave the CPU to the
 * page and its server.
 */
export const soon = async (page: Page, check: () => Promise<void>): Promise<void> => {
  const end = performance.now() + patience
  for (let looks = 0; ; looks++) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > end || page.isClosed()) throw error
      // A page that is being loaded again draws no frame.
      const pause = `new Promise((done) => setTimeout(() => requestAnimationFrame(done), ${5 * Math.min(looks, 10)}))`
      await page.evaluate(pause).catch(() => page.waitForLoadState("domcontentloaded"))
    }
  }
}

/**
 * The milliseconds of CPU that the page's own thread needs for `act`, without a slowdown that is on. Time on the clock also grows with
 * what other processes do meanwhile.
 */
export const pageWork = async (page: Page, act: () => Promise<unknown>): Promise<number> => {
  const session = await page.context().newCDPSession(page)
  await session.send("Performance.enable", { timeDomain: "threadTicks" })
  const taken = async () =>
    (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration")?.value ?? NaN
  const before = await taken()
  await act()
  const after = await taken()
  await session.detach()
  return ((after - before) * 1000) / slowdown
}

interface NewAssistant {
  readonly name: string
  readonly tools?: string
  readonly model?: string
}

/** On a phone the lists are opened by a button, and cover the page. */
export const openLists = async (page: Page): Promise<void> => {
  await page.locator("main header.bar").waitFor()
  const button = page.getByRole("button", { name: "Assistants and threads" })
  if (await button.isVisible()) await button.click()
}

export const openRoom = (page: Page, name: string): Promise<void> =>
  page.getByRole("navigation", { name: "Rooms" }).getByRole("link", { name }).click()

/** Opens the menu of the rail's end, and chooses from it. */
export const choose = async (page: Page, name: string): Promise<void> => {
  await page.getByRole("button", { name: "You", exact: true }).click()
  await page.getByRole("group", { name: "You" }).getByRole("button", { name }).click()
}

export const makeAssistant = async (page: Page, { model = "", name, tools = "" }: NewAssistant): Promise<void> => {
  await page.locator("main .composer").waitFor()
  await openLists(page)
  await page.getByRole("button", { name: "New assistant" }).click()
  await page.getByLabel("Name", { exact: true }).fill(name)
  await page.getByLabel("Tools that you answer by hand").fill(tools)
  if (model !== "") {
    await page.getByRole("combobox", { name: "Model" }).fill(model)
    await page.getByLabel("Name", { exact: true }).focus()
  }
  await page.getByRole("button", { name: "Make assistant" }).click()
  await page.locator(".item.current", { hasText: name }).waitFor({ state: "attached" })
}

export const newThread = async (page: Page): Promise<void> => {
  await openLists(page)
  await page.getByRole("button", { name: "New thread" }).click()
  await page.getByText("Say something").waitFor()
}

export const say = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel("Message", { exact: true }).fill(text)
  await page.keyboard.press("Enter")
}

export const answers = (page: Page) => page.locator(".answer")
export const lastAnswer = (page: Page) => answers(page).last()
export const lastText = (page: Page) => lastAnswer(page).locator(".text")

export const finished = (page: Page, count = 1): Promise<void> =>
  page
    .locator(".answer:not(.live)")
    .nth(count - 1)
    .locator("footer")
    .waitFor()

export const numbers = (to: number): string => Array.from({ length: to }, (_, index) => index + 1).join(" ")

const speech = (): Uint8Array => {
  const rate = 24_000
  const samples = Float32Array.from({ length: rate * 2.5 }, (_, index) =>
    index < rate / 2 ? 0.5 * Math.sin((2 * Math.PI * 440 * index) / rate) : 0
  )
  return new Uint8Array(encodeWav(samples, rate))
}

/**
 * What starts a browser whose microphone is a file: half a second of a tone and two seconds of silence, again and again. The file is written
 * into the folder.
 */
export const speakInto = async (folder: string): Promise<ReadonlyArray<string>> => {
  const file = join(folder, "speech.wav")
  await writeFile(file, speech())
  return [
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    `--use-file-for-fake-audio-capture=${file}`
  ]
}

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary: string }>
}

/** The colours in the middle of a transition are not those that are read. */
const stillness = `Promise.allSettled(
  document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime < Infinity).map((each) => each.finished)
).then(() => {})`

/** The problems that axe finds on the current page. */
export const faults = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(stillness)
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source)
  const violations = await page.evaluate<ReadonlyArray<Violation>>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)"
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary}`)
  )
}
