/**
 * One process a folder. PGlite itself lets two processes open the same files, and both lose rows.
 *
 * The lock is one of the operating system: SQLite, which comes with node, holds its file lock for us. The system takes it back when the
 * process ends, however it ends, so there is nothing stale to recognise, and no process number to compare that may be another's by now.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

/** Another process works on the folder. Nothing was touched. */
export class FolderInUse extends Schema.TaggedError<FolderInUse>()("FolderInUse", { folder: Schema.String }) {
  override get message() {
    return (
      `The folder ${this.folder} is in use. An embedded database belongs to one process, and is opened once there: ` +
      "stop the other one, choose another folder, or use a Postgres server."
    )
  }
}

/** Holds the folder until the scope closes or the process ends. The file in it that is locked stays there, empty. */
export const holdFolder = (folder: string): Effect.Effect<void, FolderInUse, Scope.Scope> =>
  Effect.suspend(() => {
    const held = new DatabaseSync(join(folder, "lock"))
    return Effect.andThen(
      Effect.addFinalizer(() => Effect.sync(() => held.close())),
      isFree(held) ? Effect.void : Effect.fail(new FolderInUse({ folder }))
    )
  })

const isFree = (lock: DatabaseSync): boolean => {
  try {
    lock.exec("begin exclusive")
    return true
  } catch (cause) {
    if (cause instanceof Error && "errcode" in cause && cause.errcode === busy) return false
    throw cause
  }
}

/** SQLITE_BUSY */
const busy = 5
