/** Ports as plain async code: those of a host that keeps everything in maps fulfil the contracts of the kernel, and a kernel asks them. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { auditStoreSuite, blobStoreSuite, meteringSuite, rateLimiterSuite } from "@colloquy/testing/contracts"
import { Principal } from "@colloquy/core"
import type { UsageReport } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import { InsufficientCredit, type PlainAudit, type PlainBlobs, type PlainCredit, portsLayer } from "colloquy"
import { documents } from "colloquy/documents"
import { say, TestKernel } from "colloquy/testing"
import { BlobId } from "@colloquy/core/adapters"
import { BlobStore } from "@colloquy/core/wings"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"

const places = new Map<string, number>()
const rateLimiter = {
  take: (key: string, { limit, windowMillis }: { readonly limit: number; readonly windowMillis: number }) => {
    const now = Date.now()
    const next = Math.max(places.get(key) ?? now, now) + windowMillis / limit
    if (next - windowMillis > now) return Math.ceil(next - windowMillis - now)
    places.set(key, next)
    return null
  }
}

const auditIn = (kept: Array<Parameters<PlainAudit["append"]>[0]>): PlainAudit => ({
  append: (entry) => void kept.unshift(entry),
  list: async ({ before, limit }, { owner }) => {
    const own = kept.filter(({ ownerId }) => ownerId === owner)
    const from = before === undefined ? 0 : own.findIndex(({ id }) => id === before) + 1
    return before !== undefined && from === 0 ? [] : own.slice(from, from + limit)
  }
})

interface Blob {
  readonly owner: string
  readonly bytes: Uint8Array
  readonly at: number
}

const blobsIn = (kept: Map<string, Blob>): PlainBlobs => {
  const own = (id: string, owner: string) => {
    const blob = kept.get(id)
    return blob?.owner === owner ? blob : null
  }
  return {
    put: async (id, pieces, { owner }) => {
      const whole: Array<Uint8Array> = []
      for await (const piece of pieces) whole.push(piece.slice())
      const bytes = Buffer.concat(whole)
      if (kept.has(id)) throw new Error(`There is a blob ${id} already.`)
      kept.set(id, { owner, bytes, at: Date.now() })
      return { size: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }
    },
    head: (id, { owner }) => {
      const blob = own(id, owner)
      return blob && { size: blob.bytes.length }
    },
    get: (id, range, { owner }) => {
      const blob = own(id, owner)
      const { length, offset } = range ?? { offset: 0, length: blob?.bytes.length ?? 0 }
      return blob && [blob.bytes.slice(offset, offset + length)]
    },
    remove: (id, { owner }) => own(id, owner) !== null && kept.delete(id),
    sweep: async (before, unneeded) => {
      const old = [...kept].filter(([, { at }]) => at < before.getTime()).map(([id]) => id)
      return (await unneeded(old)).filter((id) => kept.delete(id)).length
    }
  }
}

const accounts = new Map<string, { credit: number; readonly booked: Map<string, number> }>()
const accountFor = (owner: string) => {
  const account = accounts.get(owner) ?? { credit: 10, booked: new Map<string, number>() }
  accounts.set(owner, account)
  return account
}
const bookedBy = (owner: string) => [...accountFor(owner).booked.values()].reduce((sum, each) => sum + each, 0)
const price = ({ charges }: Pick<UsageReport, "charges">) =>
  charges.reduce((sum, { usage }) => sum + (usage.costUsd ?? 0), 0)
const booking: PlainCredit = {
  ensure: async (_, { owner }) => bookedBy(owner) < accountFor(owner).credit || { refuse: "Top up your account." },
  record: async (report, { owner }) =>
    void accountFor(owner).booked.set(`${report.runId}/${report.leg}`, price(report)),
  recordCharges: async (report, { owner }) => void accountFor(owner).booked.set(report.id, price(report)),
  balance: ({ owner }) => accountFor(owner).credit - bookedBy(owner)
}

rateLimiterSuite("plain code", portsLayer({ rateLimiter }))
meteringSuite("plain code", portsLayer({ credit: booking }), {
  price,
  counted: Effect.map(Principal, ({ ownerId }) => bookedBy(ownerId)),
  exhaust: Effect.map(Principal, ({ ownerId }) => void (accountFor(ownerId).credit = bookedBy(ownerId)))
})
auditStoreSuite("plain code: AuditStore", Layer.merge(InMemory.layer, portsLayer({ audit: auditIn([]) })))
blobStoreSuite("plain code: BlobStore", Layer.merge(InMemory.layer, portsLayer({ blobs: blobsIn(new Map()) })))

describe("a kernel over plain ports", () => {
  it("asks them for credit, tells them what was used and done, and keeps bytes with them", async () => {
    const audited: Array<Parameters<PlainAudit["append"]>[0]> = []
    const blobs = new Map<string, Blob>()
    const used: Array<string> = []
    const credit: PlainCredit = {
      ensure: (_, { owner }) => owner === "ada" || { refuse: "Top up your account.", waitMillis: 1000 },
      record: ({ usage }, { owner }) => void used.push(`${owner} ${usage.outputTokens > 0}`),
      balance: async ({ owner }) => (owner === "ada" ? 12.5 : null)
    }
    const ports = { audit: auditIn(audited), blobs: blobsIn(blobs), credit }
    await using colloquy = await TestKernel.open([say("Hello.")], { ports, owner: "ada", rooms: [documents()] })
    assert.strictEqual((await colloquy.send({ content: "Hi" })).content, "Hello.")
    assert.deepStrictEqual(used, ["ada true"])
    assert.strictEqual(await colloquy.billing.balance(), 12.5)
    const refused = await colloquy.send({ content: "Hi" }, { owner: "bob" }).catch((error: unknown) => error)
    assert.instanceOf(refused, InsufficientCredit)
    assert.deepInclude(refused, { reason: "Top up your account.", waitMillis: 1000 })
    await colloquy.keys.make("laptop")
    assert.deepStrictEqual(
      audited.map(({ action, ownerId }) => `${ownerId} ${action}`),
      ["ada key_made"]
    )
    assert.strictEqual((await colloquy.audit.list()).length, 1)
    const { id } = await colloquy.assistants.create({ name: "Tea" })
    const file = new File(["Tea is a drink."], "tea.txt", { type: "text/plain" })
    const document = await colloquy.documents.upload({ assistantId: id, file })
    assert.strictEqual(blobs.size, 1)
    await colloquy.documents.remove(document.id)
  })

  it("asks objects of a class as they are", async () => {
    class Account implements PlainCredit {
      private asked = 0
      readonly used: Array<string> = []
      ensure() {
        this.asked += 1
        return true
      }
      record({ runId }: { readonly runId: string }) {
        this.used.push(runId)
      }
      recordCharges({ id }: { readonly id: string }) {
        this.used.push(id)
      }
      balance() {
        return 100 - this.asked
      }
    }
    class Log implements PlainAudit {
      private readonly kept: Array<Parameters<PlainAudit["append"]>[0]> = []
      append(entry: Parameters<PlainAudit["append"]>[0]) {
        this.kept.push(entry)
      }
      list() {
        return this.kept
      }
    }
    class Counter {
      private readonly taken = new Set<string>()
      take(key: string) {
        this.taken.add(key)
        return null
      }
    }
    const credit = new Account()
    const ports = { audit: new Log(), credit, rateLimiter: new Counter() }
    await using colloquy = await TestKernel.open([say("Hello.")], { ports })
    const { runId } = await colloquy.send({ content: "Hi" }, { throw: true })
    assert.deepStrictEqual(credit.used, [runId])
    assert.isBelow((await colloquy.billing.balance()) ?? 100, 100)
    await colloquy.keys.make("laptop")
    assert.lengthOf(await colloquy.audit.list(), 1)
    const { handler } = await colloquy.handler({ clientAddress: () => "192.0.2.1" })
    const wrong = new Request("http://in.process/threads", { headers: { "x-api-key": "wrong" } })
    assert.strictEqual((await handler(wrong)).status, 401)
  })
})

describe("a port of bytes that is given up", () => {
  const bytes = Stream.make(new Uint8Array(3))
  const put = (plain: PlainBlobs, pieces: Stream.Stream<Uint8Array> = bytes) =>
    Effect.flatMap(BlobStore, (store) => store.put(BlobId.make("0191d6ff-0000-7000-8000-000000000001"), pieces)).pipe(
      Principal.provide("ada"),
      Effect.provide(portsLayer({ blobs: plain }))
    )

  it.effect("counts as a store that cannot be reached, also when it throws at once", () =>
    Effect.gen(function* () {
      const plain: PlainBlobs = {
        ...blobsIn(new Map()),
        put: () => {
          throw new Error("no client")
        }
      }
      assert.deepInclude(yield* Effect.flip(put(plain)), { _tag: "StoreUnavailable" })
    })
  )

  it.effect("reads nothing more when it begins to read after that", () =>
    Effect.gen(function* () {
      const kept = new Map<string, Blob>()
      const slow = blobsIn(kept)
      const isConnecting = yield* Deferred.make<void>()
      const plain: PlainBlobs = {
        ...slow,
        put: async (id, pieces, context) => {
          const aborted = new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve()))
          queueMicrotask(() => Deferred.doneUnsafe(isConnecting, Effect.void))
          await aborted
          return slow.put(id, pieces, context)
        }
      }
      // A body that never ends, as that of a client which is gone.
      const fiber = yield* Effect.forkChild(put(plain, Stream.concat(bytes, Stream.never)))
      yield* Deferred.await(isConnecting)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(kept.size, 0)
    })
  )
})
