/**
 * The Next application of this folder under the real `next build`, `next start` and `next dev`. It runs as a copy whose kernel writes a
 * line each time it is built, so that a build at import, or one for each edit, is detected.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { inChromium } from "../../test/browser.ts"

const root = join(dirname(fileURLToPath(import.meta.url)), "../..")
const examples = join(root, "examples")
const modules = join(root, "node_modules")
const next = join(modules, "next/dist/bin/next")

/**
 * Next uses the built packages, as an application does. Packages that were not built before are removed again, so that they do not become
 * outdated.
 */
const builtPackages = async () => {
  const outputs = ["core", "adapters", "testing", "http", "ws", "studio", "server"].map((name) =>
    join(root, "packages", name, "dist")
  )
  const unbuilt = outputs.filter((folder) => !existsSync(folder))
  await finish([join(modules, "typescript/bin/tsc"), "-b", "tsconfig.build.json"], root)
  await finish([join(root, "scripts/join.ts")], root)
  return { [Symbol.dispose]: () => unbuilt.forEach((folder) => rmSync(folder, { recursive: true, force: true })) }
}

/** Inside the repository, because Next only uses files of its workspace. */
const copyOf = (parts: ReadonlyArray<string>) => {
  mkdirSync(join(root, ".vitest"), { recursive: true })
  const folder = mkdtempSync(join(root, ".vitest/next-"))
  for (const part of parts) cpSync(join(examples, part), join(folder, part), { recursive: true })
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

const copyApplication = () => {
  const copy = copyOf(["embed/next", "embed/kernel.ts", "embed/sessions.ts"])
  const { folder } = copy
  const builds = join(folder, "builds")
  const kernel = join(folder, "embed/kernel.ts")
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
  return {
    folder: join(folder, "embed/next"),
    builds: () => (existsSync(builds) ? readFileSync(builds, "utf8").trim().split("\n").length : 0),
    [Symbol.dispose]: copy[Symbol.dispose]
  }
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

let packages: Disposable | undefined
beforeAll(async () => {
  packages = await builtPackages()
}, 240_000)
afterAll(() => packages?.[Symbol.dispose]())

describe("the real Next", () => {
  it("builds without a kernel, serves with one, and keeps it through edits", { timeout: 240_000 }, async () => {
    using application = copyApplication()
    await finish([next, "build"], application.folder)
    assert.strictEqual(application.builds(), 0)
    {
      await using server = await serve("start", application.folder)
      await tries(server.call)
      assert.strictEqual(application.builds(), 1)
    }
    await using server = await serve("dev", application.folder)
    await tries(server.call)
    assert.strictEqual(application.builds(), 2)
    const headers = await login(server.call)
    for (const edit of ["one", "two"]) {
      appendFileSync(join(application.folder, "ai.ts"), `\nexport const ${edit} = true\n`)
      writeFileSync(
        join(application.folder, "app/hello/route.ts"),
        `import { ${edit} } from "../../ai.ts"\nexport const GET = () => new Response(String(${edit}) + "${edit}")\n`
      )
      while ((await (await server.call("/hello")).text()) !== `true${edit}`) assert.isNull(server.exitCode())
      assert.strictEqual(await countThreads(server.call, headers), 1)
    }
    assert.strictEqual(application.builds(), 2)
  })
})

const chat = ["service.ts", "app/layout.tsx", "app/page.tsx", "app/ai/[...path]/route.ts"]

describe("the chat page of examples/chat", () => {
  it("is less than 60 lines, and with its service, its route and its frame less than 100", () => {
    const [service = 0, ...app] = chat.map(
      (file) =>
        readFileSync(join(examples, "chat", file), "utf8")
          .trim()
          .split("\n").length
    )
    assert.isBelow(app[1] ?? 0, 60)
    assert.isBelow(
      app.reduce((sum, lines) => sum + lines, service),
      100
    )
  })

  inChromium((launch) => {
    it("is built and served by Next, and talks, with files, in a browser", { timeout: 240_000 }, async () => {
      using copy = copyOf(["chat"])
      const folder = join(copy.folder, "chat")
      await finish([next, "build"], folder)
      await using server = await serve("start", folder)
      const browser = await launch()
      try {
        const page = await browser.newPage()
        page.setDefaultTimeout(60_000)
        const complaints: Array<string> = []
        page.on("pageerror", (error) => complaints.push(error.message))
        await page.goto(server.address)
        await page.getByLabel("Message").fill("count to 3")
        await page.getByRole("button", { name: "Send" }).click()
        await page.getByRole("article", { name: "assistant" }).filter({ hasText: "1 2 3" }).waitFor()
        await page.getByLabel("Message").fill("What is in it?")
        const picked = { name: "orcas.txt", mimeType: "text/plain", buffer: Buffer.from("Orcas live in pods.") }
        await page.getByLabel("Files").setInputFiles(picked)
        await page.getByRole("button", { name: "Send" }).click()
        await page.locator("cite", { hasText: "orcas.txt" }).waitFor()
        await page.getByRole("link", { name: "orcas.txt" }).waitFor()
        const threads = JSON.parse(await (await server.call("/ai/threads")).text())
        assert.lengthOf(threads, 1)
        assert.lengthOf(threads[0].messages, 4)
        assert.strictEqual(threads[0].messages[2].attachments[0].filename, "orcas.txt")
        assert.deepStrictEqual(complaints, [])
      } finally {
        await browser.close()
      }
    })
  })
})
