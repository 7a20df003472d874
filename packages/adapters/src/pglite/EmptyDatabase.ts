/**
 * An empty database that was made by initdb and is shipped with this package. A first start copies it, because running initdb takes seconds and
 * hundreds of megabytes. The file fits one version of PGlite: if another version is installed or the file is damaged, PGlite runs initdb.
 * `npm run empty-database` creates the file and `EmptyDatabaseKey.ts` again.
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
  /** The tar archive with all entries. */
  readonly archive: Buffer
  readonly entries: ReadonlyArray<TarEntry>
}

export interface EmptyDatabaseKey {
  /** The version of PGlite that made the database. */
  readonly pglite: string
  /** The SHA-256 hash of the file, in hexadecimal digits. */
  readonly sha256: string
}

/** Returns the database, with a new identity at each call, or null when the shipped file cannot be used. Only tests pass arguments. */
export const readEmptyDatabase = (
  key: EmptyDatabaseKey = emptyDatabaseKey,
  file?: string
): Effect.Effect<EmptyDatabase | null> =>
  Effect.tryPromise(() => unpack(key, file ?? shippedFile())).pipe(
    Effect.catch(({ cause }) =>
      Effect.as(
        Effect.logDebug(
          "PGlite creates its database with initdb, which takes seconds, because the shipped empty database cannot be used",
          cause
        ),
        null
      )
    )
  )

const unpack = async (key: EmptyDatabaseKey, file: string): Promise<EmptyDatabase> => {
  const installed = await installedVersion()
  if (installed !== key.pglite) throw new Error(`It is for PGlite ${key.pglite}, but ${installed} is installed`)
  const packed = await readFile(file)
  if (createHash("sha256").update(packed).digest("hex") !== key.sha256) throw new Error("The file is damaged")
  const archive = await promisify(brotliDecompress)(packed)
  const entries = readTar(archive)
  renewIdentity(entries)
  return { archive, entries }
}

/** The path is relative to the package's root, because built files are in other folders than their sources. */
const shippedFile = (): string =>
  join(dirname(find("@colloquy/adapters/package.json")), "src/pglite/EmptyDatabase.tar.br")

/** PGlite does not export its version, so it is read from its manifest. */
const installedVersion = async (): Promise<string> => {
  const manifest = join(dirname(find("@electric-sql/pglite")), "../package.json")
  return String(JSON.parse(await readFile(manifest, "utf8")).version)
}

const find = (name: string): string => createRequire(import.meta.url).resolve(name)

/** Provides the content of a new database. Tests replace it. */
export const NewDatabase = Context.Reference<Effect.Effect<EmptyDatabase | null>>(
  "@colloquy/adapters/pglite/NewDatabase",
  {
    defaultValue: () => readEmptyDatabase()
  }
)

/** Writes the database to a folder that does not exist yet. */
export const writeEmptyDatabase = (folder: string, { entries }: EmptyDatabase): void => {
  mkdirSync(folder)
  for (const { content, isFolder, path } of entries) {
    if (isFolder) mkdirSync(join(folder, path))
    else writeFileSync(join(folder, path), content)
  }
}
