/**
 * One process a folder. PGlite itself lets two processes open the same files, and both lose rows.
 *
 * The lock is one of the operating system: SQLite, which comes with node, holds its file lock for us. The system takes it back when the
 * process ends, however it ends, so there is nothing stale to recognise, and no process number to compare that may be another's by now.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { DatabaseSync } from "node:sqlite"

/** Another process works on the folder. Nothing was touched. */
export class FolderInUse extends Schema.TaggedError<FolderInUse>()("FolderInUse", { folder: Schema.String }) {
  override get message() {
    return (
      `The folder ${this.folder} is in use by another process. An embedded database belongs to one process: ` +
      "stop the other one, choose another folder, or use a Postgres server."
    )
  }
}

/** Holds the folder until the scope closes or the process ends. The lock's file lies beside the folder and stays there, empty. */
export const holdFolder = (folder: string): Effect.Effect<void, FolderInUse, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.try({
        try: () => lock(`${folder}.lock`),
        catch: (cause) => cause
      }).pipe(Effect.catch((cause) => (isHeld(cause) ? Effect.fail(new FolderInUse({ folder })) : Effect.die(cause)))),
      (held) => Effect.sync(() => held.close())
    )
  )

const lock = (file: string): DatabaseSync => {
  const held = new DatabaseSync(file)
  try {
    held.exec("begin exclusive")
    return held
  } catch (cause) {
    held.close()
    throw cause
  }
}

/** SQLITE_BUSY */
const isHeld = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "errcode" in cause && cause.errcode === 5
