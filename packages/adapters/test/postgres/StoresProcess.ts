/** A process with stores of its own, for a `Worker`. */
import { Principal, type ThreadId } from "@colloquy/core"
import { RunStore, type Lease, type RunSignal } from "@colloquy/core/adapters"
import {
  runChanges,
  appendTo,
  expectTag,
  sampleBegin,
  sampleEvent,
  sampleSettlement
} from "@colloquy/testing/contracts"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Stream from "effect/Stream"
import { databaseOf, type Orders, serve, storesOf } from "./Serve.ts"

const runtime = ManagedRuntime.make(storesOf(databaseOf(process.argv)))

interface Order {
  readonly owner: string
  readonly threadId: ThreadId
  readonly times: number
  readonly lease: Lease
}

const orders: Orders<Order, RunStore> = {
  open: () => Effect.succeed("open"),

  /** Starts a run whose lease has expired when it is given. */
  begin: ({ owner, threadId }) =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const begin = yield* sampleBegin(threadId, { lease: Duration.zero })
      return { ...expectTag(yield* runs.begin(begin), "Started").lease, answerId: begin.run.answerId }
    }).pipe(Principal.provide(owner)),

  append: ({ lease }) => appendTo(lease, [sampleEvent(2)]),

  settle: ({ lease }) =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const settlement = yield* sampleSettlement({
        ...lease,
        answerId: (yield* sampleBegin(lease.threadId)).run.answerId,
        leg: 0
      })
      return yield* runs.settle(lease, settlement)
    }).pipe(Principal.provide(lease.ownerId)),

  /** Tries so many turns on a thread; answers how many there were: the others found it busy. */
  race: ({ owner, threadId, times }) =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const turn = Effect.gen(function* () {
        const begin = yield* sampleBegin(threadId, { mode: "reject" })
        const begun = yield* runs.begin(begin)
        if (begun._tag !== "Started") return 0
        const leg = { runId: begin.run.id, threadId, answerId: begin.run.answerId, leg: 0 }
        return Number(yield* runs.settle(begun.lease, yield* sampleSettlement(leg)))
      })
      const done = yield* Effect.forEach(Array.from({ length: times }), () => turn)
      return done.reduce((sum, each) => sum + each, 0)
    }).pipe(Principal.provide(owner)),

  /** From now on; `heard` waits until somebody wishes to cancel a run of the thread. */
  listen: ({ threadId }) =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const isWish = (signal: RunSignal) => signal.cancel && signal.threadId === threadId
      ear = yield* Effect.forkDetach(Stream.runHead(Stream.filter(runChanges(runs), isWish)), {
        startImmediately: true
      })
      return "listening"
    }),

  heard: () => (ear === undefined ? Effect.die("Nobody listens.") : Effect.as(Fiber.join(ear), "cancelled"))
}

let ear: Fiber.Fiber<unknown> | undefined

await serve(runtime, orders)
