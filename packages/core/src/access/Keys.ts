/**
 * API keys. The host makes keys (each is shown once), lists and revokes them; code that serves requests turns a key into a `Principal`.
 *
 * A key is `cq_<key id>_<secret>`. Only its SHA-256 is stored. The first half of the hash finds the record, and the whole hash is compared
 * in constant time. A key that the host brings may be any text.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { tracedFn } from "../primitives/Traced.ts"
import { KeyId, newId, OwnerId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { AuditLog } from "./AuditLog.ts"
import { KeyScope } from "./KeyScope.ts"
import { Principal } from "./Principal.ts"

/** The stored data of a key: enough to recognise the key, not enough to use it. */
export const KeyRecord = Schema.Struct({
  id: KeyId,
  ownerId: OwnerId,
  name: Schema.String,
  /** SHA-256 of the whole key, hex. */
  hash: Schema.String,
  scope: KeyScope,
  createdAt: Schema.Date,
  /** From then on the key is refused. Null: never. */
  expiresAt: Schema.NullOr(Schema.Date),
  revokedAt: Schema.NullOr(Schema.Date)
})
export type KeyRecord = typeof KeyRecord.Type

/** The number of hex digits of the hash that find a record. The whole hash is then compared in constant time. */
export const lookupLength = 32

/** Port: stores API keys. */
export class KeyStore extends Context.Service<
  KeyStore,
  {
    /** MUST store the record. A second record with the same hash replaces the first and is valid again. */
    readonly insert: (record: KeyRecord) => Effect.Effect<void, StoreUnavailable>
    /** MUST find a record of any owner by the first `lookupLength` digits of its hash, revoked records included. */
    readonly findByHashPrefix: (prefix: string) => Effect.Effect<Option.Option<KeyRecord>, StoreUnavailable>
    /** MUST list the principal's keys only, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<KeyRecord>, StoreUnavailable, Principal>
    /** MUST set `revokedAt` once; false when the principal has no such key. */
    readonly revoke: (id: KeyId, at: Date) => Effect.Effect<boolean, StoreUnavailable, Principal>
  }
>()("@colloquy/core/access/KeyStore") {}

/** The key is not known, was revoked, or has expired. */
export class InvalidKey extends Schema.TaggedError<InvalidKey>()("InvalidKey", {}) {
  override get message() {
    return "Invalid or missing API key"
  }
}

/** The owner has no key with this id. */
export class KeyNotFound extends Schema.TaggedError<KeyNotFound>()("KeyNotFound", { keyId: KeyId }) {
  override get message() {
    return `There is no API key ${this.keyId}.`
  }
}

/** A key as its owner sees it in a list. */
export type KeySummary = Omit<KeyRecord, "hash">

/** What a new key allows, and how long. Default: everything, for ever. */
export type KeyGrant = Partial<Pick<KeyRecord, "scope" | "expiresAt">>

export class Keys extends Context.Service<
  Keys,
  {
    /** Makes a key. The secret is returned once and stored nowhere. */
    readonly make: (
      name: string,
      grant?: KeyGrant
    ) => Effect.Effect<
      { readonly key: Redacted.Redacted<string>; readonly summary: KeySummary },
      StoreUnavailable,
      Principal
    >
    /** Registers a key that the host chose, for instance from its configuration. */
    readonly register: (
      name: string,
      key: Redacted.Redacted<string>,
      grant?: KeyGrant
    ) => Effect.Effect<KeySummary, StoreUnavailable, Principal>
    readonly list: Effect.Effect<ReadonlyArray<KeySummary>, StoreUnavailable, Principal>
    readonly revoke: (id: KeyId) => Effect.Effect<void, KeyNotFound | StoreUnavailable, Principal>
    /** Returns the principal of a key. */
    readonly authenticate: (
      key: Redacted.Redacted<string>
    ) => Effect.Effect<typeof Principal.Service, InvalidKey | StoreUnavailable>
  }
>()("@colloquy/core/access/Keys") {
  static readonly layer: Layer.Layer<Keys, never, KeyStore> = Layer.effect(
    Keys,
    Effect.gen(function* () {
      const store = yield* KeyStore
      const audit = yield* AuditLog.make

      const insert = Effect.fnUntraced(function* (
        id: KeyId,
        name: string,
        key: Redacted.Redacted<string>,
        { expiresAt = null, scope = "admin" }: KeyGrant = {}
      ) {
        const { ownerId } = yield* Principal
        const createdAt = new Date(yield* Clock.currentTimeMillis)
        const hash = yield* sha256(Redacted.value(key))
        const record: KeyRecord = { id, ownerId, name, hash, scope, createdAt, expiresAt, revokedAt: null }
        yield* audit.record("key_made", id)
        yield* store.insert(record)
        return summarize(record)
      })

      return Keys.of({
        make: tracedFn("Keys.make")(function* (name: string, grant?: KeyGrant) {
          const id = yield* newId(KeyId)
          const key = Redacted.make(`cq_${id.replaceAll("-", "")}_${randomSecret()}`)
          return { key, summary: yield* insert(id, name, key, grant) }
        }),
        register: tracedFn("Keys.register")(function* (name: string, key: Redacted.Redacted<string>, grant?: KeyGrant) {
          return yield* insert(yield* newId(KeyId), name, key, grant)
        }),
        list: Effect.map(store.list, (records) => records.map(summarize)),
        revoke: tracedFn("Keys.revoke")(function* (id: KeyId) {
          const own = yield* store.list
          if (!own.some((key) => key.id === id)) return yield* new KeyNotFound({ keyId: id })
          yield* audit.record("key_revoked", id)
          yield* store.revoke(id, new Date(yield* Clock.currentTimeMillis))
        }),
        authenticate: tracedFn("Keys.authenticate")(function* (key: Redacted.Redacted<string>) {
          const hash = yield* sha256(Redacted.value(key))
          const found = yield* store.findByHashPrefix(hash.slice(0, lookupLength))
          if (Option.isNone(found) || !sameText(found.value.hash, hash)) return yield* new InvalidKey()
          const { expiresAt, id, name, ownerId, revokedAt, scope } = found.value
          const isExpired = expiresAt !== null && expiresAt.getTime() <= (yield* Clock.currentTimeMillis)
          if (revokedAt !== null || isExpired) return yield* new InvalidKey()
          return { ownerId, keyId: id, keyName: name, scope }
        })
      })
    })
  )
}

const summarize = ({ hash: _, ...summary }: KeyRecord): KeySummary => summary

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

const randomSecret = (): string => hex(globalThis.crypto.getRandomValues(new Uint8Array(24)))

const sha256 = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (digest) => hex(new Uint8Array(digest))
  )

/** Compares in constant time: it reads every character. Both texts are hashes of the same length. */
const sameText = (a: string, b: string): boolean => {
  let difference = a.length ^ b.length
  for (let index = 0; index < a.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index % b.length)
  return difference === 0
}
