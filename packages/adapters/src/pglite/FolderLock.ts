/**
 * Allows only one process to open a folder. PGlite itself lets two processes open the same files, and then both lose rows.
 *
 * The lock is a file lock of the operating system, taken through SQLite, which is part of Node.js. The system releases the lock when the process
 * ends for any reason. So there are no stale locks, and no process ids that might belong to another process by now.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

/** The folder is open already, in this process or another. Nothing was changed. */
export class FolderInUse extends Schema.TaggedError<FolderInUse>()("FolderInUse", { folder: Schema.String }) {
  override get message() {
    return (
      `The folder ${this.folder} is in use. An embedded database can be opened only once, by one process: ` +
      "stop the other process, choose another folder, or use a Postgres server."
    )
  }
}

/** Locks the folder until the scope closes or the process ends. The lock is on the file `lock` in it, which stays there and is empty. */
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
