/** Run (d): what is installed for a server on Postgres, and what a bundle of each entry weighs (`scripts/size.ts`). */
import { fork } from "node:child_process"
import { existsSync, readFileSync, statSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import type { Row } from "../Report.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

interface Manifest {
  readonly files?: ReadonlyArray<string>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

const manifestOf = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest

/** Where Node would find a package, seen from a folder. */
const find = (name: string, from: string): string | undefined => {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, "node_modules", name)
    if (existsSync(join(path, "package.json"))) return path
  }
  return undefined
}

/** Packages that come with these: dependencies, and the peers that are not optional. */
const installed = (names: ReadonlyArray<string>, from: string, found = new Set<string>()): ReadonlySet<string> => {
  for (const name of names) {
    const folder = find(name, from)
    if (folder === undefined || found.has(folder)) continue
    found.add(folder)
    const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifestOf(folder)
    const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true)
    installed([...Object.keys(dependencies), ...peers], folder, found)
  }
  return found
}

const bytesOf = async (path: string): Promise<number> => {
  if (!existsSync(path)) return 0
  if (statSync(path).isFile()) return statSync(path).size
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && !entry.parentPath.slice(path.length).includes("node_modules"))
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

const publishedBytes = async (folder: string): Promise<number> => {
  const files = folder.includes("@colloquy") ? (manifestOf(folder).files ?? []) : ["."]
  const sizes = await Promise.all(
    files.filter((file) => !file.startsWith("!")).map((file) => bytesOf(join(folder, file)))
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

const megabytes = async (folders: Iterable<string>): Promise<number> => {
  let bytes = 0
  for (const folder of folders) bytes += await publishedBytes(folder)
  return bytes / 1e6
}

const row = { store: "", baseline: null, target: null }

export const sizes = async (): Promise<ReadonlyArray<Row>> => {
  const all = installed(["@colloquy/core", "@colloquy/adapters", "@colloquy/http", "@effect/sql-pg"], root)
  const ours = [...all].filter((folder) => folder.includes("@colloquy"))
  return [
    { ...row, what: "installed, the packages alone", unit: "MB", kernel: await megabytes(ours) },
    { ...row, what: "installed, for a server on Postgres", unit: "MB", kernel: await megabytes(all) },
    ...(await bundles())
  ]
}

/** The gate of `scripts/size.ts` is none of this run's business: its exit code is not looked at. */
const bundles = async (): Promise<ReadonlyArray<Row>> => {
  const script = fork("scripts/size.ts", {
    cwd: root,
    execArgv: ["--conditions=colloquy-source"],
    stdio: ["ignore", "pipe", "inherit", "ipc"]
  })
  const printed = script.stdout === null ? "" : await text(script.stdout)
  const wanted = ["@colloquy/core", "@colloquy/http", "@colloquy/adapters/postgres"]
  return wanted.map((name) => {
    const line = printed.split("\n").find((each) => each.startsWith(`${name} `)) ?? ""
    const kernel = Number(/([\d.]+) kB$/u.exec(line)?.[1])
    return { ...row, what: `bundle of ${name} with effect`, unit: "kB gzip", kernel }
  })
}
