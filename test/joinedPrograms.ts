/**
 * The programs that integration tests start again and again as processes, joined into a few files before the first test. From single sources,
 * Node reads nine hundred files at each start, which is most of what a start costs. A joined module keeps the address of its source, so that it
 * finds the files beside it, and says of itself what it says when it is started from there.
 */
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type { Plugin } from "rolldown"

const root = join(import.meta.dirname, "..")

const folder = join(root, ".vitest/joined")

const programs = [
  "packages/server/src/main.ts",
  "packages/server/src/command/colloquy.ts",
  "packages/adapters/test/postgres/*Process.ts",
  "docs/comparison/*/colloquy.ts"
]

/** Other libraries stay what they are: some look for files beside them. */
const isJoined = (name: string): boolean =>
  /^(?:[./]|@colloquy\/|colloquy(?:\/|$)|effect(?:\/|$)|@effect\/)/u.test(name)

const keepAddresses: Plugin = {
  name: "keep-addresses",
  transform: (code, id) =>
    code.includes("import.meta.url")
      ? { code: code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href)), map: null }
      : null
}

const joinPrograms = async (): Promise<ReadonlyMap<string, string>> => {
  const sources = programs.flatMap((pattern) => globSync(pattern, { cwd: root }))
  const { rolldown } = await import("rolldown")
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(sources.map((file) => [file.replace(/\.ts$/u, ""), join(root, file)])),
    platform: "node",
    resolve: { conditionNames: ["colloquy-source", "node", "import"] },
    external: (name) => !isJoined(name),
    logLevel: "warn",
    plugins: [keepAddresses]
  })
  const { output } = await build.generate({ comments: false, chunkFileNames: "shared/[name]-[hash].js" })
  await build.close()
  return new Map(output.flatMap((each) => (each.type === "chunk" ? [[join(folder, each.fileName), each.code]] : [])))
}

const fileContent = (path: string): string | null => (existsSync(path) ? readFileSync(path, "utf8") : null)

/** Complete under another name first: a process of another run may read the file at this moment. */
const replaceFile = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  const unfinished = `${path}.${process.pid}`
  writeFileSync(unfinished, content)
  renameSync(unfinished, path)
}

/** Called by Vitest before the first integration test. The paths are the same in each run, so that Node finds again what it has compiled. */
export default async (): Promise<void> => {
  // Once for all projects of the run.
  const run = String(process.pid)
  if (process.env["COLLOQUY_JOINED_BY"] === run) return
  process.env["COLLOQUY_JOINED_BY"] = run
  const joined = await joinPrograms()
  for (const [path, content] of joined) if (fileContent(path) !== content) replaceFile(path, content)
  const old = globSync("**/*.js", { cwd: folder }).map((name) => join(folder, name))
  for (const path of old) if (!joined.has(path)) rmSync(path, { force: true })
}

/** The joined form of a program, by the path of its source. */
export const joinedProgram = (source: string): string =>
  join(folder, relative(root, resolve(source)).replace(/\.ts$/u, ".js"))
