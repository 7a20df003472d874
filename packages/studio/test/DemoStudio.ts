/** A browser and a server with the demo model, which the tests of a file share. */
import { afterAll, beforeAll } from "@effect/vitest"
import type { Browser } from "playwright-core"
import type { Launch } from "../../../test/browser.ts"
import type { RunningServer } from "../../server/src/Server.ts"
import { serverKey, startDemo } from "../../server/test/TestServer.ts"

interface DemoStudio {
  readonly browser: Browser
  readonly server: RunningServer
  /** Of the studio, with a key in it. */
  readonly address: string
}

/** Opens both before the tests and closes them afterwards. `use` gets them when they are open. */
export const shareDemo = (launch: Launch, use: (opened: DemoStudio) => void): void => {
  let opened: DemoStudio
  beforeAll(async () => {
    const server = await startDemo()
    const browser = await launch()
    opened = { browser, server, address: `${server.url}/#key=${serverKey(server)}` }
    use(opened)
  })
  afterAll(async () => {
    await opened.browser.close()
    await opened.server.stop()
  })
}
