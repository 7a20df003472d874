// Joins the files of each package into few, beside those that `tsc` built: what a process pays at its start is for each file and each import,
// more than for the code in them. Node takes the joined files (the condition `node` of `exports`); bundlers take the single ones, of which
// they leave out what is not used.
import { rmSync } from "node:fs"
import { dirname, join, sep } from "node:path"
import { type OutputOptions, type Plugin, rolldown } from "rolldown"
import { type Package, packages } from "./Workspace.ts"

/** The name stands in what Node says when it finds another Effect: the modules do not link then, and nothing of ours can say it. */
const joined = "dist/needs-effect-4.1"

const isPath = (name: string) => name.startsWith(".") || name.startsWith("/") || /^[A-Za-z]:\\/.test(name)

/** A file beside the source is not beside the joined file, so that an entry which looks for one has no condition `node`. */
const withoutPlaces: Plugin = {
  name: "without-places",
  transform: (code, id) => {
    if (isPath(id) && /new URL\([^)]*import\.meta\.url/.test(code))
      throw new Error(`${id} looks for a file beside itself, and is moved by joining`)
  }
}

/** `./dist/needs-effect-4.1/memory/index.js` is called `memory/index`. */
const nameOf = (path: string) => path.slice(`./${joined}/`.length, -".js".length)

/**
 * Every wing of core needs its rooms, so that these are one file; what the wings show without their work (`wings.ts`) is another. What else is
 * shared by some entries finds its place by itself.
 */
const sharing = ({ entries, folder, manifest }: Package): OutputOptions => {
  if (manifest.name !== "@colloquy/core") return {}
  const source = join(folder, "src") + sep
  const surface = `${source}wings.ts`
  const wings = entries.map((entry) => dirname(entry.source) + sep).filter((path) => path !== source)
  const isRoom = (file: string) => file !== surface && !wings.some((path) => file.startsWith(path))
  const groups = [
    { name: "rooms", test: isRoom, priority: 2 },
    // With all that it imports.
    { name: "wings", test: (file: string) => file === surface, priority: 1 }
  ]
  return { codeSplitting: { groups } }
}

const joinFiles = async (each: Package): Promise<void> => {
  const home = join(each.folder, joined)
  rmSync(home, { recursive: true, force: true })
  const inputs = each.entries.flatMap(({ node, source }) => (node === null ? [] : [[nameOf(node), source]]))
  const build = await rolldown({
    input: Object.fromEntries(inputs),
    platform: "node",
    external: (name) => !isPath(name),
    logLevel: "warn",
    plugins: [withoutPlaces]
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
