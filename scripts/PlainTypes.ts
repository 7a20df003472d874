// The declarations of `colloquy` in few files that need no other package. What `tsc` writes names Effect, whose declarations are 126 files, and
// hundreds of those of core and http. Here they are joined, each with only what an entry shows, and in place of Effect stand the small files of
// `plain-types/`. A value of Effect fits where one of them is asked for; `check-packages.ts` compares the two.
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { type Plugin, rolldown } from "rolldown"
import { dts } from "rolldown-plugin-dts"
import { type Package, packages, root } from "./Workspace.ts"

const standIns = join(root, "scripts/plain-types")

const builtBy = (each: Package) => join(each.folder, "dist") + sep

/** `@colloquy/http/wings/Wing.d.ts` for that file of the package's `dist`. */
const publishedName = (file: string): string | undefined => {
  const owner = packages.find((each) => file.startsWith(builtBy(each)))
  return owner && join(owner.manifest.name, relative(builtBy(owner), file))
}

const standInFor = (name: string) => {
  const file = join(standIns, name)
  return existsSync(file) ? file : undefined
}

/** Declarations of Effect that need no other file: one is copied, two stay imports, because they have symbols of their own. */
const copied = "effect/StandardSchema"
const imported = ["effect/Inspectable", "effect/Pipeable"]

/** `effect/Layer` and `node:http` are found among the stand-ins. Others stay outside: what needs them is shown by no entry. */
const libraries: Plugin = {
  name: "libraries",
  resolveId: {
    order: "pre",
    handler: (specifier) => {
      const name = specifier.replace(":", "/")
      const isOfLibrary = ["effect/", "node/", "@electric-sql/"].some((start) => name.startsWith(start))
      if (!isOfLibrary || specifier === copied) return null
      return standInFor(`${name}.d.ts`) ?? { id: specifier, external: true }
    }
  }
}

/** Our own files that are about services of Effect. */
const ownFiles: Plugin = {
  name: "own-files",
  transform: {
    order: "pre",
    handler: (_code, id) => {
      const file = standInFor(publishedName(id) ?? "none")
      return file === undefined ? null : readFileSync(file, "utf8")
    }
  }
}

/** `Symbol.asyncDispose` has its type in no named version of the library yet. */
const disposable = '/// <reference lib="esnext.disposable" />'

/** `dist/types/openai.d.ts` and so on, as `exports` names them. */
export const joinTypes = async ({ entries, folder }: Package): Promise<void> => {
  const home = join(folder, "dist/types")
  rmSync(home, { recursive: true, force: true })
  const input = entries.map(({ name: entry, source, types }) => {
    const name = relative(join(folder, "src"), source).replace(/\.ts$/u, "")
    const expected = `./dist/types/${name}.d.ts`
    if (types !== expected)
      throw new Error(`package.json names ${types} as the types of ${entry}. They are ${expected}.`)
    return [name, join(folder, "dist", `${name}.d.ts`)] as const
  })
  const build = await rolldown({
    input: Object.fromEntries(input),
    logLevel: "warn",
    checks: { importIsUndefined: false, pluginTimings: false },
    resolve: { conditionNames: ["types"] },
    external: (name) =>
      !/^(?:\.|\/|[A-Za-z]:\\|@?colloquy\b|@effect\/sql-pg\b|@electric-sql\/|effect\/|node:)/u.test(name),
    // `oxc` makes no declarations here: they exist.
    plugins: [libraries, ownFiles, dts({ dtsInput: true, generator: "oxc", tsconfig: false, sourcemap: false })]
  })
  const { output } = await build.write({ dir: home, chunkFileNames: "shared/[name].d.ts", banner: disposable })
  await build.close()
  const code = output.map((file) => (file.type === "chunk" ? file.code : "")).join("\n")
  const foreign = [...code.matchAll(/^(?:im|ex)port .*? from "([^."][^"]*)"|import\("[^"]+"/gmu)].flatMap(
    ([, name = ""]) => (imported.includes(name) ? [] : [name])
  )
  if (foreign.length > 0)
    throw new Error(`The types of colloquy name ${foreign.join(", ")}. Give what they need in plain-types.`)
}
