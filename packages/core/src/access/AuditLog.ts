/**
 * The audit log: which acts an owner's keys and code did that matter to a person who checks them later. An entry names the act, what it was
 * done to and the key, and never any content. The use cases write it; a host reads it with `AuditLog.list`.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { AuditEntryId, KeyId, newId, OwnerId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { Principal } from "./Principal.ts"

/** What was done, as one word: `action` of an entry of the audit log. */
export const AuditAction = Schema.Literals([
  "key_made",
  "key_revoked",
  "assistant_created",
  "assistant_updated",
  "assistant_deleted",
  "call_approved",
  "call_rejected",
  "addresses_revoked",
  "owner_exported",
  "owner_erased"
])
export type AuditAction = typeof AuditAction.Type

/** One act: who did what, to what, and when. No content. */
export const AuditEntry = Schema.Struct({
  id: AuditEntryId,
  ownerId: OwnerId,
  at: Schema.Date,
  action: AuditAction,
  /** The id of what the act was done to. */
  subject: Schema.String,
  /** The names of the fields that the act set. Never their values. */
  fields: Schema.Array(Schema.String),
  /** The key of the request. Null: the host's own code, or a session of the host. */
  keyId: Schema.NullOr(KeyId)
})
export type AuditEntry = typeof AuditEntry.Type

/** How many entries to read, from the newest or before a known one. */
export interface AuditPage {
  readonly limit: number
  /** Only entries that were appended before this one. Absent: the newest. */
  readonly before?: AuditEntryId
}

/** What keeps the audit log. */
export interface AuditStorePort {
  /** MUST keep the entry as it is, also after what it names was deleted. */
  readonly append: (entry: AuditEntry) => Effect.Effect<void, StoreUnavailable, Principal>
  /**
   * MUST return the principal's entries only, the last appended first, at most `limit`. With `before`, MUST return those that were appended
   * before that entry, and none if the principal has no such entry.
   */
  readonly list: (page: AuditPage) => Effect.Effect<ReadonlyArray<AuditEntry>, StoreUnavailable, Principal>
}

/** Port: stores the audit log. The default keeps nothing; the stores of `@colloquy/adapters` bring one. `auditStoreSuite` tests this contract. */
export const AuditStore = Context.Reference<AuditStorePort>("@colloquy/core/access/AuditStore", {
  defaultValue: () => ({ append: () => Effect.void, list: () => Effect.succeed([]) })
})

export class AuditLog extends Context.Service<
  AuditLog,
  {
    /**
     * Records an act of the principal. It is called before the act, when nothing can refuse the act any more: if the log cannot be written,
     * nothing is done. An act that then fails, because the store fails, has an entry too.
     */
    readonly record: (
      action: AuditAction,
      subject: string,
      fields?: ReadonlyArray<string>
    ) => Effect.Effect<void, StoreUnavailable, Principal>
    /** The principal's entries, the newest first. */
    readonly list: AuditStorePort["list"]
  }
>()("@colloquy/core/access/AuditLog") {
  static readonly make: Effect.Effect<typeof AuditLog.Service> = Effect.map(AuditStore, ({ append, list }) => ({
    record: Effect.fnUntraced(function* (
      action: AuditAction,
      subject: string,
      fields: ReadonlyArray<string> = []
    ): Effect.fn.Return<void, StoreUnavailable, Principal> {
      const { keyId = null, ownerId } = yield* Principal
      const id = yield* newId(AuditEntryId)
      yield* append({ id, ownerId, at: new Date(yield* Clock.currentTimeMillis), action, subject, fields, keyId })
    }),
    list
  }))

  static readonly layer: Layer.Layer<AuditLog> = Layer.effect(AuditLog, AuditLog.make)
}
