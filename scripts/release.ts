/**
 * `npm run release -- 0.2.0`: everything of a release but the publication. It sets the versions, moves the notes of CHANGELOG.md under the
 * version, packs the tarballs into `packed/`, says what has changed in public names and in sizes since the last release, and makes a commit and
 * a tag. It neither pushes nor publishes. With `--look` it changes nothing and prints the report of names.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { nameChanges, nextLock, nextManifest, refusals, releaseNotes, sizeReport } from "./Releases.ts"
import { packages, root } from "./Workspace.ts"

const [version = "", mode] = process.argv.slice(2)
const run = (command: string, ...parameters: ReadonlyArray<string>): string =>
  execFileSync(command, parameters, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 })
const read = (path: string): string => readFileSync(join(root, path), "utf8")

const tags = run("git", "tag", "--list", "v*", "--sort=-version:refname").split("\n")
const lastTag = tags.find((tag) => /^v\d+\.\d+\.\d+$/u.test(tag)) ?? null
const manifest: { readonly version: string } = JSON.parse(read("packages/core/package.json"))
const last = lastTag === null ? manifest.version : lastTag.slice(1)

const namesFolder = "test/public-names"
const lines = (text: string) => text.split("\n").filter((name) => name !== "")
const namesNow = new Map(
  readdirSync(join(root, namesFolder)).map((file) => [
    file.replace(/\.txt$/u, ""),
    lines(read(`${namesFolder}/${file}`))
  ])
)
const namesBefore = new Map(
  lastTag === null
    ? []
    : lines(run("git", "ls-tree", "--name-only", `${lastTag}:${namesFolder}`)).map((file) => [
        file.replace(/\.txt$/u, ""),
        lines(run("git", "show", `${lastTag}:${namesFolder}/${file}`))
      ])
)
const changes = lastTag === null ? { added: [], removed: [] } : nameChanges(namesBefore, namesNow)

const day = new Date().toISOString().slice(0, 10)
const { changelog, notes } = releaseNotes(read("CHANGELOG.md"), version, day)
const problems = refusals(version, last, {
  hasNotes: notes !== "",
  isClean: run("git", "status", "--porcelain") === "",
  isFirst: lastTag === null,
  removed: changes.removed
})

const sizesFile = "packed/sizes.json"

/** The tarballs of the last release, as far as they were packed here. */
const sizesBefore = (): ReadonlyMap<string, number> => {
  if (!existsSync(join(root, sizesFile))) return new Map()
  const kept: Readonly<Record<string, number>> = JSON.parse(read(sizesFile))
  return new Map(Object.entries(kept))
}

const packAll = (): ReadonlyMap<string, number> => {
  for (const file of existsSync(join(root, "packed")) ? readdirSync(join(root, "packed")) : []) {
    if (file.endsWith(".tgz")) rmSync(join(root, "packed", file))
  }
  run("npm", "run", "--silent", "pack:all")
  return new Map(
    readdirSync(join(root, "packed"))
      .filter((file) => file.endsWith(".tgz"))
      .map((file) => [file.replace(/-\d+\.\d+\.\d+\.tgz$/u, ""), statSync(join(root, "packed", file)).size])
  )
}

const release = (): void => {
  const names = new Set(packages.map(({ manifest: { name } }) => name))
  for (const { folder } of packages) {
    const file = join(folder, "package.json")
    writeFileSync(file, nextManifest(readFileSync(file, "utf8"), names, version))
  }
  writeFileSync(join(root, "package-lock.json"), nextLock(read("package-lock.json"), names, version))
  writeFileSync(join(root, "CHANGELOG.md"), changelog)
  const before = sizesBefore()
  const sizes = packAll()
  writeFileSync(join(root, sizesFile), JSON.stringify(Object.fromEntries(sizes)))
  console.log(sizeReport(sizes, before).join("\n"))
  writeFileSync(join(root, "packed/notes.md"), `${notes}\n`)
  run("git", "commit", "--all", "--message", `Release ${version}`)
  run("git", "tag", "--annotate", `v${version}`, "--message", `Colloquy ${version}`)
  console.log(`\nThe commit and the tag v${version} are made, the tarballs and the notes are in packed/. To publish:`)
  console.log("  git push --follow-tags\n  for each in packed/*.tgz: npm publish --provenance --access public <file>")
}

console.log(
  `Since ${lastTag ?? "the beginning"}: ${changes.added.length} public names are new, ${changes.removed.length} are gone.`
)
for (const name of changes.removed) console.log(`  gone: ${name}`)
for (const name of changes.added) console.log(`  new: ${name}`)
if (mode !== "--look" && problems.length > 0) {
  console.error(problems.join("\n"))
  process.exitCode = 1
} else if (mode !== "--look") release()
