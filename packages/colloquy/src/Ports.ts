/**
 * Ports that a host writes as plain async code: `Colloquy.open({ ports: { rateLimiter, audit, credit, blobs } })`. What they throw counts as
 * a store that cannot be reached. Their promises are those of the ports of the kernel; its contract suites take `portsLayer`.
 */
import { InsufficientCredit, Metering, Principal, RateLimiter, StoreUnavailable } from "@colloquy/core"
import {
  type AuditEntry,
  type AuditPage,
  AuditStore,
  BlobId,
  type ChargeReport,
  type CreditNeed,
  type UsageReport
} from "@colloquy/core/adapters"
import { readId } from "@colloquy/core/promises"
import type * as Wings from "@colloquy/core/wings"
import type * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { PortServices } from "./Store.ts"

/** For whom a port is called, and when the call is given up. */
export interface PortContext {
  readonly owner: string
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

/** A promise, or the value itself. */
type Soon<Value> = Value | Promise<Value>

/** Counts requests, for example for several processes together. */
export interface PlainRateLimiter {
  /**
   * Takes one place of `key` and returns null, or takes none and returns the milliseconds until one becomes free. Of callers at the same time
   * no more than `limit` may succeed.
   */
  readonly take: (key: string, rate: { readonly limit: number; readonly windowMillis: number }) => Soon<number | null>
}

/** Keeps the audit log elsewhere. */
export interface PlainAudit {
  /** Called before the act. If it throws, nothing is done. */
  readonly append: (entry: AuditEntry, context: PortContext) => Soon<void>
  /** The owner's entries, the last appended first. Absent: they are not shown (`colloquy.audit.list`). */
  readonly list?: (page: AuditPage, context: PortContext) => Soon<ReadonlyArray<AuditEntry>>
}

/** Asks an account of the host's own before each call of a model, and tells it afterwards what was used. */
export interface PlainCredit {
  /** Called before something is spent, and counts nothing. False, or `refuse` with a sentence for the user: it is not spent. */
  readonly ensure?: (
    need: CreditNeed,
    context: PortContext
  ) => Soon<boolean | { readonly refuse: string; readonly waitMillis?: number }>
  /**
   * What a leg of a run used. It may come twice, also at once, or before an earlier leg: count each `runId` and `leg` once, also without
   * credit, and do not throw on a repeat.
   */
  readonly record?: (report: UsageReport, context: PortContext) => Soon<void>
  /** What was spent outside of a turn. Count each `id` once. */
  readonly recordCharges?: (report: ChargeReport, context: PortContext) => Soon<void>
  /** US dollars; null: this owner has no balance. */
  readonly balance?: (context: PortContext) => Soon<number | null>
}

/** The bytes of documents, each blob under the owner of the context and its id. */
export interface PlainBlobs {
  /** Nothing may be readable before the last piece is stored. If `bytes` throws, nothing stays. */
  readonly put: (id: string, bytes: AsyncIterable<Uint8Array>, context: PortContext) => Promise<Wings.StoredBytes>
  /** Null: the owner has no such blob. */
  readonly head: (id: string, context: PortContext) => Soon<{ readonly size: number } | null>
  /** The bytes, or those of the range; what is after the end is left out. Null: the owner has no such blob. */
  readonly get: (
    id: string,
    range: Wings.ByteRange | null,
    context: PortContext
  ) => Soon<AsyncIterable<Uint8Array> | Iterable<Uint8Array> | null>
  /** False: there was nothing to remove. */
  readonly remove: (id: string, context: PortContext) => Soon<boolean>
  /** Asks for the blobs of all owners that were stored before a time, in groups, removes those that are returned, and counts them. */
  readonly sweep: (
    before: Date,
    unneeded: (ids: ReadonlyArray<string>) => Promise<ReadonlyArray<string>>
  ) => Promise<number>
}

/** Ports of the kernel as plain async code. */
export interface PlainPorts {
  /** Counts wrong keys. Absent: in this process. */
  readonly rateLimiter?: PlainRateLimiter
  /** Who did what that matters later. Absent: the store keeps it. */
  readonly audit?: PlainAudit
  /** Money: permission before, what was used after. Absent: everything is permitted. */
  readonly credit?: PlainCredit
  /** Absent: the store keeps the bytes. */
  readonly blobs?: PlainBlobs
}

const unavailable = (operation: string) => (cause: unknown) =>
  cause instanceof StoreUnavailable ? cause : new StoreUnavailable({ operation, cause })

const asked = <A>(operation: string, ask: (signal: AbortSignal) => Soon<A>) =>
  Effect.tryPromise({ try: async (signal) => ask(signal), catch: unavailable(operation) })

const owned = <A>(operation: string, ask: (context: PortContext) => Soon<A>) =>
  Effect.flatMap(Principal, ({ ownerId }) => asked(operation, (signal) => ask({ owner: ownerId, signal })))

// Each function is called as one of its port: a port may be an object of a class.

const rateLimiterPort = (plain: PlainRateLimiter): typeof RateLimiter.Service => ({
  take: (key, { limit, window }) =>
    asked("rateLimiter.take", () => plain.take(key, { limit, windowMillis: Duration.toMillis(window) }))
})

const auditPort = (plain: PlainAudit): typeof AuditStore.Service => ({
  append: (entry) => owned("audit.append", (context) => plain.append(entry, context)),
  list: (page) => owned("audit.list", (context) => plain.list?.(page, context) ?? [])
})

const creditPort = (plain: PlainCredit): typeof Metering.Service => ({
  ensureCredit: (need) =>
    Effect.flatMap(
      owned("credit.ensure", (context) => plain.ensure?.(need, context) ?? true),
      (answer) => {
        if (answer === true) return Effect.void
        if (answer === false) return Effect.fail(new InsufficientCredit({}))
        const { refuse: reason, waitMillis } = answer
        return Effect.fail(new InsufficientCredit({ reason, ...(waitMillis === undefined ? {} : { waitMillis }) }))
      }
    ),
  record: (report) => owned("credit.record", (context) => plain.record?.(report, context)),
  ...(plain.recordCharges === undefined
    ? {}
    : {
        recordCharges: (report: ChargeReport) =>
          owned("credit.recordCharges", (context) => plain.recordCharges?.(report, context))
      }),
  ...(plain.balance === undefined
    ? {}
    : { balance: owned("credit.balance", (context) => plain.balance?.(context) ?? null) })
})

const blobsPort = (plain: PlainBlobs, { BlobNotFound }: typeof Wings): typeof Wings.BlobStore.Service => ({
  put: <E, R>(id: BlobId, bytes: Stream.Stream<Uint8Array, E, R>) =>
    Effect.gen(function* (): Effect.fn.Return<Wings.StoredBytes, E | StoreUnavailable, R | Principal> {
      const { ownerId } = yield* Principal
      if ((yield* owned("blobs.head", (context) => plain.head(id, context))) !== null)
        return yield* Effect.die(new Error(`There is a blob ${id} already.`))
      const services = yield* Effect.context<R>()
      const stream: { failure: Cause.Cause<E> | null } = { failure: null }
      const noted = Stream.onError(bytes, (cause) => Effect.sync(() => void (stream.failure = cause)))
      const aborted = new AbortController()
      const pieces = untilAborted(Stream.toAsyncIterableWith(noted, services), aborted.signal)
      const stored = (async () => plain.put(id, pieces, { owner: ownerId, signal: aborted.signal }))()
      // The port is waited for in every case: what it still does afterwards would leave bytes behind.
      const leave = Effect.promise(() => {
        aborted.abort()
        return stored.catch(() => null)
      })
      const result = yield* Effect.exit(
        Effect.onInterrupt(Effect.tryPromise({ try: () => stored, catch: unavailable("blobs.put") }), () => leave)
      )
      if (stream.failure === null && result._tag === "Success") return result.value
      yield* Effect.ignore(owned("blobs.remove", (context) => plain.remove(id, context)))
      return yield* stream.failure === null ? result : Effect.failCause(stream.failure)
    }),
  head: (id) =>
    Effect.map(
      owned("blobs.head", (context) => plain.head(id, context)),
      Option.fromNullishOr
    ),
  get: (id, range) =>
    Stream.unwrap(
      Effect.flatMap(
        owned("blobs.get", (context) => plain.get(id, range ?? null, context)),
        (pieces) =>
          pieces === null
            ? Effect.fail(new BlobNotFound({ blobId: id }))
            : Effect.succeed(Stream.fromAsyncIterable(asynchronous(pieces), unavailable("blobs.get")))
      )
    ),
  remove: (id) => owned("blobs.remove", (context) => plain.remove(id, context)),
  sweep: <E, R>(before: Date, unneeded: (ids: ReadonlyArray<BlobId>) => Effect.Effect<ReadonlyArray<BlobId>, E, R>) =>
    Effect.gen(function* () {
      const services = yield* Effect.context<R>()
      const ask = (ids: ReadonlyArray<string>) =>
        Effect.runPromiseWith(services)(unneeded(ids.map((id) => readId(BlobId, id))))
      return yield* asked("blobs.sweep", () => plain.sweep(before, ask))
    })
})

async function* asynchronous(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces
}

/** The pieces, and an error instead of the next one, or of the end, when the signal is aborted. */
async function* untilAborted(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]()
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  try {
    // The port may begin to read after the abort.
    signal.throwIfAborted()
    while (true) {
      const next = await Promise.race([iterator.next(), aborted])
      if (next.done === true) return
      yield next.value
    }
  } finally {
    void iterator.return?.()
  }
}

/** For `Colloquy.open`, and for the contract suites of `@colloquy/testing/contracts`. */
export const portsLayer = ({ audit, blobs, credit, rateLimiter }: PlainPorts): Layer.Layer<PortServices> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a service is in the layer when its port was given
  Layer.mergeAll(
    rateLimiter === undefined ? Layer.empty : Layer.succeed(RateLimiter, rateLimiterPort(rateLimiter)),
    audit === undefined ? Layer.empty : Layer.succeed(AuditStore, auditPort(audit)),
    credit === undefined ? Layer.empty : Layer.succeed(Metering, creditPort(credit)),
    blobs === undefined
      ? Layer.empty
      : Layer.unwrap(
          Effect.map(
            // What wings show is loaded where it is asked for.
            Effect.promise(() => import("@colloquy/core/wings")),
            (wings) => Layer.succeed(wings.BlobStore, blobsPort(blobs, wings))
          )
        )
  ) as Layer.Layer<PortServices>
