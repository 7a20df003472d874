// A copy of the repository in `.vitest/`, for work that writes beside its sources: the build, the reference, applications of Next. What runs at
// the same time in the repository itself sees no file that comes and goes.
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { basename, join } from "node:path"
import { root } from "./Workspace.ts"

/** What is made, and what git keeps. */
const left = new Set([
  ".colloquy",
  ".git",
  ".next",
  ".vitest",
  "coverage",
  "dist",
  "node_modules",
  "packed",
  "screenshots"
])

const isCopied = (path: string): boolean => !left.has(basename(path))

/** Libraries are those of the repository; packages of ours are those of `home`. */
const linkModules = (home: string, to: string): void => {
  const modules = join(to, "node_modules")
  mkdirSync(join(modules, "@colloquy"), { recursive: true })
  for (const name of readdirSync(join(home, "packages"))) {
    const place = name === "colloquy" ? name : join("@colloquy", name)
    symlinkSync(join(home, "packages", name), join(modules, place), "junction")
  }
}

export interface Copy extends Disposable {
  readonly folder: string
}

/** A folder that no check reads. It is inside of the repository, so that programs in it find the packages. */
export const newFolder = (prefix: string): Copy => {
  mkdirSync(join(root, ".vitest"), { recursive: true })
  const folder = mkdtempSync(join(root, ".vitest", prefix))
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Inside of the repository, because libraries are looked for in the folders above, and Next takes files of its workspace only. */
const copyRepository = (): Copy => {
  const copy = newFolder("copy-")
  for (const name of readdirSync(root).filter(isCopied))
    cpSync(join(root, name), join(copy.folder, name), { recursive: true, filter: isCopied })
  linkModules(copy.folder, copy.folder)
  return copy
}

/** The variable with the folder of a built copy that the caller has made for several checks. */
export const builtFolder = "COLLOQUY_BUILT_COPY"

/** A copy with built packages, in which nobody changes a file of another. */
export const builtCopy = (): Copy => {
  const given = process.env[builtFolder]
  if (given !== undefined) return { folder: given, [Symbol.dispose]: () => {} }
  const copy = copyRepository()
  const { status, stderr, stdout } = spawnSync("npm", ["run", "--silent", "build"], {
    cwd: copy.folder,
    encoding: "utf8",
    shell: process.platform === "win32"
  })
  if (status === 0) return copy
  copy[Symbol.dispose]()
  throw new Error(`The packages could not be built:\n${stdout}${stderr}`)
}

/** Some of the examples beside the packages of a built copy. */
export const copyExamples = (built: Copy, parts: ReadonlyArray<string>): Copy => {
  const copy = newFolder("copy-")
  for (const part of parts)
    cpSync(join(root, "examples", part), join(copy.folder, part), { recursive: true, filter: isCopied })
  linkModules(built.folder, copy.folder)
  return copy
}
