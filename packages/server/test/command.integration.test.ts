// The command `colloquy`, as processes of their own.
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import pg from "pg"
import { scratchDatabase } from "./ScratchDatabase.ts"
import { spawnServer } from "./ServerProcess.ts"
import { builtCopy, type Copy } from "../../../scripts/Copy.ts"
import { onPostgres } from "../../../test/databases.ts"
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
    /** 24 lines of 80 characters, with a line for the prompt. */
    const fits = (text: string) => {
      const lines = text.split("\n")
      assert.isAtMost(lines.length, 24, text)
      assert.isAtMost(Math.max(...lines.map(({ length }) => length)), 80, text)
    }
    const help = await call([])
    assert.strictEqual(help.status, 0)
    fits(help.text)
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
      fits(own.text)
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

  it("says in one sentence what was wrong with its words, and ends with 2", async () => {
    const wrong: ReadonlyArray<readonly [words: ReadonlyArray<string>, sentence: string]> = [
      [["doctor", "--loud"], "There is no option --loud."],
      [["doctor", "now"], '"now" is one word too many.'],
      [["migrate", "--json=yes"], "--json takes no value."],
      [["new", "a", "--host"], "--host needs a value."],
      [["key", "frob"], 'Say make, list or revoke, and not "frob".'],
      [["key", "make"], "Name the user"],
      [["key", "make", "ada", "--scope", "all"], '--scope is read, write or admin, and not "all".'],
      [["key", "make", "ada", "--days", "x"], "--days is a number from 1 to 36500"],
      [["key", "revoke", "ada"], "Name the id of the key."],
      [["eval"], "Name one file of cases."],
      [["export"], "Name one file."],
      [["export", "a.tar", "--url", "nonsense"], "--url is an address such as"],
      [["copy-test", "t"], "Name the thread and the message."],
      [["studio", "--port", "70000"], "--port is a number from 0 to 65535."],
      [["serve", "a", "b"], "Name one folder, or none."]
    ]
    for (const [words, sentence] of wrong) {
      const { status, text } = await call(words)
      assert.strictEqual(status, 2, words.join(" "))
      assert.isTrue(text.startsWith(sentence), `${words.join(" ")}: ${text}`)
      assert.match(text, /\nUsage: colloquy /u)
    }
  }, 180_000)

  it("says what to do where it fails, without a place in the code, and as JSON to a program", async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, "file")
    await writeFile(file, "")
    const nowhere = { DATABASE_URL: "postgres://user@127.0.0.1:1/none" }
    const wrong: ReadonlyArray<
      readonly [words: ReadonlyArray<string>, environment: Readonly<Record<string, string>>, sentence: RegExp]
    > = [
      [["migrate"], nowhere, /nothing listens at its address \(ECONNREFUSED\)\. Start PostgreSQL/u],
      [["serve"], { COLLOQUY_DATA_DIR: file }, /cannot be used \(EEXIST\)\. Set COLLOQUY_DATA_DIR/u],
      [["serve"], { COLLOQUY_API_KEYS: "short=ada" }, /COLLOQUY_API_KEYS must be pairs key=user/u],
      [["key", "revoke", "ada", "none"], { COLLOQUY_DATA_DIR: folder.path }, /^There is no API key none\.$/mu],
      [["export", "a.tar"], { COLLOQUY_API_KEY: "a key" }, /COLLOQUY_API_KEY is no key/u],
      [["new", file], {}, /is not an empty folder/u],
      [["new", join(file, "below")], {}, /cannot be written \(ENOTDIR\)/u]
    ]
    for (const [words, environment, sentence] of wrong) {
      const { status, text } = await call([...words, "--json"], environment)
      assert.strictEqual(status, 1, words.join(" "))
      assert.match(text, sentence)
      assert.notMatch(text, /^\s+at /mu)
      const line = text.split("\n").find((each) => each.startsWith("{")) ?? ""
      assert.include(JSON.parse(line), { ok: false })
    }
  }, 180_000)

  it("diagnoses without a change: no folder, no database, no step of the schema", async () => {
    await using folder = await makeFolder()
    const data = join(folder.path, "data")
    const looked = await call(["doctor"], { COLLOQUY_DATA_DIR: data })
    assert.deepStrictEqual([looked.status, existsSync(data)], [0, false])
    assert.include(looked.text, "has no database yet")
    await writeFile(join(folder.path, "file"), "")
    const closed = await call(["doctor"], { COLLOQUY_DATA_DIR: join(folder.path, "file") })
    assert.deepStrictEqual([closed.status, closed.text.includes("FAIL  Database")], [1, true])
  }, 60_000)

  it("takes its folder when it serves, tells a program its address and key, and ends on Ctrl C", async () => {
    await using server = spawnServer({ COLLOQUY_DATA_DIR: "memory://", PORT: "0" }, [
      "command/colloquy.ts",
      "serve",
      "--json"
    ])
    const text = await server.printed(/"api":.*\n/u)
    const { api, key }: { readonly api: string; readonly key: string } = JSON.parse(
      text.split("\n").find((line) => line.startsWith("{")) ?? ""
    )
    const listed = await fetch(`${api}/runs`, { headers: { "x-api-key": key } })
    assert.strictEqual(listed.status, 200)
    const doctor = await call(["serve"], { PORT: new URL(api).port })
    assert.deepStrictEqual([doctor.status, doctor.text.includes("Set HOST or PORT to a free address.")], [1, true])
    server.child.kill("SIGINT")
    assert.strictEqual(await server.ended, 0)
  }, 60_000)

  it("removes what it has exported when Ctrl C stops it", async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, "ada.tar")
    const endless = createServer((_request, response) => void response.writeHead(200).write("the beginning"))
    endless.listen(0, "127.0.0.1")
    await once(endless, "listening")
    const address = endless.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const asked = once(endless, "request")
    const words = ["command/colloquy.ts", "export", file, "--url", `http://127.0.0.1:${port}`]
    await using exporting = spawnServer({ COLLOQUY_API_KEY: "k" }, words)
    await asked
    while (!existsSync(`${file}.part`)) await new Promise((resolve) => setImmediate(resolve))
    exporting.child.kill("SIGINT")
    assert.strictEqual(await exporting.ended, 130)
    assert.include(exporting.output(), "The export was stopped.")
    assert.deepStrictEqual([existsSync(file), existsSync(`${file}.part`)], [false, false])
    endless.closeAllConnections()
    endless.close()
  }, 60_000)

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
    const key: unknown = JSON.parse((await call(["key", "make", "ada", "--json"], environment)).text)
    assert.include(key, { scope: "admin" })
    const nobody = await call(["key", "list", "grace"], environment)
    assert.include(nobody.text, "grace has no keys.")
    assert.strictEqual((await call(["migrate"])).status, 1)
  }, 180_000)

  it("names every setting that is wrong, and each provider that does not answer", async () => {
    const settings = await call(["doctor"], { PORT: "many", LIMITS: "few" })
    assert.strictEqual(settings.status, 1)
    assert.match(settings.text, /^FAIL {2}Settings: .*PORT/mu)
    assert.match(settings.text, /^FAIL {2}Settings: .*LIMITS/mu)
    const noEmbedding = await call(["doctor"], { DEFAULT_EMBEDDING_PROVIDER: "nobody" })
    assert.strictEqual(noEmbedding.status, 1)
    assert.match(noEmbedding.text, /^FAIL {2}Settings: DEFAULT_EMBEDDING_PROVIDER must be/mu)
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

onPostgres((url) => {
  describe("colloquy doctor on PostgreSQL", () => {
    it("says that the schema is not there, and makes none", async () => {
      await using database = await scratchDatabase(url)
      const environment = { DATABASE_URL: database.url }
      const schemas = async () => {
        const client = new pg.Client({ connectionString: database.url })
        await client.connect()
        const { rows } = await client.query("select 1 from pg_namespace where nspname = 'colloquy'")
        await client.end()
        return rows.length
      }
      const looked = await call(["doctor"], environment)
      assert.deepStrictEqual([looked.status, await schemas()], [0, 0], looked.text)
      assert.match(looked.text, /^note {2}Database: .* steps of the schema are missing/mu)
      assert.strictEqual((await call(["migrate"], environment)).status, 0)
      const again = await call(["doctor"], environment)
      assert.match(again.text, /^ok {4}Database: .*with the schema of this version$/mu)
      const other = await call(["doctor"], { DATABASE_URL: database.url.replace("/server_", "/no_such_") })
      assert.strictEqual(other.status, 1)
      assert.match(other.text, /^FAIL {2}Database: .*there is no such database \(3D000\)\. Create it/mu)
    }, 60_000)
  })
})

describe("colloquy new", () => {
  const root = join(import.meta.dirname, "../../..")
  let built: Copy
  beforeAll(() => {
    built = builtCopy()
  }, 240_000)
  afterAll(() => built[Symbol.dispose]())

  /** Inside of a built copy, so that the packages are found without an installation, as they are published. */
  const inside = async () => {
    const path = await mkdtemp(join(built.folder, "examples/.new-"))
    return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
  }
  const run = promisify(execFile)

  it("refuses a folder with files, and a host that it does not know", async () => {
    await using folder = await inside()
    assert.strictEqual((await call(["new", join(folder.path, "a"), "--host", "rails"])).status, 2)
    assert.strictEqual((await call(["new"])).status, 2)
    const host = await call(["new", "express"])
    assert.deepStrictEqual([host.status, host.text.includes("colloquy new my-app --host express")], [2, true])
    assert.strictEqual((await call(["new", join(folder.path, "a")])).status, 0)
    const again = await call(["new", join(folder.path, "a")])
    assert.deepStrictEqual([again.status, again.text.includes("is not an empty folder")], [1, true])
  }, 60_000)

  it("writes applications whose types and tests are right, for each host", async () => {
    await using folder = await inside()
    const made = ["express", "hono", "next", "plain"]
    for (const host of made) {
      const told = await call(["new", join(folder.path, host), "--host", host, "--json"])
      assert.strictEqual(told.status, 0, told.text)
      assert.include(JSON.parse(told.text), { host })
      const ended = await run(process.execPath, ["--test", "assistant.test.ts"], {
        cwd: join(folder.path, host),
        env: bareEnvironment
      })
      assert.match(ended.stdout, /pass 1/u)
    }
    const compilerOptions = {
      noEmit: true,
      allowImportingTsExtensions: true,
      rewriteRelativeImportExtensions: false,
      lib: ["es2024", "dom", "dom.iterable"],
      types: ["node", "react"],
      jsx: "react-jsx"
    }
    const config = {
      extends: join(root, "tsconfig.base.json"),
      compilerOptions,
      include: ["*/**/*.ts", "*/**/*.tsx"]
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
      const child = spawn(process.execPath, ["server.ts"], {
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
