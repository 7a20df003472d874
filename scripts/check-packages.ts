// Checks the packages as a consumer gets them: packs them, checks them with publint and arethetypeswrong, installs them in an empty folder outside
// of the workspace, type-checks them there, loads them with plain Node.js, and runs the examples of README.md. Then installs them beside another
// version of Effect. `npm run check:packages` runs it in a copy of the repository where they are built (`in-copy.ts`).
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join, posix } from "node:path"
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import { packInto } from "./Packing.ts"
import { lockedVersion, packages, root, type Package } from "./Workspace.ts"

const folder = mkdtempSync(join(realpathSync(tmpdir()), "colloquy-consumer-"))
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

const stop = (sentence: string): never => {
  throw new Error(sentence)
}

const run = (command: string, parameters: ReadonlyArray<string>, cwd: string): string => {
  const result = spawnSync(command, parameters, { cwd, encoding: "utf8", shell: process.platform === "win32" })
  if (result.status === 0) return result.stdout
  return stop(`\`${[command, ...parameters].join(" ")}\` failed:\n${result.stdout ?? ""}${result.stderr ?? ""}`)
}

const publintFaults = async ({ manifest }: Package, tarball: Uint8Array): Promise<ReadonlyArray<string>> => {
  const data = Uint8Array.from(tarball).buffer
  const { messages, pkg } = await publint({ strict: true, pack: { tarball: data } })
  return messages.map((message) => `${manifest.name}, publint: ${formatMessage(message, pkg, { color: false })}`)
}

/** Ignores problems with old modes of module resolution: the packages are ESM only and have sub-paths. */
const isPromised = (problem: { readonly kind: string; readonly resolutionKind?: string }) =>
  problem.kind !== "CJSResolvesToESM" && problem.resolutionKind !== "node10" && problem.resolutionKind !== "node16-cjs"

const typeFaults = async ({ manifest }: Package, tarball: Uint8Array): Promise<ReadonlyArray<string>> => {
  const result = await checkPackage(createPackageFromTarballData(tarball))
  if (!result.types) return [`${manifest.name}, arethetypeswrong: it has no types`]
  return result.problems
    .filter(isPromised)
    .map((problem) => `${manifest.name}, arethetypeswrong: ${JSON.stringify(problem)}`)
}

const contentFaults = ({ manifest }: Package, tarball: string): ReadonlyArray<string> => {
  const files = run("tar", ["--list", "--file", tarball], folder).split("\n")
  const guide = files.filter((file) => file.startsWith("package/guide/"))
  const stray = files.filter((file) => !guide.includes(file) && /\.tsbuildinfo$|\.test\.|\/test\//.test(file))
  const expected = ["LICENSE", "README.md", "package.json", ...(documents[manifest.name] ?? [])]
  const missing = expected.filter((file) => !files.includes(`package/${file}`))
  const pages = files.filter((file) => !guide.includes(file) && /^package\/(?:docs\/.*|[^/]*)\.(?:md|txt)$/.test(file))
  if (guide.length === 0 && pages.length < 2) missing.push("a page of the guide")
  return [
    ...stray.map((file) => `${manifest.name} must not ship ${file}`),
    ...missing.map((file) => `${manifest.name} does not ship ${file}`),
    ...pages
      .flatMap((page) => lostLinks(page, tarball, files))
      .map((link) => `${manifest.name} ships a lost link: ${link}`)
  ]
}

/** What a person or a program reads first, beside the README. */
const documents: Readonly<Record<string, ReadonlyArray<string>>> = {
  "@colloquy/server": [
    "guide/llms.txt",
    "guide/docs/README.md",
    "guide/docs/reference/index.md",
    "guide/docs/reference/options.md",
    "guide/docs/settings.md"
  ],
  colloquy: ["llms.txt", "GLOSSARY.md", "docs/README.md", "docs/without-effect.md", "docs/testing.md"],
  "@colloquy/http": ["docs/http.md", "openapi.json", "asyncapi.json"]
}

/** Links of a page to files that are not in the tarball. */
const lostLinks = (page: string, tarball: string, files: ReadonlyArray<string>): ReadonlyArray<string> => {
  const text = run("tar", ["--extract", "--to-stdout", "--file", tarball, page], folder).replaceAll(
    /^```[\s\S]*?^```/gm,
    ""
  )
  return [...text.matchAll(/\]\((?![a-z]+:|#)([^)\s#]*)/gi)]
    .map(([, link = ""]) => posix.join(posix.dirname(page), link))
    .filter((target) => !files.includes(target))
    .map((target) => `${page} to ${target}`)
}

const libraries = (): ReadonlyArray<string> => [
  ...new Set([...packages.flatMap(({ manifest }) => Object.keys(manifest.peerDependencies ?? {})), "@types/node"])
]

/** The TypeScript blocks of the README. Each one must be a complete program. */
const examples = (): ReadonlyArray<string> =>
  [...readFileSync(join(root, "README.md"), "utf8").matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code)

const consumerOptions = {
  target: "es2023",
  lib: ["es2024"],
  module: "nodenext",
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  noEmit: true
}

const install = (tarballs: ReadonlyArray<string>) => {
  const home = join(folder, "consumer")
  mkdirSync(home)
  writeFileSync(join(home, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }))
  const wanted = libraries().map((library) => `${library}@${lockedVersion(library)}`)
  run(
    "npm",
    [
      "install",
      "--prefer-offline",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
      ...tarballs,
      ...wanted
    ],
    home
  )
  return home
}

/** Declarations are read by people who have the packages only. */
const refuseCitations = (home: string) => {
  const cites = /\b(?:spec|interface)\.md\b|\bthe spec(?:ification)?\b(?! of)|\bsections? \d|§/iu
  for (const { manifest } of packages) {
    const dist = join(home, "node_modules", manifest.name, "dist")
    const declarations = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".d.ts")
    )
    const citing = declarations.filter((file) => cites.test(readFileSync(join(dist, file), "utf8")))
    if (citing.length > 0) stop(`Declarations of ${manifest.name} cite what no user has: ${citing.join(", ")}`)
  }
}

/** How many files a program may load that only imports `Colloquy`, with those of TypeScript itself and of Node, which are 180. */
const typeFilesLimit = 250

/** Programs without Effect: with Node's types as nodenext, with those of browsers for bundlers. Their libraries are checked too. */
const plainPrograms = (home: string) => {
  const plain = packages.filter(({ manifest }) => manifest.name === "colloquy").flatMap(({ entries }) => entries)
  writeFileSync(join(home, "minimal.ts"), 'import { Colloquy } from "colloquy"\nexport const open = Colloquy.open\n')
  writeFileSync(
    join(home, "plain-entries.ts"),
    plain.map(({ name }, index) => `export type * as _${index} from "${name}"\n`).join("")
  )
  const check = (files: ReadonlyArray<string>, options: object) => {
    const compilerOptions = { ...consumerOptions, skipLibCheck: false, ...options }
    writeFileSync(join(home, "tsconfig.plain.json"), JSON.stringify({ compilerOptions, files }))
    return run(process.execPath, [tsc, "-p", "tsconfig.plain.json", "--checkers", "1", "--listFiles"], home)
  }
  check(["plain-entries.ts"], {})
  check(["plain-entries.ts"], { module: "esnext", moduleResolution: "bundler", lib: ["es2024", "dom"], types: [] })
  const loaded = check(["minimal.ts"], {}).trim().split("\n").length
  console.log(`A program with \`import { Colloquy } from "colloquy"\` loads ${loaded} files of types.`)
  if (loaded > typeFilesLimit) stop(`At most ${typeFilesLimit} were expected.`)
}

/** Type-checks every sub-path, and loads all except the contract suites with plain Node.js. */
const consume = async (home: string) => {
  const entries = packages.flatMap((each) => each.entries)
  const line = (name: string, index: number) =>
    `import * as _${index} from "${name}"\nexport type T${index} = typeof _${index}\n`
  const loads = entries.filter(({ isTestKit }) => !isTestKit).map(({ name }) => `await import("${name}")\n`)
  const programs = examples().map((code, index) => ({ code, file: `example-${index + 1}.ts` }))
  writeFileSync(join(home, "types.ts"), entries.map(({ name }, index) => line(name, index)).join(""))
  writeFileSync(join(home, "read-file.ts"), readFile)
  writeFileSync(join(home, "begin-database.ts"), beginDatabase)
  writeFileSync(join(home, "plain-host.ts"), plainHost)
  writeFileSync(join(home, "plain-types.ts"), readFileSync(join(root, "scripts/consumer/plain-types.ts")))
  writeFileSync(join(home, "studio-weight.ts"), readFileSync(join(root, "scripts/consumer/studio-weight.ts")))
  writeFileSync(join(home, "load.ts"), `${loads.join("")}export {}\n`)
  for (const { code, file } of programs) writeFileSync(join(home, file), code)
  writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ compilerOptions: consumerOptions, include: ["*.ts"] }))
  run(process.execPath, [tsc, "-p", "tsconfig.json", "--checkers", "1"], home)
  refuseCitations(home)
  plainPrograms(home)
  run(process.execPath, ["load.ts"], home)
  run(process.execPath, ["read-file.ts"], home)
  run(process.execPath, ["begin-database.ts"], home)
  run(process.execPath, ["plain-host.ts"], home)
  console.log(run(process.execPath, ["studio-weight.ts"], home).trim())
  runNewApplication(home)
  await serveGuide(home)
  if (programs.length === 0) stop("README.md has no example.")
  for (const { file } of programs)
    console.log(`${file} of README.md prints:\n${run(process.execPath, [file], home).trim()}`)
}

/** What `colloquy new` of the built package writes: its test passes with the packages that are installed around it. */
const runNewApplication = (home: string) => {
  run(
    process.execPath,
    [join(home, "node_modules/@colloquy/server/dist/command/colloquy.js"), "new", "application"],
    home
  )
  run(process.execPath, ["--test", "assistant.test.ts"], join(home, "application"))
}

/** `colloquy serve` of the installed package shows the guide and the studio. */
const serveGuide = async (home: string) => {
  const command = join(home, "node_modules/@colloquy/server/dist/command/colloquy.js")
  const server = spawn(process.execPath, [command, "serve"], {
    cwd: home,
    env: { PATH: process.env["PATH"], PORT: "0", COLLOQUY_DATA_DIR: "memory://" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const ended = once(server, "close")
  try {
    let printed = ""
    server.stdout.on("data", (piece) => (printed += String(piece)))
    while (!printed.includes("Documentation: ")) {
      const more = once(server.stdout, "data").then(() => true)
      if (!(await Promise.race([more, ended.then(() => false)]))) break
    }
    const url = /listens on (http:\/\/[^/\s]+)/.exec(printed)?.[1] ?? stop(`The server did not start:\n${printed}`)
    for (const [path, words] of Object.entries(shown)) {
      const response = await fetch(url + path)
      const text = await response.text()
      if (response.status !== 200 || !text.includes(words))
        stop(`${path} of the server shows no “${words}”: ${text.slice(0, 300)}`)
    }
  } finally {
    server.kill("SIGKILL")
    await ended
  }
}

const shown: Readonly<Record<string, string>> = {
  "/": "Colloquy",
  "/docs/guide": "Choose a database",
  "/docs/guide/http": "Authentication",
  "/docs/guide/guide.css": "font",
  "/docs/guide/examples/hosted-tool/main.ts": "hosted",
  "/docs/guide/reference": 'href="./reference/core.answers"',
  "/docs/guide/reference/colloquy": 'id="tool"',
  "/docs/guide/reference/options": "DeepPartial",
  "/docs/guide?q=pgbouncer": "guide/scale",
  "/llms.txt": "docs/guide/storage.md"
}

/** Checks that the built package finds the script of the process that reads files. */
const readFile = `
import { fileTypeForExtension, TextExtractor } from "@colloquy/core/documents"
import { FileExtractor } from "@colloquy/adapters/files"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
const bytes = new TextEncoder().encode("<h1>Tea</h1><p>is a drink")
const type = fileTypeForExtension("html")
if (type === undefined) throw new Error("HTML is a type")
const read = TextExtractor.use((extractor) => extractor.extract({ type, size: bytes.length, bytes: Stream.make(bytes) }))
const [section] = await Effect.runPromise(Effect.provide(read, FileExtractor.layer()))
if (section?.text !== "Tea\\n\\nis a drink") throw new Error(JSON.stringify(section))
`

/** Checks that the built package finds the empty database of PGlite. Otherwise it would log a line and run initdb. */
const beginDatabase = `
import { Pglite } from "@colloquy/adapters/pglite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
const logged: Array<unknown> = []
const log = Layer.merge(
  Logger.layer([Logger.make(({ message }) => logged.push(message))]),
  Layer.succeed(References.MinimumLogLevel, "Debug")
)
await Effect.runPromise(Effect.scoped(Layer.build(Pglite.layerClient())).pipe(Effect.provide(log)))
if (logged.length > 0) throw new Error(JSON.stringify(logged))
`

/** Checks that Node.js loads only joined files, and no file of a wing that the host does not add. */
const plainHost = `
import { registerHooks } from "node:module"
const loaded: Array<string> = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
const entries = ["core", "core/adapters", "adapters/postgres", "adapters/in-memory", "adapters/openai", "http", "http/node"]
for (const entry of entries) await import("@colloquy/" + entry)
const ours = loaded.filter((url) => url.includes("/@colloquy/"))
const single = ours.filter((url) => !url.includes("/dist/needs-effect-4.1/"))
const wings = ours.filter((url) => /core\\/dist\\/needs-effect-4\\.1\\/[a-z-]+\\/index\\.js$/.test(url))
if (ours.length === 0 || ours.length > 60 || single.length + wings.length > 0)
  throw new Error("A plain host loads " + ours.length + " files, of which should not be: " + [...single, ...wings].join(" "))
`

/** Packages that were installed by force beside another Effect: what Node says names the one that they need. */
const refuseOtherEffect = (home: string) => {
  const effect = join(home, "node_modules/effect")
  rmSync(effect, { recursive: true })
  mkdirSync(effect)
  const exports = { ".": "./index.js", "./Effect": "./index.js", "./Layer": "./index.js" }
  writeFileSync(
    join(effect, "package.json"),
    JSON.stringify({ name: "effect", version: "3.99.0", type: "module", exports })
  )
  writeFileSync(join(effect, "index.js"), "export {}")
  for (const name of ["colloquy", "@colloquy/core", "@colloquy/http", "@colloquy/ws", "@colloquy/adapters/postgres"]) {
    const told = spawnSync(process.execPath, ["--input-type=module", "--eval", `import ${JSON.stringify(name)}`], {
      cwd: home,
      encoding: "utf8"
    })
    if (told.status === 0 || !/node_modules.effect.package\.json imported from .*needs-effect-4\.1/.test(told.stderr))
      stop(`Beside another effect, ${name} should not load and say which it needs:\n${told.stderr}`)
  }
}

const judge = async (each: Package, tarball: string) => {
  const data = new Uint8Array(readFileSync(tarball))
  return [...contentFaults(each, tarball), ...(await publintFaults(each, data)), ...(await typeFaults(each, data))]
}

const main = async () => {
  // Refuses public names without a sentence.
  run("npm", ["run", "--silent", "reference"], root)
  const tarballs = packages.map((each) => packInto(each, folder))
  const faults = (await Promise.all(packages.map((each, index) => judge(each, tarballs[index] ?? "")))).flat()
  if (faults.length > 0) stop(faults.join("\n"))
  const home = install(tarballs)
  await consume(home)
  refuseOtherEffect(home)
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
