// The command `colloquy`, as processes of their own.
import { assert, describe, it } from "@effect/vitest"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { spawnServer } from "./ServerProcess.ts"
import { bareEnvironment } from "../../../test/environment.ts"

const call = async (words: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}) => {
  const process = spawnServer({ COLLOQUY_DATA_DIR: "memory://", ...environment }, ["command/colloquy.ts", ...words])
  const status = await process.ended
  return { status, text: process.output() }
}

const makeFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), "colloquy-command-"))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** A vendor that lists one model, to those with the right key. */
const openVendor = async () => {
  const server = createServer(({ headers }, response) => {
    const isRight = headers.authorization === "Bearer right"
    response.writeHead(isRight ? 200 : 401, { "content-type": "application/json" })
    response.end(JSON.stringify(isRight ? { object: "list", data: [{ id: "gpt-5", object: "model" }] } : {}))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (typeof address !== "object" || address === null) return assert.fail("no address")
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  }
  return { url: `http://127.0.0.1:${address.port}`, [Symbol.asyncDispose]: close }
}

describe("colloquy", () => {
  it("says what it does on one screen, and what it does not know", async () => {
    const help = await call([])
    assert.strictEqual(help.status, 0)
    assert.isAtMost(help.text.split("\n").length, 24)
    for (const name of [
      "serve",
      "new",
      "studio",
      "key",
      "migrate",
      "retention",
      "export",
      "copy-test",
      "eval",
      "doctor"
    ]) {
      assert.include(help.text, `\n  ${name} `)
      const own = await call([name, "--help"])
      assert.deepStrictEqual([own.status, own.text.startsWith(`Usage: colloquy ${name}`)], [0, true])
    }
    const option = await call(["serve", "--port", "8080"])
    assert.deepStrictEqual([option.status, option.text.startsWith("There is no option --port.")], [2, true])
    const unknown = await call(["constructor"])
    assert.deepStrictEqual([unknown.status, unknown.text.startsWith('There is no command "constructor".')], [2, true])
    const { version }: { version: string } = JSON.parse(
      await readFile(new URL("../package.json", import.meta.url), "utf8")
    )
    assert.strictEqual((await call(["--version"])).text, `${version}\n`)
  })

  it("gets its options through the scripts of npm", async () => {
    const root = fileURLToPath(new URL("../../..", import.meta.url))
    const run = (...words: ReadonlyArray<string>) =>
      promisify(execFile)("npm", ["run", "--silent", ...words], { cwd: root }).then(
        ({ stdout }) => ({ status: 0, text: stdout }),
        ({ code, stderr, stdout }: { code: number; stderr: string; stdout: string }) => ({
          status: code,
          text: stdout + stderr
        })
      )
    for (const name of ["eval", "retention"]) {
      const { status, text } = await run(name, "--", "--no-such-option")
      assert.deepStrictEqual([status, text.includes("--no-such-option")], [2, true], text)
    }
  })

  it("migrates a folder, makes a key in it, and finds nothing wrong", async () => {
    await using folder = await makeFolder()
    const environment = { COLLOQUY_DATA_DIR: folder.path }
    const migrated = await call(["migrate"], environment)
    assert.deepStrictEqual([migrated.status, migrated.text.includes("has the schema of this version")], [0, true])
    // Without a terminal there is no progress, so this is all of it.
    const again: unknown = JSON.parse((await call(["migrate", "--json"], environment)).text)
    assert.deepStrictEqual(again, { ok: true, database: folder.path })
    const deleted: unknown = JSON.parse((await call(["retention", "--json"], environment)).text)
    assert.include(deleted, { logs: 0, blobs: 0 })
    assert.strictEqual((await call(["retention", "now"], environment)).status, 2)
    assert.strictEqual((await call(["key", "make", "ada"], environment)).status, 0)
    const listed: unknown = JSON.parse((await call(["key", "list", "ada", "--json"], environment)).text)
    assert.lengthOf(Object(listed), 1)
    const report: unknown = JSON.parse((await call(["doctor", "--json"], environment)).text)
    assert.include(report, { ok: true })
    assert.strictEqual((await call(["migrate"])).status, 1)
  }, 180_000)

  it("names every setting that is wrong, and each provider that does not answer", async () => {
    const settings = await call(["doctor"], { PORT: "many", LIMITS: "few" })
    assert.strictEqual(settings.status, 1)
    assert.match(settings.text, /^FAIL {2}Settings: .*PORT/mu)
    assert.match(settings.text, /^FAIL {2}Settings: .*LIMITS/mu)
    await using vendor = await openVendor()
    const asked = (key: string) => call(["doctor"], { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${vendor.url}/v1` })
    const right = await asked("right")
    assert.match(right.text, /^ok {4}Provider openai: 1 models in \d+ ms$/mu)
    const wrong = await asked("wrong")
    assert.strictEqual(wrong.status, 1)
    assert.match(wrong.text, /^FAIL {2}Provider openai: /mu)
    assert.notInclude(wrong.text, "Bearer")
  }, 180_000)

  it("writes the export of an owner into a file, and no half of one", async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, "ada.tar")
    const environment = { COLLOQUY_API_KEYS: "the-right-key-16=ada", PORT: "0" }
    const refused = await call(["export", file], { COLLOQUY_API_KEY: "k" })
    assert.deepStrictEqual([refused.status, refused.text.includes("--url")], [1, true])
    assert.strictEqual((await call(["export"], { COLLOQUY_API_KEY: "k" })).status, 2)
    const server = spawnServer({ COLLOQUY_DATA_DIR: "memory://", ...environment })
    try {
      const [, url = ""] = /listens on (\S+),/u.exec(await server.printed(/listens on \S+,/u)) ?? []
      const stranger = await call(["export", file, "--url", url], { COLLOQUY_API_KEY: "the-wrong-key-16" })
      assert.deepStrictEqual([stranger.status, stranger.text.includes("401")], [1, true])
      const done = await call(["export", file, "--url", url], { COLLOQUY_API_KEY: "the-right-key-16" })
      assert.strictEqual(done.status, 0, done.text)
      assert.strictEqual(done.text, `${file}: ${(await stat(file)).size} bytes\n`)
      assert.include(await readFile(file, "latin1"), "assistants.jsonl")
      const told = await call(["export", file, "--json", "--url", url], { COLLOQUY_API_KEY: "the-right-key-16" })
      assert.deepStrictEqual(JSON.parse(told.text), { file, bytes: (await stat(file)).size })
      const sent = await fetch(`${url}/threads/messages`, {
        method: "POST",
        headers: { "x-api-key": "the-right-key-16", "content-type": "application/json" },
        body: JSON.stringify({ content: "Hello there" })
      })
      const { message_id, thread_id }: { readonly message_id: string; readonly thread_id: string } = JSON.parse(
        await sent.text()
      )
      const copied = await call(["copy-test", thread_id, message_id, "--url", url], {
        COLLOQUY_API_KEY: "the-right-key-16"
      })
      assert.deepStrictEqual([copied.status, copied.text.includes("Hello there")], [0, true], copied.text)
    } finally {
      await server[Symbol.asyncDispose]()
    }
  }, 180_000)

  it("shows the studio for a server that runs elsewhere, and passes on what the page asks", async () => {
    const refused = await call(["studio", "--url", "http://127.0.0.1:9/api", "--port", "0"])
    assert.deepStrictEqual([refused.status, refused.text.includes("--url")], [1, true])
    assert.strictEqual((await call(["studio", "--port", "many"])).status, 2)
    const key = "the-right-key-16"
    await using server = spawnServer({ COLLOQUY_DATA_DIR: "memory://", COLLOQUY_API_KEYS: `${key}=ada`, PORT: "0" })
    const [, api = ""] = /listens on (\S+),/u.exec(await server.printed(/listens on \S+,/u)) ?? []
    const words = ["command/colloquy.ts", "studio", "--url", api, "--port", "0", "--json"]
    await using shown = spawnServer({ COLLOQUY_API_KEY: key }, words)
    const [line = ""] = (await shown.printed(/\}\n/u)).split("\n").filter((each) => each.startsWith("{"))
    const { url }: { readonly url: string } = JSON.parse(line)
    assert.match(url, /#key=the-right-key-16$/u)
    const page = await fetch(url)
    assert.match(await page.text(), /<title>/u)
    const ask = (headers: Readonly<Record<string, string>>) =>
      fetch(new URL("/api/threads/messages", url), {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key, ...headers },
        body: JSON.stringify({ content: "Count to 3", stream: true })
      })
    const stream = await ask({ origin: new URL(url).origin })
    assert.match(stream.headers.get("content-type") ?? "", /^text\/event-stream/u)
    assert.include(await stream.text(), "run_ended")
    assert.strictEqual((await ask({ "x-api-key": "wrong" })).status, 401)
    assert.strictEqual((await ask({ "sec-fetch-site": "cross-site" })).status, 403)
    await server[Symbol.asyncDispose]()
    assert.strictEqual((await ask({})).status, 502)
  }, 180_000)
})

describe("colloquy new", () => {
  const root = join(import.meta.dirname, "../../..")
  /** Inside of the repository, so that its packages are found without an installation. */
  const inside = async () => {
    const path = await mkdtemp(join(root, "examples/.new-"))
    return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
  }
  const node = ["--conditions=colloquy-source", "--disable-warning=ExperimentalWarning"]
  const run = promisify(execFile)

  it("refuses a folder with files, and a host that it does not know", async () => {
    await using folder = await inside()
    assert.strictEqual((await call(["new", join(folder.path, "a"), "--host", "rails"])).status, 2)
    assert.strictEqual((await call(["new"])).status, 2)
    const host = await call(["new", "express"])
    assert.deepStrictEqual([host.status, host.text.includes("colloquy new my-app --host express")], [2, true])
    assert.strictEqual((await call(["new", join(folder.path, "a")])).status, 0)
    const again = await call(["new", join(folder.path, "a")])
    assert.deepStrictEqual([again.status, again.text.includes("is not empty")], [1, true])
  }, 60_000)

  it("writes applications whose types and tests are right, for each host", async () => {
    await using folder = await inside()
    const made = ["express", "hono", "next", "plain"]
    for (const host of made) {
      const told = await call(["new", join(folder.path, host), "--host", host, "--json"])
      assert.strictEqual(told.status, 0, told.text)
      assert.include(JSON.parse(told.text), { host })
      const ended = await run(process.execPath, [...node, "--test", "assistant.test.ts"], {
        cwd: join(folder.path, host),
        env: bareEnvironment
      })
      assert.match(ended.stdout, /pass 1/u)
    }
    const compilerOptions = {
      noEmit: true,
      customConditions: ["colloquy-source"],
      allowImportingTsExtensions: true,
      rewriteRelativeImportExtensions: false,
      lib: ["es2024", "dom", "dom.iterable"],
      types: ["node", "react"],
      jsx: "react-jsx"
    }
    const config = {
      extends: join(root, "tsconfig.base.json"),
      compilerOptions,
      include: ["*/**/*.ts", "*/**/*.tsx", join(root, "packages/*/src/**/*.d.ts")]
    }
    await writeFile(join(folder.path, "tsconfig.json"), JSON.stringify(config))
    const types = await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder.path], {
      cwd: folder.path
    }).catch((error: { readonly stdout: string }) => error)
    assert.strictEqual(types.stdout, "")
  }, 240_000)

  for (const host of ["express", "hono", "plain"]) {
    it(`writes a server of ${host} that answers in a stream`, async () => {
      await using folder = await inside()
      assert.strictEqual((await call(["new", join(folder.path, "app"), "--host", host])).status, 0)
      const child = spawn(process.execPath, [...node, "server.ts"], {
        cwd: join(folder.path, "app"),
        env: { ...bareEnvironment, PORT: "0" }
      })
      const [line]: ReadonlyArray<unknown> = await once(child.stdout, "data")
      const [, url = ""] = /curl -N (\S+)/u.exec(String(line)) ?? []
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"content": "Hello", "stream": true}'
      })
      assert.include(await answer.text(), "Set OPENAI_API_KEY ")
      const ended = once(child, "exit")
      child.kill("SIGTERM")
      assert.deepStrictEqual(await ended, [0, null])
    }, 60_000)
  }
})
