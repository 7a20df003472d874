// Joins the files of each package into few, beside those that `tsc` built: what a process pays at its start is for each file and each import,
// more than for the code in them. Node takes the joined files (the condition `node` of `exports`); bundlers take the single ones, of which
// they leave out what is not used.
import { rmSync } from "node:fs"
import { dirname, join, sep } from "node:path"
import { type OutputOptions, rolldown } from "rolldown"
import { type Package, packages } from "./Workspace.ts"

const joined = "dist/joined"

const isPath = (name: string) => name.startsWith(".") || name.startsWith("/") || /^[A-Za-z]:\\/.test(name)

/** `./dist/joined/memory/index.js` is called `memory/index`. */
const nameOf = (path: string) => path.slice(`./${joined}/`.length, -".js".length)

/** Every wing of core needs its rooms, so that these are one file. What else is shared by some entries finds its place by itself. */
const sharing = ({ entries, folder, manifest }: Package): OutputOptions => {
  const subPaths = entries
    .map(({ source }) => dirname(source) + sep)
    .filter((path) => path !== join(folder, "src") + sep)
  const isRoom = (file: string) => !subPaths.some((path) => file.startsWith(path))
  return manifest.name === "@colloquy/core" ? { codeSplitting: { groups: [{ name: "rooms", test: isRoom }] } } : {}
}

const joinFiles = async (each: Package): Promise<void> => {
  const home = join(each.folder, joined)
  rmSync(home, { recursive: true, force: true })
  const inputs = each.entries.flatMap(({ node, source }) => (node === null ? [] : [[nameOf(node), source]]))
  const build = await rolldown({
    input: Object.fromEntries(inputs),
    platform: "node",
    external: (name) => !isPath(name),
    logLevel: "warn"
  })
  await build.write({
    dir: home,
    // Comments are for the declarations and the sources; here they would take memory.
    comments: false,
    sourcemap: true,
    sourcemapExcludeSources: true,
    minifyInternalExports: false,
    chunkFileNames: "shared/[name]-[hash].js",
    ...sharing(each)
  })
  await build.close()
}

for (const each of packages) await joinFiles(each)
