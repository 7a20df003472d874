// Reads the packages for the scripts: their folders, their manifests, and the sub-paths that they export.
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<
    Record<
      string,
      { readonly "colloquy-source"?: string; readonly node?: string; readonly types?: string } | string | null
    >
  >
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export interface Entry {
  /** The specifier that a consumer imports: `@colloquy/testing/contracts`. */
  readonly name: string
  readonly source: string
  /** The joined file that Node.js loads; null if it loads the single files. */
  readonly node: string | null
  readonly types: string | undefined
  /** Whether the entry is the contract suites, which run only inside of vitest and are not part of an application. */
  readonly isTestKit: boolean
}

export interface Package {
  readonly folder: string
  readonly manifest: Manifest
  readonly entries: ReadonlyArray<Entry>
}

const readJson = (...path: ReadonlyArray<string>) => JSON.parse(readFileSync(join(root, ...path), "utf8"))

const read = (name: string): Package => {
  const folder = join("packages", name)
  const manifest: Manifest = readJson(folder, "package.json")
  const entries = Object.entries(manifest.exports).flatMap(([path, target]) =>
    typeof target === "object" && target?.["colloquy-source"] !== undefined
      ? [
          {
            name: manifest.name + path.slice(1),
            source: join(root, folder, target["colloquy-source"]),
            node: target.node ?? null,
            types: target.types,
            isTestKit: path === "./contracts"
          }
        ]
      : []
  )
  return { folder: join(root, folder), manifest, entries }
}

export const packages: ReadonlyArray<Package> = [
  "core",
  "adapters",
  "testing",
  "http",
  "ws",
  "studio",
  "server",
  "colloquy"
].map(read)

/** The version of a library in package-lock.json. */
export const lockedVersion = (library: string): string =>
  readJson("package-lock.json").packages[`node_modules/${library}`].version
