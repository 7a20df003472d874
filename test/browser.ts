/**
 * Where a test needs a browser, it says so through this function. Without Chromium it is skipped with a reason, and with CI=true that is a
 * failure, so that nobody believes a test ran which did not. The summary at the end tells which.
 */
import { describe, it } from "@effect/vitest"
import { type Browser, chromium } from "playwright-core"
import { chromiumPath } from "./chromiumPath.ts"

declare module "vitest" {
  interface TaskMeta {
    /** The browser that this test ran in, or `missing`: for the summary at the end. */
    readonly browser?: string
  }
}

const reason =
  "there is no Chromium; install it (on Debian: sudo scripts/install-chromium.sh) or set TEST_CHROMIUM to its path"

/** Headless, and without a word to the world outside. */
const options = ["gpu", "quic", "background-networking", "component-update", "sync", "dev-shm-usage"]

/** Starts the browser, with further flags where a test needs them: a microphone that is a file, for example. */
export type Launch = (flags?: ReadonlyArray<string>) => Promise<Browser>

const launchFrom =
  (executablePath: string): Launch =>
  (flags = []) =>
    chromium.launch({
      executablePath,
      args: [...options.map((option) => `--disable-${option}`), "--no-first-run", "--no-sandbox", ...flags]
    })

/** `body` receives what starts the browser. */
export const inChromium = (body: (launch: Launch) => void): void => {
  if (chromiumPath !== undefined) {
    const launch = launchFrom(chromiumPath)
    describe("in Chromium", { meta: { browser: "Chromium" } }, () => body(launch))
    return
  }
  it.skipIf(process.env["CI"] !== "true")(`in Chromium (${reason})`, { meta: { browser: "missing" } }, () => {
    throw new Error(`With CI=true the tests in Chromium must run: ${reason}.`)
  })
}
