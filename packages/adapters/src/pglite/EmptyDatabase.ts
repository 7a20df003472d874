/**
 * A database as initdb makes it, kept beside this file, so that a first start need not make one: that takes seconds and hundreds of
 * megabytes. It belongs to one version of PGlite. When another one is installed, or when the file is not as it was shipped, there is none,
 * and PGlite runs initdb. `npm run empty-database` makes the file and `EmptyDatabaseKey.ts` anew.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { brotliDecompress } from "node:zlib"
import { emptyDatabaseKey } from "./EmptyDatabaseKey.ts"
import { renewIdentity } from "./Identity.ts"
import { readTar, type TarEntry } from "./Tar.ts"

export interface EmptyDatabase {
  /** The tar that holds the entries. */
  readonly archive: Buffer
  readonly entries: ReadonlyArray<TarEntry>
}

export interface EmptyDatabaseKey {
  /** The version of PGlite that made it. */
  readonly pglite: string
  /** Of the file, in hexadecimal digits. */
  readonly sha256: string
}

/** With an identity of its own at each call; null when there is none that fits. Other arguments than none are for tests. */
export const readEmptyDatabase = (
  key: EmptyDatabaseKey = emptyDatabaseKey,
  file?: string
): Effect.Effect<EmptyDatabase | null> =>
  Effect.tryPromise(() => unpack(key, file ?? shippedFile())).pipe(
    Effect.catch(({ cause }) =>
      Effect.as(
        Effect.logDebug(
          "PGlite has to make its database itself, which takes seconds: the one that is shipped is of no use",
          cause
        ),
        null
      )
    )
  )

const unpack = async (key: EmptyDatabaseKey, file: string): Promise<EmptyDatabase> => {
  const installed = await installedVersion()
  if (installed !== key.pglite) throw new Error(`It was made by PGlite ${key.pglite}, and ${installed} is installed`)
  const packed = await readFile(file)
  if (createHash("sha256").update(packed).digest("hex") !== key.sha256) throw new Error("The file is damaged")
  const archive = await promisify(brotliDecompress)(packed)
  const entries = readTar(archive)
  renewIdentity(entries)
  return { archive, entries }
}

/** From this package's root, because built and joined files stand elsewhere in it than their sources. */
const shippedFile = (): string =>
  join(dirname(find("@colloquy/adapters/package.json")), "src/pglite/EmptyDatabase.tar.br")

/** PGlite does not say it by itself. */
const installedVersion = async (): Promise<string> => {
  const manifest = join(dirname(find("@electric-sql/pglite")), "../package.json")
  return String(JSON.parse(await readFile(manifest, "utf8")).version)
}

const find = (name: string): string => createRequire(import.meta.url).resolve(name)

/** What a new database begins with. Replaced in tests. */
export const NewDatabase = Context.Reference<Effect.Effect<EmptyDatabase | null>>(
  "@colloquy/adapters/pglite/NewDatabase",
  {
    defaultValue: () => readEmptyDatabase()
  }
)

/** Into a folder that does not exist yet. */
export const writeEmptyDatabase = (folder: string, { entries }: EmptyDatabase): void => {
  mkdirSync(folder)
  for (const { content, isFolder, path } of entries) {
    if (isFolder) mkdirSync(join(folder, path))
    else writeFileSync(join(folder, path), content)
  }
}
