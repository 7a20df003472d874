/** The page as its package is published: joined by room, with hashes in the names of its files. In a real browser. */
import { webHandler } from "@colloquy/http"
import { assert, afterAll, beforeAll, it } from "@effect/vitest"
import express from "express"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Browser, Page } from "playwright-core"
import { newFolder } from "../../../scripts/Copy.ts"
import { buildPage, pageModule } from "../../../scripts/StudioPage.ts"
import { inChromium } from "../../../test/browser.ts"
import { demoKernel } from "../../server/test/DemoKernel.ts"
import { makeStudio } from "../src/StudioHandler.ts"
import type { pageFiles } from "../src/PageFiles.ts"
import { finished, lastText, openRoom, say, soon, visit } from "./StudioVisit.ts"

/** The module that the build writes in the place of `PageFiles.js`. */
const publishedFiles = async (): Promise<typeof pageFiles> => {
  using work = newFolder("page-")
  const file = join(work.folder, "PageFiles.mjs")
  await writeFile(file, pageModule(await buildPage()))
  const made: { readonly pageFiles: typeof pageFiles } = await import(pathToFileURL(file).href)
  return made.pageFiles
}

const open = async (files: typeof pageFiles) => {
  const ai = webHandler({ kernel: demoKernel, basePath: "/ai", authenticate: () => "ada" })
  const app = express()
  app.use("/ai", ai.node)
  app.use("/studio", makeStudio(files, { ai }).node)
  const server = createServer(app).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/studio/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
      await ai.dispose()
    }
  }
}

interface Loaded {
  readonly name: string
  readonly encodedBodySize: number
  readonly transferSize: number
}

/** What the page and its files weigh that the browser has loaded so far. */
const loadedFiles = (page: Page): Promise<ReadonlyArray<Loaded>> =>
  page.evaluate(
    `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name }) => new URL(name).pathname.startsWith("/studio/"))
      .map(({ name, encodedBodySize, transferSize }) => ({ name, encodedBodySize, transferSize }))`
  )

const weight = (files: ReadonlyArray<Loaded>): number =>
  files.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)

inChromium((launch) => {
  let browser: Browser
  let files: typeof pageFiles
  beforeAll(async () => {
    browser = await launch()
    files = await publishedFiles()
  })
  afterAll(() => browser.close())

  it("loads less than 60 kB first and less than 40 for each room, in few files, and talks", async () => {
    await using host = await open(files)
    await using visitor = await visit(browser, host.url)
    const { page } = visitor
    await page.getByRole("list", { name: "Beginnings" }).waitFor()
    await soon(page, async () =>
      assert.isTrue(await page.evaluate(`document.fonts.ready.then(() => document.fonts.check("15px Geist"))`))
    )
    const first = await loadedFiles(page)
    // The typeface is loaded beside the rest: what is read stands there before it comes.
    const letters = first.filter(({ name }) => name.endsWith(".woff2"))
    assert.lengthOf(letters, 1)
    assert.isAtMost(weight(letters), 30_000)
    assert.isAbove(weight(first) - weight(letters), 20_000)
    assert.isAtMost(weight(first) - weight(letters), 60_000)
    assert.isAtMost(first.length, 25)
    let before = first.length
    for (const room of ["Runs", "Playground", "Knowledge"]) {
      await openRoom(page, room)
      await page.getByRole("heading", { name: room, exact: true }).waitFor()
      const all = await loadedFiles(page)
      const added = all.slice(before)
      before = all.length
      assert.isAbove(added.length, 0, room)
      assert.isAtMost(weight(added), 40_000, room)
    }
    await openRoom(page, "Talk")
    await say(page, "count to 3")
    await finished(page)
    await soon(page, async () => assert.strictEqual(await lastText(page).textContent(), "1 2 3"))
    assert.deepStrictEqual(visitor.complaints, [])
  })

  it("is asked for once: a second visit loads no file with a hash again, and the others only if they changed", async () => {
    await using host = await open(files)
    await using visitor = await visit(browser, host.url)
    const { page } = visitor
    await page.getByRole("list", { name: "Beginnings" }).waitFor()
    await page.goto("about:blank")
    await page.goto(host.url)
    await page.getByRole("list", { name: "Beginnings" }).waitFor()
    const again = (await loadedFiles(page)).filter(({ name }) => /\.(?:js|css|woff2)$/.test(name))
    assert.isAbove(again.length, 10)
    // Of an answer that says "not changed", only the head is sent.
    for (const { name, transferSize } of again) assert.isAtMost(transferSize, 1000, name)
    const script = again.find(({ name }) => name.endsWith(".js"))?.name ?? ""
    const answer = await fetch(script)
    assert.match(script, /-[\w-]{8}\.js$/u)
    assert.strictEqual(answer.headers.get("cache-control"), "public, max-age=31536000, immutable")
    await answer.arrayBuffer()
  })
})
