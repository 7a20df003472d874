// Creates the empty database with which a first start of PGlite begins, by running initdb. Run this script when the version of PGlite changes.
import { createHash } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { brotliCompressSync, constants } from "node:zlib"
import type { TarEntry } from "../packages/adapters/src/pglite/Tar.ts"
import { root } from "./Workspace.ts"

const home = join(root, "packages/adapters/src/pglite")
const { resolve } = createRequire(join(home, "Pglite.ts"))
const pglite = resolve("@electric-sql/pglite")
const { PGlite } = await import(pglite)
const { version } = JSON.parse(readFileSync(join(dirname(pglite), "../package.json"), "utf8"))

const blockLength = 512

const writeTar = (entries: ReadonlyArray<TarEntry>): Buffer =>
  Buffer.concat([
    ...entries.flatMap(({ content, isFolder, path }) => [
      header(path, isFolder, content.length),
      content,
      Buffer.alloc(-content.length & (blockLength - 1))
    ]),
    Buffer.alloc(2 * blockLength)
  ])

/** The header contains no user and no time, so that equal entries give equal bytes. */
const header = (path: string, isFolder: boolean, size: number): Buffer => {
  const block = Buffer.alloc(blockLength)
  block.write(path, 0, "latin1")
  block.write(isFolder ? "0000755\0" : "0000644\0", 100, "latin1")
  block.write("0000000\0".repeat(2), 108, "latin1")
  block.write(`${octal(size, 11)}\0${octal(0, 11)}\0`, 124, "latin1")
  block.write(`        ${isFolder ? 5 : 0}`, 148, "latin1")
  block.write("ustar\x0000", 257, "latin1")
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6
    )}\0 `,
    148,
    "latin1"
  )
  return block
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, "0")

/** The entries are sorted, so that every run gives the same order. */
const tarEntries = (folder: string): ReadonlyArray<TarEntry> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((found) => {
      const path = join(found.parentPath, found.name)
      const isFolder = found.isDirectory()
      return { path: relative(folder, path), isFolder, content: isFolder ? Buffer.alloc(0) : readFileSync(path) }
    })
    .sort((one, other) => (one.path < other.path ? -1 : 1))

const compress = (bytes: Buffer): Buffer =>
  brotliCompressSync(bytes, {
    // The window is larger than one of the three databases in the folder, so that the other two, which are nearly equal, compress well.
    params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  })

const folder = mkdtempSync(join(tmpdir(), "colloquy-empty-database-"))
try {
  // The database is closed, so that a copy of it starts like one that was shut down properly.
  await (await PGlite.create({ dataDir: folder })).close()
  const packed = compress(writeTar(tarEntries(folder)))
  const sha256 = createHash("sha256").update(packed).digest("hex")
  writeFileSync(join(home, "EmptyDatabase.tar.br"), packed)
  writeFileSync(
    join(home, "EmptyDatabaseKey.ts"),
    `/** Written by \`npm run empty-database\`. */
export const emptyDatabaseKey = {
  pglite: ${JSON.stringify(version)},
  sha256: "${sha256}"
}
`
  )
  console.log(`An empty database of PGlite ${version}: ${packed.length} bytes.`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
