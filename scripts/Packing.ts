// Packs a package with its pages of the guide. The server carries every file that the guide shows, `colloquy` the pages of `docs/`, and the other
// packages those that their README links to; each has the pages of its own public names. A link whose target is not in the package becomes plain words.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join, posix, relative } from "node:path"
import { findFiles, isFolder } from "../packages/server/src/guide/GuideFiles.ts"
import { type Package, root } from "./Workspace.ts"

/** Paths in the repository by their paths in the package. */
type Places = ReadonlyMap<string, string>

const links = /\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)/giu

const targetsIn = (page: string): ReadonlyArray<string> =>
  [...readFileSync(join(root, page), "utf8").matchAll(links)].map(([, link = ""]) =>
    posix.normalize(posix.join(posix.dirname(page), link))
  )

const isPage = (path: string): boolean => /^docs\/[^/]*\.md$/u.test(path)

/** The pages of the package's own public names. */
const isOwnReference = (path: string, name: string): boolean =>
  new RegExp(`^docs/reference/${name.replace(/^@colloquy\//u, "")}(?:\\..*)?\\.md$`, "u").test(path)

const placesIn = ({ folder, manifest: { name } }: Package): Places => {
  const all = [...findFiles().byAddress.values()].filter((path) => !isFolder(path))
  const readme = `${relative(root, folder)}/README.md`
  const inside =
    name === "@colloquy/server"
      ? [...all, "docs/reference/index.md", "llms.txt"].map((path) => [path, `guide/${path}`] as const)
      : name === "colloquy"
        ? [...all.filter((path) => isPage(path) || isOwnReference(path, name)), "GLOSSARY.md", "llms.txt"].map(
            (path) => [path, path] as const
          )
        : [...targetsIn(readme), ...all.filter((path) => isOwnReference(path, name))]
            .filter((path) => /^(?!README)[\w./-]*\.md$/u.test(path))
            .map((path) => [path, path.startsWith("docs/") ? path : `docs/${path}`] as const)
  return new Map([...inside, [readme, "README.md"]])
}

/** The text of a page with its links as they are in the package. */
const relinked = (page: string, places: Places): string => {
  const from = posix.dirname(places.get(page) ?? page)
  const change = (text: string) =>
    text.replaceAll(
      /\[((?:[^[\]]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)/giu,
      (_, words, link, anchor = "") => {
        const target = places.get(posix.normalize(posix.join(posix.dirname(page), link)))
        return target === undefined ? words : `[${words}](${posix.relative(from, target)}${anchor})`
      }
    )
  // Every second piece is code.
  return readFileSync(join(root, page), "utf8")
    .split(/(^```[\s\S]*?^```)/mu)
    .map((piece, index) => (index % 2 === 0 ? change(piece) : piece))
    .join("")
}

/** The tarball of the built package, in the folder `into`. The package itself is not changed. */
export const packInto = (each: Package, into: string): string => {
  const stage = mkdtempSync(join(tmpdir(), "colloquy-pack-"))
  try {
    cpSync(each.folder, stage, {
      recursive: true,
      filter: (path) => !["node_modules", "test"].includes(basename(path))
    })
    const places = placesIn(each)
    for (const [page, place] of places) {
      mkdirSync(dirname(join(stage, place)), { recursive: true })
      // The guide itself decides which of its links lead somewhere.
      if (place.startsWith("guide/") || !/\.(?:md|txt)$/u.test(page)) cpSync(join(root, page), join(stage, place))
      else writeFileSync(join(stage, place), relinked(page, places))
    }
    const told = execFileSync("npm", ["pack", "--json", "--pack-destination", into], {
      cwd: stage,
      encoding: "utf8",
      stdio: "pipe",
      shell: process.platform === "win32"
    })
    const [packed] = Object.values<{ readonly filename: string }>(JSON.parse(told))
    if (packed === undefined || !existsSync(join(into, packed.filename)))
      throw new Error(`npm packed nothing for ${each.manifest.name}`)
    return join(into, packed.filename)
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}
