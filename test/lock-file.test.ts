/**
 * `npm ci` of a current npm refuses a lock file in which optional packages of other platforms are missing, and npm leaves them out when it
 * cannot load them. So each optional dependency stands in package-lock.json, in the version that is asked for and with its platform.
 */
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"

interface Entry {
  readonly integrity?: string
  readonly link?: boolean
  readonly version?: string
  readonly resolved?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const file = JSON.parse(readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8"))
const locked: Readonly<Record<string, Entry>> = file.packages

const folders = "/node_modules/"

/** Where a package finds another one: beside itself, then further out. */
const found = (from: string, name: string): Entry | undefined => {
  for (let at = from; ; at = at.includes(folders) ? at.slice(0, at.lastIndexOf(folders)) : "") {
    const entry = locked[`${at === "" ? "" : `${at}/`}node_modules/${name}`]
    if (entry !== undefined || at === "") return entry
  }
}

it("the lock file has the optional packages of every platform", () => {
  const wrong = Object.entries(locked).flatMap(([from, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies).flatMap(([name, wanted]) => {
      const entry = found(from, name)
      if (entry === undefined) return [`${name} ${wanted} is missing, for ${from}`]
      return /^\d/.test(wanted) && entry.version !== wanted ? [`${name} is ${entry.version}, not ${wanted}`] : []
    })
  )
  assert.deepStrictEqual(wrong, [])
})

/** `@effect/tsgo` names packages for six other platforms that the registry does not have; npm cannot install them anywhere. */
it("every package has the hash of its content, except those that the registry does not have", () => {
  const without = Object.entries(locked).filter(
    ([path, { integrity, link }]) => path.includes("node_modules/") && link !== true && integrity === undefined
  )
  assert.deepStrictEqual(
    without.map(([path]) => path.replace("node_modules/@effect/tsgo-", "")),
    ["darwin-arm64", "darwin-x64", "linux-arm", "linux-arm64", "win32-arm64", "win32-x64"]
  )
})

it("no package names the host of a registry", () => {
  assert.deepStrictEqual(
    Object.entries(locked).flatMap(([path, { resolved = "" }]) => (/^https?:/.test(resolved) ? [path] : [])),
    []
  )
})
