/**
 * The code that the guide, the README and the packages' READMEs show: every block is type-checked against the packages and run as
 * `Frames.ts` says.
 */
import { Postgres } from "@colloquy/adapters/postgres"
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import pg from "pg"
import { type RunningServer } from "../../packages/server/src/Server.ts"
import { serverKey, startDemo } from "../../packages/server/test/TestServer.ts"
import { builtCopy, newFolder } from "../../scripts/Copy.ts"
import { onPostgres } from "../databases.ts"
import { type Frame, frames } from "./Frames.ts"
import { root, type Snippet, snippets } from "./Pages.ts"
import { bareEnvironment } from "../environment.ts"

/** One in JavaScript must be a file of the repository. */
const programs = snippets.filter(({ language }) => ["ts", "tsx", "js"].includes(language))

/** Citus is no package of Debian, so what is said to it cannot be run here. */
const isForCitus = ({ code }: Snippet) => /create_distributed_table|pg_dist_/u.test(code)

const snippetFrame = (snippet: Snippet): Frame | undefined =>
  frames.find(({ has, page }) => page === snippet.page && snippet.code.includes(has))

const programFolder = newFolder("snippets-")
const { folder } = programFolder
const work = join(folder, "work")

let server: RunningServer
beforeAll(async () => {
  mkdirSync(work)
  server = await startDemo({}, true)
})
afterAll(async () => {
  await server.stop()
  programFolder[Symbol.dispose]()
})

const snippetFileName = ({ language, name }: Snippet, frame: Frame | undefined): string =>
  `${name.replaceAll(/\W+/gu, "-")}${frame?.isTest === true ? ".test" : ""}.${language}`

/** The snippet in its frame, with what the test has for the names that mean other machines. */
const framedProgram = (snippet: Snippet, frame: Frame | undefined): string => {
  const named = (frame?.instead ?? []).reduce((code, [from, to]) => {
    assert.include(code, from, `${snippet.name} names what its frame replaces`)
    return code.replaceAll(from, to)
  }, snippet.code)
  return [frame?.before ?? "", named, frame?.after ?? "", "export {}\n"]
    .join("\n")
    .replaceAll("{API}", `${server.url}/api`)
    .replaceAll("{ROOT}", root)
}

const write = (snippet: Snippet, to = folder): string => {
  const frame = snippetFrame(snippet)
  const file = join(to, snippetFileName(snippet, frame))
  writeFileSync(file, framedProgram(snippet, frame))
  return file
}

interface Ended {
  readonly ok: boolean
  readonly output: string
}

const run = (command: ReadonlyArray<string>, cwd: string, environment: Readonly<Record<string, string>> = {}) =>
  new Promise<Ended>((resolve) => {
    const [program = "", ...parameters] = command
    const env = { ...bareEnvironment, HOME: work, ...environment }
    execFile(program, parameters, { cwd, env, maxBuffer: 2 ** 24 }, (error, said, problems) =>
      resolve({ ok: error === null, output: `${error?.message ?? ""}\n${said}\n${problems}` })
    )
  })

const node = [process.execPath, "--conditions=colloquy-source", "--disable-warning=ExperimentalWarning"]

interface Result {
  readonly file: string
  readonly said: string
  readonly problem: string | null
}

/** All of them in one process beside this one, when the first is asked for. */
const runner = (kind: string, wanted: ReadonlyArray<Snippet>, environment: Readonly<Record<string, string>> = {}) => {
  let running: Promise<{ readonly results: ReadonlyArray<Result>; readonly output: string }> | undefined
  const runAll = async () => {
    const report = join(work, `${kind}.json`)
    const command = [
      ...node,
      join(import.meta.dirname, "Runner.ts"),
      report,
      ...wanted.map((snippet) => write(snippet))
    ]
    const { output } = await run(command, work, { KEY: serverKey(server), ...environment })
    const results: ReadonlyArray<Result> = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : []
    return { results, output }
  }
  return async (snippet: Snippet) => {
    const { output, results } = await (running ??= runAll())
    const frame = snippetFrame(snippet)
    const result = results.find(({ file }) => file === join(folder, snippetFileName(snippet, frame)))
    if (result === undefined) return assert.fail(`It was not run:\n${output}`)
    assert.isNull(result.problem, result.problem ?? "")
    const prints = frame?.prints
    if (prints instanceof RegExp) assert.match(result.said, prints)
    else if (prints !== undefined) assert.strictEqual(result.said, prints)
  }
}

const vitestConfig = `export default {
  resolve: { conditions: ["colloquy-source"] },
  ssr: { resolve: { conditions: ["colloquy-source"] } },
  test: { include: ["*.test.ts", "*.test.tsx"], testTimeout: 60_000 }
}`

const isRunElsewhere = (snippet: Snippet) => snippetFrame(snippet)?.runBy !== undefined
const needsPostgres = (snippet: Snippet) => snippetFrame(snippet)?.needsPostgres === true
const isTest = (snippet: Snippet) => snippetFrame(snippet)?.isTest === true

describe("the snippets of the guide", () => {
  it("have frames that fit: each frame one snippet, each snippet one frame at most", () => {
    for (const { has, page } of frames) {
      const found = programs.filter((snippet) => snippet.page === page && snippet.code.includes(has))
      assert.lengthOf(found, 1, `${page}: ${has}`)
    }
    for (const snippet of programs) {
      const fit = frames.filter(({ has, page }) => page === snippet.page && snippet.code.includes(has))
      assert.isAtMost(fit.length, 1, snippet.name)
    }
    assert.isAbove(programs.length, 30)
  })

  it("are in languages that this test knows", () => {
    const known = new Set(["ts", "tsx", "js", "sh", "json", "sql", "ini"])
    assert.deepStrictEqual(
      snippets.filter(({ language }) => !known.has(language)).map(({ language, name }) => `${name}: ${language}`),
      []
    )
  })

  it("are JSON where they say so", () => {
    for (const { code, language } of snippets) if (language === "json") JSON.parse(code)
  })

  it("are settings that a test uses, where they are settings", () => {
    const used = ["Bouncer.ts", "Citus.integration.test.ts"]
      .map((file) => readFileSync(join(root, "packages/adapters/test/postgres", file), "utf8"))
      .join("\n")
    for (const { code, language } of snippets) {
      if (language === "ini") for (const line of code.trim().split("\n")) assert.include(used, line)
    }
  })

  it("have the types that they need, as the packages are published", { timeout: 300_000 }, async () => {
    using built = builtCopy()
    const place = mkdtempSync(join(built.folder, "examples/.snippets-"))
    try {
      for (const snippet of programs.filter((each) => !isRunElsewhere(each))) write(snippet, place)
      const options = {
        extends: join(root, "tsconfig.base.json"),
        compilerOptions: {
          noEmit: true,
          allowImportingTsExtensions: true,
          rewriteRelativeImportExtensions: false,
          jsx: "react-jsx"
        },
        include: ["*.ts", "*.tsx"]
      }
      writeFileSync(join(place, "tsconfig.json"), JSON.stringify(options))
      const ended = await run([process.execPath, join(root, "node_modules/typescript/bin/tsc"), "-p", place], place)
      assert.isTrue(ended.ok, ended.output)
    } finally {
      rmSync(place, { recursive: true, force: true })
    }
  })

  describe("run", () => {
    const plain = programs.filter((each) => !isRunElsewhere(each) && !needsPostgres(each) && !isTest(each))
    const succeeds = runner("plain", plain)
    for (const snippet of plain) it(`${snippet.name} succeeds`, () => succeeds(snippet), 300_000)
  })

  it("run as tests, where they are tests", async () => {
    const tests = programs.filter(isTest)
    for (const snippet of tests) write(snippet)
    writeFileSync(join(folder, "vitest.config.js"), vitestConfig)
    const report = join(work, "vitest.json")
    const vitest = [process.execPath, join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", folder]
    const ended = await run([...vitest, "--reporter=json", `--outputFile=${report}`], folder)
    assert.isTrue(ended.ok, ended.output)
    assert.strictEqual(JSON.parse(readFileSync(report, "utf8")).numPassedTests, tests.length)
  }, 300_000)

  describe("run as files of examples", () => {
    for (const snippet of programs.filter(isRunElsewhere)) {
      it(`${snippet.name} is that file`, () => {
        const { file, test } = snippetFrame(snippet)?.runBy ?? assert.fail("no file")
        assert.include(readFileSync(join(root, file), "utf8"), snippet.code.trim())
        assert.isTrue(existsSync(join(root, test)))
      })
    }
  })

  onPostgres((url) => {
    const database = `snippets_${process.pid}`
    const of = new URL(url)
    of.pathname = `/${database}`
    const ask = async (statement: string) => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(statement)
      await client.end()
    }
    beforeAll(() => ask(`create database ${database}`))
    afterAll(() => ask(`drop database ${database} with (force)`))

    it("are statements that a migrated database takes, where they are statements", async () => {
      const own = new URL(url)
      own.pathname = `/${database}_sql`
      await ask(`create database ${database}_sql`)
      try {
        await Effect.runPromise(Postgres.migrate({ url: Redacted.make(own.href) }))
        const client = new pg.Client({ connectionString: own.href })
        await client.connect()
        for (const snippet of snippets) {
          if (snippet.language === "sql" && !isForCitus(snippet)) await client.query(snippet.code)
        }
        await client.end()
      } finally {
        await ask(`drop database ${database}_sql with (force)`)
      }
    })

    const wanted = programs.filter(needsPostgres)
    const succeeds = runner("postgres", wanted, { DATABASE_URL: of.href })
    for (const snippet of wanted) it(`${snippet.name} succeeds`, () => succeeds(snippet), 300_000)
  })
})
