/**
 * `npm run compare`: installs each library of docs/comparison/libraries.json in a folder of its own, checks the types of its programs, runs them
 * against a model server on this machine, and writes docs/comparison/results.json and the tables of docs/comparison.md. It needs `packed/`
 * (`npm run pack:all`) and a connection to npm. `-- FOLDER` keeps the installed libraries there and uses those that are there.
 */
import { execFileSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { applicationFindings, applications, cpuOfAnAnswer, measureUsage } from "./compare/Findings.ts"
import type { Library } from "./compare/Program.ts"
import {
  folder as programs,
  programLines,
  type Results,
  resultTables,
  totalsSentence,
  withTables
} from "./compare/Results.ts"
import { root } from "./Workspace.ts"

const work = process.argv[2] ?? mkdtempSync(join(tmpdir(), "colloquy-compare-"))
const listed: Readonly<Record<string, { readonly title: string; readonly packages: ReadonlyArray<string> }>> =
  JSON.parse(readFileSync(join(programs, "libraries.json"), "utf8"))

const options = {
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  module: "nodenext",
  target: "es2024",
  lib: ["es2024", "dom", "dom.iterable", "dom.asynciterable"],
  types: ["node"],
  typeRoots: [join(root, "node_modules/@types")]
}

/** What the Express applications need, in the folder above those of the libraries, so that it is no package of any of them. */
const installExpress = () => {
  if (existsSync(join(work, "node_modules"))) return
  writeFileSync(join(work, "package.json"), JSON.stringify({ private: true, type: "module" }))
  const packages = ["express@5.3.0", "express-session@1.19.0", "@types/express@5.0.6", "@types/express-session@1.19.0"]
  execFileSync("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: work, stdio: "inherit" })
}

const install = (name: string, packages: ReadonlyArray<string>): Library => {
  const folder = join(work, name)
  if (!existsSync(join(folder, "node_modules"))) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
    const own = name === "colloquy" ? globSync(join(root, "packed/*.tgz")) : []
    execFileSync("npm", ["install", "--no-audit", "--no-fund", ...packages, ...own], { cwd: folder, stdio: "inherit" })
  }
  for (const application of Object.keys(applications))
    cpSync(join(programs, application, `${name}.ts`), join(folder, `${application}.ts`))
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts"] }))
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", "."], { cwd: folder, stdio: "inherit" })
  return {
    name,
    folder,
    nodeOptions: ["--disable-warning=ExperimentalWarning"],
    programFile: (application) => `${application}.ts`,
    patience: 15_000
  }
}

const versionsIn = (folder: string, packages: ReadonlyArray<string>) =>
  Object.fromEntries(
    packages
      .map((each) => each.replace(/(?<=.)@[^/]*$/u, ""))
      .map((name) => [
        name,
        JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).version
      ])
  )

/** All packages under `node_modules`, those inside of others too. */
const packagesIn = (folder: string) =>
  globSync("node_modules/**/package.json", { cwd: folder }).filter((path) =>
    /node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/u.test(path)
  ).length

const megabytesIn = (folder: string) =>
  Math.round(
    readdirSync(join(folder, "node_modules"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { name, parentPath }) => sum + statSync(join(parentPath, name)).size, 0) / 1e6
  )

const middle = (values: ReadonlyArray<number>) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

const median = (values: ReadonlyArray<number>) => Math.round(middle(values))

mkdirSync(work, { recursive: true })
installExpress()
const libraries: Record<string, Results["libraries"][string]> = {}
const found: Record<string, Record<string, Results["applications"][string][string]>> = {}
for (const [name, { packages, title }] of Object.entries(listed)) {
  const library = install(name, packages)
  for (const application of Object.keys(applications)) {
    const findings = await applicationFindings(library, application)
    console.log(name, application, JSON.stringify(findings))
    found[application] = { ...found[application], [name]: { lines: programLines(application, name), findings } }
  }
  const usages = []
  for (let run = 0; run < 5; run++) usages.push(await measureUsage(library))
  const cpuOfAnswer: Array<number> = []
  for (let run = 0; run < 3; run++) cpuOfAnswer.push(await cpuOfAnAnswer(library))
  console.log(name, "CPU of an answer", cpuOfAnswer)
  libraries[name] = {
    title,
    versions: versionsIn(library.folder, name === "colloquy" ? ["colloquy", ...packages] : packages),
    packages: packagesIn(library.folder),
    megabytes: megabytesIn(library.folder),
    cpuMilliseconds: median(usages.map(({ milliseconds }) => milliseconds)),
    cpuOfAnAnswer: Math.round(middle(cpuOfAnswer) * 10) / 10,
    memoryMegabytes: median(usages.map(({ megabytes }) => megabytes))
  }
}

const results: Results = {
  date: new Date().toISOString().slice(0, 10),
  node: process.version,
  libraries,
  applications: found
}
writeFileSync(join(programs, "results.json"), `${JSON.stringify(results, null, 2)}\n`)
const page = join(root, "docs/comparison.md")
writeFileSync(page, withTables(readFileSync(page, "utf8"), resultTables(results)))
console.log(totalsSentence(results))
