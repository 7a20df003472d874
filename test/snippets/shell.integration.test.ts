/**
 * The commands that the guide, the README and the packages' READMEs show: those for a running server are run against the standalone server,
 * those of npm name scripts and packages that there are.
 */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { RunningServer } from "../../packages/server/src/Server.ts"
import { callApi, serverKey, startDemo } from "../../packages/server/test/TestServer.ts"
import { pdf } from "../../packages/adapters/test/files/MadeFiles.ts"
import { root, type Snippet, snippets } from "./Pages.ts"
import { listen, type Served, speechVendor } from "./Stage.ts"

const blocks = snippets.filter(({ language }) => language === "sh")

/** What only runs on a machine of its own, and the test that runs it there. */
const runBy: ReadonlyArray<readonly [has: string, test: string]> = [
  // There is no Docker here: the test does the steps of the Dockerfile in a folder.
  ["docker compose up", "test/docker.integration.test.ts"],
  // These need a database to lose.
  ["pg_dump ", "packages/server/test/backup.integration.test.ts"],
  ["pg_restore ", "packages/server/test/backup.integration.test.ts"],
  ["$RESTORED_DATA_DIR", "packages/server/test/backup.integration.test.ts"],
  // This one needs an owner to lose.
  ["$ERASURE", "packages/http/test/ErasedOwner.ts"],
  // The server is a program of the reader.
  ["localhost:3000/ai", "examples/cookbook/cookbook.integration.test.ts"]
]

const isForServer = ({ code }: Snippet) => code.includes("curl ")
const isRunElsewhere = ({ code }: Snippet) => runBy.some(([has]) => code.includes(has))

/** Commands without their comments. */
const lines = ({ code }: Snippet) =>
  code
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/u, "").trim())
    .filter((line) => line !== "")

describe("commands of npm", () => {
  const commands = blocks.filter((block) => !isForServer(block) && !isRunElsewhere(block)).flatMap(lines)

  it("are all that is left of the commands", () => {
    assert.deepStrictEqual(
      commands.filter((line) => !line.startsWith("npm ")),
      []
    )
    assert.isAbove(commands.length, 8)
  })

  it("name scripts that there are", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    for (const line of commands.filter((each) => !each.startsWith("npm install"))) {
      const [, word = "", name = ""] = line.split(" ").filter((each) => !each.startsWith("--"))
      assert.property(scripts, word === "run" ? name : word, line)
    }
  })

  it("install packages of ours, and what these ask for", () => {
    // The packed packages, as the README says; `scripts/check-packages.ts` installs them.
    const known = new Set(["/path/to/packed/*.tgz"])
    for (const folder of readdirSync(join(root, "packages"))) {
      const manifest = JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8"))
      for (const name of [manifest.name, ...Object.keys(manifest.peerDependencies ?? {})]) known.add(name)
    }
    const wanted = commands.filter((line) => line.startsWith("npm install")).flatMap((line) => line.split(" ").slice(2))
    assert.isAbove(wanted.length, 8)
    assert.deepStrictEqual(
      wanted.filter((name) => name !== "--save-dev" && !known.has(name)),
      []
    )
  })
})

describe("commands for a server", () => {
  let vendor: Served
  let server: RunningServer
  let thread = ""
  const folder = mkdtempSync(join(tmpdir(), "colloquy-shell-"))
  beforeAll(async () => {
    vendor = await listen(speechVendor)
    server = await startDemo({
      OPENAI_API_KEY: "sk-of-the-test",
      OPENAI_BASE_URL: vendor.url,
      DEFAULT_LLM_PROVIDER: "demo",
      DEFAULT_MODEL_NAME: "demo-1"
    })
    const service = { api: `${server.url}/api`, key: serverKey(server) }
    const { body } = await callApi(service, "POST", "/assistants", { name: "A" })
    const made = await callApi(service, "POST", `/assistants/${body.assistant_id}/threads`)
    thread = made.body.thread_id
    writeFileSync(join(folder, "report.pdf"), pdf([[{ text: "Tea is a drink.", x: 72, y: 720 }]]))
    writeFileSync(
      join(folder, "question.webm"),
      Buffer.concat([Buffer.from("1a45dfa3", "hex"), Buffer.from("webm sound")])
    )
  })
  afterAll(async () => {
    await server.stop()
    await vendor.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const run = ({ code }: Snippet) =>
    new Promise<string>((resolve, reject) => {
      const env = { PATH: process.env["PATH"], API: `${server.url}/api`, KEY: serverKey(server), THREAD: thread }
      const script = `set -eu\n${code.replaceAll("http://127.0.0.1:8787", server.url)}`
      execFile("bash", ["-c", script], { cwd: folder, env }, (error, said, problems) =>
        error === null ? resolve(said) : reject(new Error(`${error.message}\n${said}\n${problems}`))
      )
    })

  /** What comes back, by a text of the command. */
  const expected: ReadonlyArray<readonly [has: string, answer: RegExp]> = [
    [
      "system_one",
      /"system_one":\{.*"method":"native".*"status":"COMPLETED"|"status":"COMPLETED".*"system_one":\{.*"answers"/u
    ],
    ["output_schema", /"output":\{"item":"Two teas, please\.","count":1\}/u],
    [
      "$EXPERIMENT",
      /"comment":"It did not tell the hours\.".*"words":"\\"new\\" and \\"now\\" pass the same of 1 cases\."/su
    ],
    ["report.pdf", /"filename":"report\.pdf".*"status":"COMPLETED"/su],
    ["I live in Oslo", /"memory_operation_id":"[^"]+"/u],
    ["question.webm", /stt_stream_end.*What is the time.*tts_audio_chunk.*tts_stream_end.*run_ended/su]
  ]

  for (const block of blocks.filter((each) => isForServer(each) && !isRunElsewhere(each))) {
    it(`${block.name} is answered`, async () => {
      const [, answer] = expected.find(([has]) => block.code.includes(has)) ?? assert.fail("Say what comes back")
      assert.match(await run(block), answer)
    })
  }
})

it("commands that run elsewhere have a test there", () => {
  for (const [has, test] of runBy) {
    assert.lengthOf(
      blocks.filter(({ code }) => code.includes(has)),
      1,
      has
    )
    assert.isTrue(existsSync(join(root, test)), test)
  }
})
