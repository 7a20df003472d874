/** The contract of `AuditStore`, as a separate suite: a store of a host need not keep an audit log. */
import { KeyId, Principal } from "@colloquy/core"
import { AssistantStore, type AuditEntry, AuditEntryId, AuditStore, newId } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { storeSuite } from "./ContractTest.ts"
import { asNewOwner, moment, sampleAssistant } from "./Samples.ts"

/** The layer is built once; every test has its own owner. */
export const auditStoreSuite = (name: string, stores: Layer.Layer<AssistantStore, unknown>): void =>
  storeSuite(name, stores, (test) => {
    test("MUST keep an entry equal in every field", function* () {
      const store = yield* AuditStore
      const mine = yield* append({ subject: "Ключ 🔑 \0 \ud800", fields: ["name", "tools", ""], at: moment(7) })
      assert.deepStrictEqual(yield* store.list({ limit: 10 }), [mine])
      const host = yield* append({ keyId: null })
      assert.deepStrictEqual(yield* store.list({ limit: 1 }), [host])
    })

    test("MUST keep an entry after what it names was deleted", function* () {
      const assistants = yield* AssistantStore
      const assistant = yield* sampleAssistant()
      yield* assistants.insert(assistant)
      const entry = yield* append({ action: "assistant_deleted", subject: assistant.id })
      yield* assistants.remove(assistant.id)
      assert.deepStrictEqual(yield* (yield* AuditStore).list({ limit: 10 }), [entry])
    })

    test("MUST list the last appended first, at most `limit`, whatever their times say", function* () {
      const store = yield* AuditStore
      const first = yield* append({ at: moment(3) })
      const second = yield* append({ at: moment(1) })
      const third = yield* append({ at: moment(2) })
      assert.deepStrictEqual(yield* store.list({ limit: 10 }), [third, second, first])
      assert.deepStrictEqual(yield* store.list({ limit: 2 }), [third, second])
    })

    test("MUST list what was appended before an entry", function* () {
      const store = yield* AuditStore
      const first = yield* append()
      const second = yield* append()
      const third = yield* append()
      assert.deepStrictEqual(yield* store.list({ limit: 10, before: third.id }), [second, first])
      assert.deepStrictEqual(yield* store.list({ limit: 1, before: third.id }), [second])
      assert.deepStrictEqual(yield* store.list({ limit: 10, before: first.id }), [])
    })

    test("MUST list nothing before an entry that the principal does not have", function* () {
      const store = yield* AuditStore
      yield* append()
      const theirs = yield* asNewOwner(append())
      for (const before of [theirs.id, yield* newId(AuditEntryId), AuditEntryId.make("no id")]) {
        assert.deepStrictEqual(yield* store.list({ limit: 10, before }), [])
      }
    })

    test("MUST NOT list another owner's entries", function* () {
      yield* asNewOwner(append())
      assert.deepStrictEqual(yield* (yield* AuditStore).list({ limit: 10 }), [])
    })
  })

const append = Effect.fnUntraced(function* (fields: Partial<AuditEntry> = {}) {
  const { ownerId } = yield* Principal
  const entry: AuditEntry = {
    id: yield* newId(AuditEntryId),
    ownerId,
    at: moment(0),
    action: "key_made",
    subject: "something",
    fields: [],
    keyId: yield* newId(KeyId),
    ...fields
  }
  yield* (yield* AuditStore).append(entry)
  return entry
})
