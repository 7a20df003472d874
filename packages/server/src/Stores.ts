/** The server's stores: a Postgres server if one is named, otherwise PGlite in a folder or in memory. */
import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import { vector } from "@electric-sql/pglite-pgvector"
import { access, constants, mkdir, stat } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import type { Settings } from "./Settings.ts"
import { folderRefused } from "./StartRefused.ts"

export const inMemory = "memory://"

/** With `migrate: false`, which a command that only reads uses, a schema of another version is refused and stays as it is. */
export const makeStores = ({ databaseUrl, dataDir }: Settings, options: { readonly migrate?: boolean } = {}) =>
  databaseUrl === null
    ? Pglite.layer({ ...options, extensions: { vector }, ...(dataDir === inMemory ? {} : { dataDir }) })
    : Postgres.layer({ ...options, url: databaseUrl })

/** Makes sure that the folder exists and is writable; otherwise the start is refused with a sentence. */
export const prepareFolder = async ({ databaseUrl, dataDir }: Settings): Promise<void> => {
  if (databaseUrl !== null || dataDir === inMemory) return
  try {
    await makeFolder(resolve(dataDir))
    await access(dataDir, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw folderRefused(dataDir, error)
  }
}

/** Creates one level after the other, because Node's own `recursive` never ends at a place where nothing can be created. */
const makeFolder = async (folder: string): Promise<void> => {
  if (await isFolder(folder)) return
  if (dirname(folder) !== folder) await makeFolder(dirname(folder))
  await mkdir(folder)
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false
  )
