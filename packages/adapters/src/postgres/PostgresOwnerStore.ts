/** `OwnerStore` on PostgreSQL. Each method sends one statement. */
import { OwnerId, Principal, type RunId, type ThreadId } from "@colloquy/core"
import { type Erasure, type ErasureId, OwnerStore } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { Database } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, fromText, toText } from "./StoredText.ts"

interface ErasureRow {
  readonly id: ErasureId
  readonly status: Erasure["status"]
  readonly created_at: Date
  readonly ended_at: Date | null
}

const decodeErasure = ({ created_at, ended_at, id, status }: ErasureRow): Erasure => ({
  id,
  status,
  createdAt: created_at,
  endedAt: ended_at
})

const columns = "id, status, created_at, ended_at"

export const ownerStore = (database: Database): typeof OwnerStore.Service => {
  const { query, schema } = database
  const own = ownedStatements(database, "OwnerStore")
  const erasures = `${schema}.erasures`

  return OwnerStore.of({
    beginErasure: Effect.fnUntraced(function* (id, at) {
      const { ownerId } = yield* Principal
      const [row] = yield* query<ErasureRow>(
        "OwnerStore.beginErasure",
        // The update changes nothing; it is there because only an updated row is returned.
        `insert into ${erasures} as known (owner, id, created_at) values ($1, $2, $3)
           on conflict (owner) where status = 'IN_PROGRESS' do update set status = known.status returning ${columns}`,
        [toText(ownerId), newRowId(id), at]
      )
      return row === undefined ? yield* Effect.die(new Error("An erasure was not stored.")) : decodeErasure(row)
    }),

    erasure: (id) =>
      own.first(
        "erasure",
        `select ${columns} from ${erasures} where owner = $1 and id = $2`,
        [knownId(id)],
        decodeErasure
      ),

    endErasure: (id, status, at, keptKind) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<boolean>("endErasure", "end_erasure", { id: knownId(id), status, at, kept_kind: keptKind }),
          (hasEnded) => hasEnded === true
        )
      ),

    unattended: (kind, limit) =>
      Effect.map(
        query<ErasureRow & { readonly owner: string }>(
          "OwnerStore.unattended",
          `select e.owner, e.id, e.status, e.created_at, e.ended_at from ${erasures} e
           where e.status = 'IN_PROGRESS' and not exists (
             select from ${schema}.follow_ups f where f.owner = e.owner and f.kind = $1
               and hashtextextended(f.key, 0) = hashtextextended(e.id::text, 0) and f.key = e.id::text
               and f.status in ('pending', 'running')
           ) order by e.created_at limit $2`,
          [toText(kind), limit]
        ),
        (rows) => rows.map((row) => ({ ownerId: OwnerId.make(fromText(row.owner)), erasure: decodeErasure(row) }))
      ),

    activeRuns: (limit) =>
      Effect.map(
        own.rows<{ readonly run_id: RunId; readonly thread_id: ThreadId }>(
          "activeRuns",
          `select active.run_id, active.thread_id from ${schema}.threads thread
             cross join lateral (
               select run_id, thread_id from ${schema}.active_runs where thread_id = thread.id and owner = thread.owner offset 0
             ) active where thread.owner = $1 and thread.active > 0 limit $2`,
          [limit]
        ),
        (rows) => rows.map(({ run_id: runId, thread_id: threadId }) => ({ runId, threadId }))
      ),

    eraseSome: (limit, keptKind) =>
      Effect.suspend(() =>
        Effect.map(own.call<number>("eraseSome", "erase_some", { limit, kept_kind: keptKind }), (gone) => gone ?? 0)
      ),

    left: (keptKind) =>
      Effect.suspend(() =>
        Effect.map(own.call<string>("left", "left_of_owner", { kept_kind: keptKind }), (found) =>
          fromJson<{ readonly [table: string]: number }>(found ?? "{}")
        )
      )
  })
}
