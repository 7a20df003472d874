/**
 * `npm run screenshots`: pictures of every screen of the studio in light and dark, 1440, 1100 and 390 pixels wide, in `screenshots/`. The
 * server runs in this process with the demo model. Words behind the command choose scenes: `npm run screenshots -- talk palette`.
 */
import * as Effect from "effect/Effect"
import { mkdir } from "node:fs/promises"
import { chromium, type Page } from "playwright-core"
import { startServer } from "../packages/server/src/Server.ts"
import { readSettings } from "../packages/server/src/Settings.ts"
import { serverKey } from "../packages/server/test/TestServer.ts"
import { chromiumPath } from "../test/chromiumPath.ts"
import { scenes } from "./screenshots/scenes.ts"

const folder = "screenshots"
const widths = [1440, 1100, 390]
const schemes = ["light", "dark"] as const

const wanted = process.argv.slice(2)
const chosen = scenes.filter(({ name }) => wanted.length === 0 || wanted.includes(name))

/** A tool server whose calls wait for an approval. */
const toolServer = {
  command: process.execPath,
  args: ["--conditions=colloquy-source", "packages/adapters/test/mcp/ToolServerProcess.ts"],
  approval: true
}

const environment = {
  COLLOQUY_DATA_DIR: "memory://",
  PORT: "0",
  LIMITS: "off",
  MCP_SERVERS: JSON.stringify({ tools: toolServer })
}
const server = await startServer(await Effect.runPromise(readSettings(environment)))
const browser = await chromium.launch({
  ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
  args: [
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream"
  ]
})

/** The screen is still when two pictures of it are the same. */
const settled = async (page: Page): Promise<void> => {
  let before = ""
  for (let time = 0; time < 20; time++) {
    const now = (await page.screenshot({ type: "jpeg", quality: 30 })).toString("base64")
    if (now === before) return
    before = now
    await page.waitForTimeout(80)
  }
}

try {
  await mkdir(folder, { recursive: true })
  for (const { go, name } of chosen) {
    for (const width of widths) {
      const context = await browser.newContext({
        viewport: { width, height: width < 500 ? 844 : 900 },
        reducedMotion: "reduce"
      })
      const page = await context.newPage()
      page.setDefaultTimeout(60_000)
      await page.goto(`${server.url}/#key=${serverKey(server)}`)
      await page.locator("main .composer").waitFor()
      try {
        await go(page, { url: server.url, key: serverKey(server) })
      } catch (error) {
        console.error(`${name} ${width}: ${error instanceof Error ? error.message : String(error)}`)
        process.exitCode = 1
      }
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
        await settled(page)
        await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png` })
      }
      await context.close()
    }
    console.log(name)
  }
} finally {
  await browser.close()
  await server.stop()
}
