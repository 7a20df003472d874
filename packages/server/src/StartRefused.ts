/**
 * Why the server cannot start, as one sentence for the operator: what is wrong and which variable to change. It never contains addresses of
 * databases or keys.
 */
import * as Schema from "effect/Schema"
import { Pglite } from "@colloquy/adapters/pglite"
import { StoreUnavailable } from "@colloquy/core"
import type { Settings } from "./Settings.ts"

export class StartRefused extends Schema.TaggedError<StartRefused>()("StartRefused", { message: Schema.String }) {}

/** Codes of the operating system and of Postgres that operators meet: what happened, and what to do. */
const meanings: Readonly<Record<string, readonly [fact: string, advice: string]>> = {
  ECONNREFUSED: [
    "nothing listens at its address",
    "Start PostgreSQL, or correct the host and the port in DATABASE_URL."
  ],
  ENOTFOUND: ["its host is unknown", "Correct the host in DATABASE_URL."],
  EAI_AGAIN: ["its host is unknown", "Correct the host in DATABASE_URL, or look at the name server."],
  ETIMEDOUT: ["its host does not answer", "Correct the host in DATABASE_URL, or open the way to it."],
  "28P01": ["its user or password is refused", "Correct both in DATABASE_URL."],
  "28000": ["its user may not connect", "Correct the user in DATABASE_URL, or let it in (pg_hba.conf)."],
  "3D000": ["there is no such database", "Create it, or correct its name in DATABASE_URL."],
  "42501": ["its user may not make tables there", "Grant CREATE on the database to this user."],
  "53300": ["it has too many connections", "End some, or raise max_connections."]
}

/** The code of the innermost cause, which is nearest to the failure. */
const errorCode = (error: unknown): string | null => {
  if (!(error instanceof Error)) return null
  const below = errorCode(error.cause)
  return below ?? ("code" in error && typeof error.code === "string" ? error.code : null)
}

const errorMeaning = (error: unknown): string => {
  const code = errorCode(error)
  const [fact, advice] = (code === null ? undefined : meanings[code]) ?? [
    "it does not answer as a PostgreSQL server does",
    "Look at its log, and at DATABASE_URL."
  ]
  return `${fact}${code === null ? "" : ` (${code})`}. ${advice}`
}

export const folderRefused = (folder: string, error: unknown): StartRefused =>
  new StartRefused({
    message: `The folder ${folder} cannot be used (${errorCode(error) ?? "unknown error"}). Set COLLOQUY_DATA_DIR to a folder that may be written, or to memory://.`
  })

export const addressRefused = (where: string, error: unknown): StartRefused =>
  new StartRefused({
    message: `The server cannot listen on ${where} (${errorCode(error) ?? "unknown error"}). Set HOST or PORT to a free address.`
  })

/** Explains failures of opening the stores. Other errors already have a message. */
export const storeRefused = (settings: Settings, error: unknown): unknown => {
  if (error instanceof Pglite.FolderInUse) {
    const message = `The folder ${settings.dataDir} is in use by another process. Stop that one, or set COLLOQUY_DATA_DIR to another folder, or DATABASE_URL to a Postgres server.`
    return new StartRefused({ message })
  }
  if (
    error instanceof StoreUnavailable &&
    settings.blobs?._tag === "Folder" &&
    error.operation.startsWith("BlobStore.")
  ) {
    const message = `The folder ${settings.blobs.folder} cannot be used (${errorCode(error) ?? "unknown error"}). Set COLLOQUY_BLOBS to a folder that may be written, or to database.`
    return new StartRefused({ message })
  }
  if (error instanceof StoreUnavailable && settings.databaseUrl !== null) {
    return new StartRefused({ message: `The database of DATABASE_URL cannot be used: ${errorMeaning(error)}` })
  }
  if (settings.databaseUrl === null && error instanceof Error && !("_tag" in error)) {
    const message = `The database in ${settings.dataDir} cannot be opened (${error.message}). Set COLLOQUY_DATA_DIR to another folder, or restore a backup of this one.`
    return new StartRefused({ message })
  }
  return error
}
