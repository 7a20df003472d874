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
  readonly os?: ReadonlyArray<string>
  readonly cpu?: ReadonlyArray<string>
  readonly optional?: boolean
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

/**
 * The packages that this project installs on its own platform (Linux, x64, glibc) and those without a platform are all checked. The others
 * are optional packages of other platforms that npm has not seen yet: it takes their hash when it first installs one of them.
 */
it("every package has the hash of its content, except optional ones of other platforms", () => {
  const without = Object.entries(locked).filter(
    ([path, { integrity, link }]) => path.includes("node_modules/") && link !== true && integrity === undefined
  )
  const wrong = without.filter(([path, { cpu = [], optional, os = [] }]) => {
    const isHere = os.includes("linux") && cpu.includes("x64") && !path.endsWith("-musl")
    return optional !== true || (os.length === 0 && cpu.length === 0) || isHere
  })
  assert.deepStrictEqual(
    wrong.map(([path]) => path),
    []
  )
  assert.isAtMost(without.length, 86)
})
