/**
 * The contracts of all stores on the in-memory ones. They are called through copies that note what was called, so that an operation of a
 * store that no contract calls is found: such an operation has no test that a store of a host would have to pass.
 */
import {
  auditStoreSuite,
  blobStoreSuite,
  type Capabilities,
  chunkIndexSuite,
  documentStoreSuite,
  followUpStoreSuite,
  memoryStoreSuite,
  outcomeStoreSuite,
  realtimeSuite,
  retentionStoreSuite,
  evalStoreSuite,
  scheduleStoreSuite,
  sealedSecretStoreSuite,
  storageSuite,
  webhookStoreSuite
} from "@colloquy/testing/contracts"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { InMemory } from "../../src/in-memory/index.ts"

const operations = new Set<string>()
const called = new Set<string>()

/** A copy whose operations are noted when they are called, or run. Flags, such as `keepsVectors`, are no operations. */
const noting = (port: string, store: object): object =>
  Object.fromEntries(
    Object.entries(store).map(([member, value]) => {
      if (typeof value === "boolean") return [member, value]
      const name = `${port}.${member}`
      operations.add(name)
      const operation = noted(value, () => called.add(name))
      return [member, unordered.has(name) ? turned(operation) : operation]
    })
  )

const noted = (operation: unknown, note: () => void): unknown => {
  if (typeof operation === "function") {
    return (...args: ReadonlyArray<unknown>): unknown => {
      note()
      return operation(...args)
    }
  }
  if (Effect.isEffect(operation)) return Effect.andThen(Effect.sync(note), operation)
  if (Stream.isStream(operation)) return Stream.onStart(operation, Effect.sync(note))
  throw new Error("An operation of a store is a function, an effect or a stream")
}

/** Of these the ports promise no order: the copies give it the other way around. */
const unordered = new Set(
  [
    "answers/OutcomeStore.find",
    "documents/DocumentStore.removeAll",
    "memory/MemoryStore.existing",
    "owners/OwnerStore.unattended",
    "realtime/SessionStore.renew",
    "runs/FollowUpStore.renew",
    "runs/RunStore.expired"
  ].map((name) => `@colloquy/core/${name}`)
)

const turned =
  (operation: unknown) =>
  (...args: ReadonlyArray<unknown>): unknown => {
    const result: unknown = typeof operation === "function" ? operation(...args) : operation
    if (!Effect.isEffect(result)) return result
    return Effect.map(result, (value) => (Array.isArray(value) ? value.toReversed() : value))
  }

const stores = Layer.effectContext(
  Effect.map(Layer.build(InMemory.layer), (built) =>
    Context.makeUnsafe<InMemory.Stores>(
      new Map(
        Array.from(built.mapUnsafe, ([key, service]) => [
          key,
          key.startsWith("@colloquy/") ? noting(key, service) : service
        ])
      )
    )
  )
)

const virtual: Capabilities = { testClock: true, signals: false }

storageSuite("in memory, virtual time", stores, { testClock: true, signals: true })
storageSuite("in memory, real time", stores, { testClock: false, signals: true })
followUpStoreSuite("in memory", stores, virtual)
realtimeSuite("in memory", stores, virtual)
auditStoreSuite("in memory: AuditStore", stores)
blobStoreSuite("in memory: BlobStore", stores)
chunkIndexSuite("in memory", stores, { keepsVectors: true })
documentStoreSuite("in memory: DocumentStore", stores)
memoryStoreSuite("in memory: MemoryStore", stores, { keepsVectors: true })
outcomeStoreSuite("in memory: OutcomeStore", stores)
evalStoreSuite("in memory: EvalStore", stores)
scheduleStoreSuite("in memory: ScheduleStore", stores)
sealedSecretStoreSuite("in memory: SealedSecretStore", stores)
webhookStoreSuite("in memory: WebhookStore", stores)
retentionStoreSuite("in memory: RetentionStore", stores, virtual)

it("no operation of a store is without a contract", () => {
  assert.isAbove(operations.size, 100)
  assert.deepStrictEqual(
    [...unordered].filter((name) => !operations.has(name)),
    []
  )
  assert.deepStrictEqual(
    [...operations].filter((name) => !called.has(name)),
    [],
    "Add a case to the contract suite of the store."
  )
})
