/** A process with stores of its own, for a `Worker`. */
import { Principal, RunId, type ThreadId } from "@colloquy/core"
import { FollowUpStore, newId, RunStore, type Lease, type RunSignal } from "@colloquy/core/adapters"
import { SessionStore } from "@colloquy/core/wings"
import {
  anHour,
  openThread,
  runChanges,
  appendTo,
  expectTag,
  sampleBegin,
  sampleEvent,
  sampleFollowUp,
  sampleSettlement
} from "@colloquy/testing/contracts"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Stream from "effect/Stream"
import { databaseFromArguments, databaseStores, type Everything, type Orders, serve } from "./Serve.ts"

const runtime = ManagedRuntime.make(databaseStores(databaseFromArguments(process.argv)))

interface Order {
  readonly owner: string
  readonly kind: string
  readonly threadId: ThreadId
  readonly times: number
  readonly lease: Lease
}

const orders: Orders<Order, Everything> = {
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

  /** Claims a new follow-up of the kind `kind` for an hour; answers how many it got. */
  claim: ({ kind, owner }) =>
    Effect.gen(function* () {
      const followUps = yield* FollowUpStore
      yield* followUps.add([yield* sampleFollowUp(kind, { key: kind })])
      return (yield* followUps.claim([kind], 1, anHour)).length
    }).pipe(Principal.provide(owner)),

  /** Holds a new thread for a voice session of an hour; answers the thread. */
  session: ({ owner }) =>
    Effect.gen(function* () {
      const { id } = yield* openThread
      const wish = { at: new Date(), lease: anHour, messages: 1 }
      expectTag(yield* (yield* SessionStore).open(id, yield* newId(RunId), wish), "Opened")
      return id
    }).pipe(Principal.provide(owner)),

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
