/**
 * The Next application of this folder under the real `next build`, `next start` and `next dev`. It runs as a copy beside built packages,
 * whose kernel writes a line each time it is built, so that a build at import, or one for each edit, is detected.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, Page } from "playwright-core"
import { faults, numbers, soon, visit } from "../../packages/studio/test/StudioVisit.ts"
import { builtCopy, type Copy, copyExamples } from "../../scripts/Copy.ts"
import { inChromium } from "../../test/browser.ts"

const root = join(dirname(fileURLToPath(import.meta.url)), "../..")
const modules = join(root, "node_modules")
const next = join(modules, "next/dist/bin/next")

/** The kernel writes a line each time it is built. */
const countBuilds = (examples: string) => {
  const builds = join(examples, "builds")
  const kernel = join(examples, "embed/kernel.ts")
  const source = readFileSync(kernel, "utf8").replace("export const kernel", "const plain")
  const noted = `Layer.sync(Note, () => Note.of(void appendFileSync(${JSON.stringify(builds)}, "built\\n")))`
  writeFileSync(
    kernel,
    `import { appendFileSync } from "node:fs"
import * as Context from "effect/Context"
${source}
class Note extends Context.Service<Note, void>()("Note") {}
export const kernel = Layer.provideMerge(plain, ${noted})
`
  )
  return () => (existsSync(builds) ? readFileSync(builds, "utf8").trim().split("\n").length : 0)
}

const environment = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", SESSION_SECRET: "for tests", NODE_ENV: undefined }

const run = (command: ReadonlyArray<string>, cwd: string): ChildProcess & { readonly said: () => string } => {
  const child = spawn(process.execPath, command, { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  child.stdout.on("data", (piece) => (output += String(piece)))
  child.stderr.on("data", (piece) => (output += String(piece)))
  return Object.assign(child, { said: () => output })
}

const finish = async (command: ReadonlyArray<string>, cwd: string): Promise<void> => {
  const child = run(command, cwd)
  const [code] = await once(child, "exit")
  assert.strictEqual(code, 0, child.said())
}

const serve = async (command: string, cwd: string) => {
  const child = run([next, command, "-H", "127.0.0.1", "-p", "0"], cwd)
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", () => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+/u.exec(child.said()) ?? []
      if (url !== undefined && child.said().includes("Ready")) resolve(url)
    })
    child.once("exit", () => reject(new Error(child.said())))
  })
  const call = (path: string, init: RequestInit = {}) => fetch(address + path, init)
  return {
    address,
    call,
    exitCode: () => child.exitCode,
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, "exit")
      child.kill("SIGTERM")
      await ended
    }
  }
}

type Call = (path: string, init?: RequestInit) => Promise<Response>

const login = async (call: Call): Promise<Readonly<Record<string, string>>> => {
  const answer = await call("/login/ada", { method: "POST" })
  return { cookie: answer.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "" }
}

const ask = (call: Call, headers: Readonly<Record<string, string>>) =>
  call("/ai/threads/messages", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: '{"content":"count to 3","stream":true}'
  })

const countThreads = async (call: Call, headers: Readonly<Record<string, string>>): Promise<number> => {
  const threads = await (await call("/ai/threads", { headers })).json()
  return Array.isArray(threads) ? threads.length : Number.NaN
}

/** The page behind the session, and a file of it, from where Next has bundled them. */
const opensStudio = async (call: Call, headers: Readonly<Record<string, string>>): Promise<void> => {
  assert.strictEqual((await call("/admin/studio/")).status, 403)
  const redirect = await call("/admin/studio", { headers, redirect: "manual" })
  assert.deepStrictEqual([redirect.status, redirect.headers.get("location")], [308, "studio/"])
  const html = await (await call("/admin/studio/", { headers })).text()
  assert.include(html, '<meta name="api-base" content="/ai" />')
  const [, script = ""] = /<script type="module" src="(studio\/main-[\w-]+\.js)">/u.exec(html) ?? []
  const answer = await call(`/admin/studio/${script}`, { headers })
  assert.strictEqual(answer.headers.get("content-type"), "text/javascript; charset=utf-8")
  assert.include(await answer.text(), "import")
}

const tries = async (call: Call): Promise<void> => {
  assert.strictEqual(await (await call("/hello")).text(), "Hello from Next")
  const headers = await login(call)
  assert.strictEqual((await ask(call, { "x-user": "ada" })).status, 401)
  assert.strictEqual((await ask(call, { cookie: `${headers["cookie"]}x` })).status, 401)
  const events = (await (await ask(call, headers)).text()).split("\n\n").filter((each) => each.includes("data: "))
  assert.include(events.at(-1), '"content":"1 2 3"')
  assert.strictEqual(await countThreads(call, headers), 1)
  assert.strictEqual((await call("/ai/threads", { method: "HEAD", headers })).status, 200)
  assert.property(await (await call("/ai/openapi.json", { headers })).json(), "openapi")
  await opensStudio(call, headers)
  const options = await call("/ai/threads", { method: "OPTIONS", headers })
  assert.deepStrictEqual([options.status, await options.json()], [405, { detail: "Method Not Allowed" }])
}

let built: Copy
let copy: Copy
let examples: string
beforeAll(() => {
  built = builtCopy()
  copy = copyExamples(built, ["chat", "embed"])
  examples = copy.folder
}, 240_000)
afterAll(() => {
  copy[Symbol.dispose]()
  built[Symbol.dispose]()
})

describe("the real Next", () => {
  it("builds without a kernel, serves with one, and keeps it through edits", { timeout: 240_000 }, async () => {
    const builds = countBuilds(examples)
    const application = join(examples, "embed/next")
    await finish([next, "build"], application)
    assert.strictEqual(builds(), 0)
    {
      await using server = await serve("start", application)
      await tries(server.call)
      assert.strictEqual(builds(), 1)
    }
    await using server = await serve("dev", application)
    await tries(server.call)
    assert.strictEqual(builds(), 2)
    const headers = await login(server.call)
    for (const edit of ["one", "two"]) {
      appendFileSync(join(application, "ai.ts"), `\nexport const ${edit} = true\n`)
      writeFileSync(
        join(application, "app/hello/route.ts"),
        `import { ${edit} } from "../../ai.ts"\nexport const GET = () => new Response(String(${edit}) + "${edit}")\n`
      )
      while ((await (await server.call("/hello")).text()) !== `true${edit}`) assert.isNull(server.exitCode())
      assert.strictEqual(await countThreads(server.call, headers), 1)
    }
    assert.strictEqual(builds(), 2)
  })
})

const chat = ["service.ts", "app/layout.tsx", "app/page.tsx", "app/Chat.tsx", "app/Part.tsx"]

const say = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel("Message").fill(text)
  await page.getByRole("button", { name: "Send" }).click()
}

const last = (page: Page) => page.getByRole("article", { name: "Assistant" }).last()

const answered = (page: Page) => page.getByRole("button", { name: "Send" }).waitFor()

describe("the chat page of examples/chat", () => {
  it("is less than 250 lines, styles aside", () => {
    const lines = chat.map(
      (file) =>
        readFileSync(join(examples, "chat", file), "utf8")
          .trim()
          .split("\n").length
    )
    assert.isBelow(
      lines.reduce((sum, each) => sum + each, 0),
      250
    )
  })

  inChromium((launch) => {
    let browser: Browser
    let server: Awaited<ReturnType<typeof serve>>
    beforeAll(async () => {
      const folder = join(examples, "chat")
      await finish([next, "build"], folder)
      server = await serve("start", folder)
      browser = await launch()
    }, 400_000)
    afterAll(async () => {
      await browser.close()
      await server[Symbol.asyncDispose]()
    })

    it("shows markdown as elements, and HTML of a model as text", async () => {
      await using visitor = await visit(browser, server.address)
      const { page } = visitor
      await say(page, "Show me some markdown")
      await answered(page)
      await last(page).getByRole("heading", { name: "A sample of markdown" }).waitFor()
      await last(page).getByRole("table").getByText("32000").waitFor()
      await last(page).locator("pre code").getByText("const greet").waitFor()
      await last(page).getByText("<script>alert('this stays text')</script>").waitFor()
      assert.deepStrictEqual(await faults(page), [])
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("shows a tool as a card, and one that waits until it is approved or rejected, over a reload", async () => {
      await using visitor = await visit(browser, server.address)
      const { page } = visitor
      await say(page, "How is the weather?")
      await answered(page)
      const weather = last(page).getByRole("region", { name: "Tool weather" })
      await weather.getByText("is done").click()
      await weather.getByText("How is the weather?").waitFor()
      await page.reload()
      await weather.getByText("is done").click()
      await weather.getByText('"celsius": 21').waitFor()

      await say(page, "I want a refund.")
      const refund = last(page).getByRole("region", { name: "Tool refund" })
      await refund.getByText("waits for you").waitFor()
      await answered(page)
      await page.reload()
      await refund.getByText("waits for you").waitFor()
      assert.deepStrictEqual(await faults(page), [])
      await refund.getByRole("button", { name: "Approve" }).click()
      await last(page).getByText("The money is on its way.").first().waitFor()
      await refund.getByText("is done").waitFor()
      await answered(page)

      await say(page, "Another refund, please.")
      await refund.getByRole("button", { name: "Reject" }).click()
      await refund.getByText("was rejected").waitFor()
      await answered(page)
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("sends files, and shows them and the excerpts that an answer was given", async () => {
      await using visitor = await visit(browser, server.address)
      const { page } = visitor
      const picked = { name: "orcas.txt", mimeType: "text/plain", buffer: Buffer.from("Orcas live in pods.") }
      await page.getByLabel("Files").setInputFiles(picked)
      await page.getByText("orcas.txt").waitFor()
      await say(page, "Where do orcas live?")
      await last(page).locator("cite", { hasText: "orcas.txt" }).waitFor()
      await last(page).getByText("Orcas live in pods.” [1]").waitFor()
      await page.getByRole("article", { name: "You" }).getByRole("link", { name: "orcas.txt" }).waitFor()
      await answered(page)
      assert.deepStrictEqual(visitor.complaints, [])
    })

    it("goes on with an answer after a reload in its middle, can be stopped, and begins anew", async () => {
      await using visitor = await visit(browser, server.address)
      const { page } = visitor
      await say(page, "count to 100")
      await last(page).getByText("7 8 9").waitFor()
      await page.reload()
      await last(page).getByText(numbers(100), { exact: true }).waitFor()
      await soon(page, async () => assert.strictEqual(await page.getByRole("article").count(), 2))
      await answered(page)
      await say(page, "count to 1000")
      await last(page).getByText("7 8 9").waitFor()
      await page.getByRole("button", { name: "Stop" }).click()
      await answered(page)
      await soon(page, async () => assert.notInclude(await last(page).textContent(), "1000"))
      await page.getByRole("link", { name: "New chat" }).click()
      await page.getByText("Ask for the weather").waitFor()
      assert.deepStrictEqual(await faults(page), [], "a new chat")
      await page.getByRole("button", { name: "How is the weather?" }).click()
      await last(page).getByRole("region", { name: "Tool weather" }).getByText("is done").waitFor()
      assert.deepStrictEqual(visitor.complaints, [])
    })
  })
})
