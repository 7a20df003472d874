/**
 * Deletions of threads and assistants in portions (`schema/Removals.ts`): statements of others run in between. The caller waits for the
 * last portion. If its process dies in the middle, another process deletes the remaining rows. Each process looks for such rows a second
 * after its start, and once a minute.
 */
import { OwnerId, Principal, type StoreUnavailable } from "@colloquy/core"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Arguments, call, type Database } from "./Database.ts"
import { fromText, toText } from "./StoredText.ts"

/** The largest number of rows that one statement deletes. It takes about ten milliseconds. */
export const rowsAtOnce = 300

const removeRest = Effect.fnUntraced(function* (
  database: Database,
  operation: string
): Effect.fn.Return<void, StoreUnavailable, Principal> {
  const args = { owner: toText((yield* Principal).ownerId), limit: rowsAtOnce }
  const statement = `select ${call(database, "remove_some", args)} as rest`
  while (true) {
    const [row] = yield* database.query<{ readonly rest: boolean }>(operation, statement, Object.values(args))
    if (row?.rest !== true) return
    yield* Effect.yieldNow
  }
})

/** Returns whether something was removed. Null: a voice session is writing to the thread or assistant. */
export const removeWith = Effect.fnUntraced(function* (
  database: Database,
  operation: string,
  name: "remove_assistant" | "remove_thread",
  args: Arguments
): Effect.fn.Return<boolean | null, StoreUnavailable, Principal> {
  const [row] = yield* database.query<{ readonly removed: boolean; readonly rest: boolean }>(
    operation,
    `select removed, rest from ${call(database, name, args)}`,
    Object.values(args)
  )
  if (row?.rest === true) yield* removeRest(database, operation)
  return row?.removed ?? null
})

/** Deletes a draft with its messages. */
export const discardDraft = (
  database: Database,
  operation: string,
  id: string
): Effect.Effect<void, StoreUnavailable, Principal> =>
  Effect.flatMap(Principal, ({ ownerId }) =>
    Effect.andThen(
      database.query(
        operation,
        `update ${database.schema}.thread_drafts set removed = true where owner = $1 and id = $2`,
        [toText(ownerId), id]
      ),
      removeRest(database, operation)
    )
  )

/** Deletes the remaining rows of deletions, imports, forks and rewinds whose process died. */
export const removeLeftovers = (database: Database): Effect.Effect<void, StoreUnavailable> =>
  Effect.flatMap(
    database.query<{ readonly owner: string }>(
      "ThreadStore.removed",
      `select owner from ${database.schema}.thread_drafts where removed or created_at < clock_timestamp() - interval '1 hour'
       union select owner from ${database.schema}.assistants where removed_at is not null`,
      []
    ),
    (rows) =>
      Effect.forEach(
        rows,
        ({ owner }) =>
          Effect.provideService(removeRest(database, "ThreadStore.removed"), Principal, {
            ownerId: OwnerId.make(fromText(owner))
          }),
        { discard: true }
      )
  )

/** Repeats `removeLeftovers` as long as the scope is open. */
export const watchLeftovers = (database: Database): Effect.Effect<void, never, Scope.Scope> =>
  Effect.ignore(removeLeftovers(database)).pipe(
    Effect.andThen(Effect.sleep("1 minute")),
    Effect.forever,
    Effect.delay("1 second"),
    Effect.forkScoped,
    Effect.asVoid
  )
