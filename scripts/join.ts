// Joins the files of each package into a few, in addition to those that `tsc` has built. The start of a process is faster with few files, because
// most of its time is spent for each file and each import. Node.js loads the joined files (the condition `node` of `exports`); bundlers load the
// single files, of which they leave out unused ones.
import { rmSync, writeFileSync } from "node:fs"
import { dirname, join, sep } from "node:path"
import { type OutputOptions, type Plugin, rolldown } from "rolldown"
import { joinTypes } from "./PlainTypes.ts"
import { buildPage, pageModule } from "./StudioPage.ts"
import { type Package, packages } from "./Workspace.ts"

/** The name stands in what Node says when it finds another Effect: the modules do not link then, and nothing of ours can say it. */
const joined = "dist/needs-effect-4.1"

const isPath = (name: string) => name.startsWith(".") || name.startsWith("/") || /^[A-Za-z]:\\/.test(name)

/** Refuses code that looks for a file next to its source: the joined file is in another folder. Such an entry must have no condition `node`. */
const refuseRelativeFiles: Plugin = {
  name: "refuse-relative-files",
  transform: (code, id) => {
    if (isPath(id) && /new URL\([^)]*import\.meta\.url/.test(code))
      throw new Error(
        `${id} looks for a file next to itself, but joining moves it. Remove the condition "node" of its entry.`
      )
  }
}

/** The name of `./dist/needs-effect-4.1/memory/index.js` is `memory/index`. */
const entryName = (path: string) => path.slice(`./${joined}/`.length, -".js".length)

/**
 * Every wing of core needs the rooms, so they are joined into one file; the ports and records of the wings (`wings.ts`) are joined into another.
 * The bundler decides where other shared code goes.
 */
const sharing = ({ entries, folder, manifest }: Package): OutputOptions => {
  if (manifest.name !== "@colloquy/core") return {}
  const source = join(folder, "src") + sep
  const surface = `${source}wings.ts`
  const wings = entries.map((entry) => dirname(entry.source) + sep).filter((path) => path !== source)
  const isRoom = (file: string) => file !== surface && !wings.some((path) => file.startsWith(path))
  const groups = [
    { name: "rooms", test: isRoom, priority: 2 },
    // Includes everything that `wings.ts` imports.
    { name: "wings", test: (file: string) => file === surface, priority: 1 }
  ]
  return { codeSplitting: { groups } }
}

const joinFiles = async (each: Package): Promise<void> => {
  const home = join(each.folder, joined)
  rmSync(home, { recursive: true, force: true })
  const inputs = each.entries.flatMap(({ node, source }) => (node === null ? [] : [[entryName(node), source]]))
  if (inputs.length === 0) return
  const build = await rolldown({
    input: Object.fromEntries(inputs),
    platform: "node",
    external: (name) => !isPath(name),
    logLevel: "warn",
    plugins: [refuseRelativeFiles]
  })
  await build.write({
    dir: home,
    // Comments are in the declarations and the sources. In these files they would only take memory.
    comments: false,
    sourcemap: true,
    sourcemapExcludeSources: true,
    minifyInternalExports: false,
    chunkFileNames: "shared/[name]-[hash].js",
    ...sharing(each)
  })
  await build.close()
}

for (const each of packages) {
  await joinFiles(each)
  if (each.manifest.name === "colloquy") await joinTypes(each)
  if (each.manifest.name === "@colloquy/studio")
    writeFileSync(join(each.folder, "dist/PageFiles.js"), pageModule(await buildPage()))
}
