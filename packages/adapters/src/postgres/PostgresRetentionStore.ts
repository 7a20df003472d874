/**
 * `RetentionStore` on PostgreSQL. Each step is one statement. It finds rows by an index of their age, oldest first, and skips rows that
 * another transaction has locked.
 */
import { type Prunable, RetentionStore } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import type { Database } from "./Database.ts"

export const retentionStore = ({ query, schema }: Database): typeof RetentionStore.Service => {
  const statements = pruneStatements(schema)
  return RetentionStore.of({
    prune: (what, before, limit) =>
      Effect.map(
        query<{ readonly count: number }>("RetentionStore.prune", statements[what], [before, limit]),
        ([row]) => row?.count ?? 0
      )
  })
}

/** In each statement, rows from before `$1` are old, and at most `$2` of them are deleted. */
const pruneStatements = (schema: string): { readonly [What in Prunable]: string } => {
  const rows = (table: string, key: string, age: string, condition = "true") => `
    with old as (
      select owner, ${key} from ${schema}.${table} where ${age} < $1 and ${condition}
      order by ${age} limit $2 for update skip locked
    ), gone as (
      delete from ${schema}.${table} aged using old where aged.owner = old.owner and aged.${key} = old.${key} returning 1
    )
    select count(*)::integer as count from gone`
  return {
    // `created_at < $1` follows from `ended_at < $1`; the condition is there because the index is on `created_at`.
    logs: `
      with old as (
        select owner, id from ${schema}.runs where not log_pruned and created_at < $1 and ended_at < $1
        order by created_at limit $2 for no key update skip locked
      ), gone as (
        delete from ${schema}.run_log log using old where log.owner = old.owner and log.run_id = old.id
      ), noted as (
        update ${schema}.runs run set log_pruned = true from old where run.owner = old.owner and run.id = old.id returning 1
      )
      select count(*)::integer as count from noted`,
    idempotencyKeys: rows("idempotency_keys", "key", "created_at"),
    deletedRuns: rows("deleted_runs", "id", "deleted_at"),
    chargeReceipts: rows("usage_receipts", "id", "recorded_at", "begun is null"),
    learnedRuns: rows("memory_runs", "run_id", "applied_at"),
    deadFollowUps: rows("follow_ups", "id", "ended_at", "status = 'dead'")
  }
}
