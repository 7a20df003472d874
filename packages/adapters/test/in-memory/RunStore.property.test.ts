/**
 * Random interleavings of several callers, with time passing between their steps and leases kept too long, must leave every
 * conversation whole. The steps are taken one after the other: in memory every operation is one step anyway.
 */
import type { Run, RunId, ThreadId } from "@colloquy/core"
import type { Lease, RunStatus } from "@colloquy/core/adapters"
import { isEnded, RunStore, ThreadStore } from "@colloquy/core/adapters"
import {
  appendTo,
  asNewOwner,
  type Leg,
  toLeg,
  openThread,
  sampleBegin,
  sampleContinue,
  sampleEvent,
  sampleSettlement,
  storedRun
} from "@colloquy/testing/contracts"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { InMemory } from "../../src/in-memory/index.ts"

const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))

/** What callers do often stands here twice. */
const kinds = [
  "begin",
  "begin",
  "activate",
  "activate",
  "append",
  "settle",
  "settle",
  "continue",
  "continue",
  "cancel",
  "takeOver",
  "withdraw",
  "renew",
  "wait"
] as const

const Action = Schema.Struct({
  kind: Schema.Literals(kinds),
  /** Which of the threads, leases, modes and statuses: as many as there are, round and round. */
  which: Small,
  how: Small
})
type Action = typeof Action.Type

const minute = Duration.minutes(1)

/** A lease, with the leg that it was given for. */
interface Held {
  readonly lease: Lease
  readonly leg: Leg
}

/** What the callers together know of the store. */
interface World {
  readonly threads: ReadonlyArray<ThreadId>
  /** Every lease that was ever given. */
  readonly leases: Array<Held>
  readonly newestToken: Map<RunId, number>
  readonly ends: Map<RunId, RunStatus>
  readonly runs: Set<RunId>
}

/** Old leases and runs matter while something may still be done with them. */
const recent = <A>(list: Iterable<A>): ReadonlyArray<A> => [...list].slice(-8)

const pick = <A>(list: ReadonlyArray<A>, index: number): A => {
  const found = list[index % list.length]
  if (found === undefined) throw new Error("There is nothing to pick from.")
  return found
}

const remember = (world: World, lease: Lease, leg: Leg): void => {
  const before = world.newestToken.get(lease.runId) ?? 0
  assert.isAtLeast(lease.token, before)
  world.runs.add(lease.runId)
  world.newestToken.set(lease.runId, lease.token)
  world.leases.push({ lease, leg })
}

const legOfRun = ({ answerId, id, leg, threadId }: Run): Leg => ({ runId: id, threadId, answerId, leg })

const begin = Effect.fnUntraced(function* (world: World, { how, which }: Action) {
  const mode = pick(["enqueue", "enqueue", "enqueue", "reject"] as const, how)
  const saves = how % 5 === 4
  const request = yield* sampleBegin(pick(world.threads, which), { mode, saves, maxQueued: 3, lease: minute })
  const outcome = yield* (yield* RunStore).begin(request)
  if (outcome._tag === "Started" || outcome._tag === "Queued") remember(world, outcome.lease, toLeg(request))
  if (outcome._tag === "Saved") world.runs.add(request.run.id)
})

const takeOver = Effect.fnUntraced(function* (world: World, { how, which }: Action) {
  const onlyExpired = how % 3 !== 0
  const runId = pick(recent(world.runs), which)
  const taken = yield* (yield* RunStore).takeOver(runId, minute, { onlyExpired })
  if (Option.isSome(taken)) remember(world, taken.value.lease, legOfRun(taken.value.run))
})

const continueRun = Effect.fnUntraced(function* (world: World, { how, which }: Action) {
  const run = yield* storedRun(pick(recent(world.runs), which))
  const leg = legOfRun(run)
  const next = yield* sampleContinue(leg, { lease: minute, events: [sampleEvent(run.lastSequence + 1 + how)] })
  const outcome = yield* (yield* RunStore).continue(next)
  assert.strictEqual(outcome._tag, run.status === "REQUIRES_ACTION" ? "Started" : "NotOpen")
  if (outcome._tag === "Started") {
    remember(world, outcome.lease, { ...leg, answerId: next.answerId, leg: leg.leg + 1 })
  }
})

/** What a holder does under his lease; each answers whether the lease was good. */
const writes = {
  activate: Effect.fnUntraced(function* ({ lease }: Held) {
    const outcome = yield* (yield* RunStore).activate(lease, minute, 1000)
    return outcome._tag === "Started"
  }),
  append: Effect.fnUntraced(function* ({ lease }: Held, how: number) {
    const { lastSequence } = yield* storedRun(lease.runId)
    const from = Math.max(1, lastSequence + (how % 5) - 2)
    return yield* appendTo(lease, [sampleEvent(from), sampleEvent(from + 1 + (how % 3))])
  }),
  settle: Effect.fnUntraced(function* ({ lease, leg }: Held, how: number) {
    const { lastSequence } = yield* storedRun(lease.runId)
    const status = pick(["COMPLETED", "FAILED", "CANCELLED", "REQUIRES_ACTION"] as const, how)
    const settlement = yield* sampleSettlement(leg, { status, events: [sampleEvent(lastSequence + 1 + (how % 2))] })
    return yield* (yield* RunStore).settle(lease, settlement)
  }),
  withdraw: Effect.fnUntraced(function* ({ lease }: Held) {
    return yield* (yield* RunStore).withdraw(lease)
  }),
  renew: Effect.fnUntraced(function* ({ lease }: Held) {
    return (yield* (yield* RunStore).renew([lease], minute)).lost.length === 0
  })
}

/** An older token, or a refusal, changes nothing. */
const write = Effect.fnUntraced(function* (world: World, kind: keyof typeof writes, { how, which }: Action) {
  const held = pick(recent(world.leases), which)
  if (!world.runs.has(held.lease.runId)) return
  const before = yield* picture(world)
  const done = yield* writes[kind](held, how)
  if (done && kind === "activate") {
    const runs = before.states.map(([run]) => run)
    const isRepeated = runs.some(({ id, status }) => id === held.lease.runId && status === "IN_PROGRESS")
    if (isRepeated) assert.deepStrictEqual(yield* picture(world), before)
    else checkOrder(runs, held.leg)
  }
  if (done && kind === "withdraw") return void world.runs.delete(held.lease.runId)
  if (held.lease.token !== world.newestToken.get(held.lease.runId)) assert.isFalse(done, `${kind} under an older token`)
  if (!done) assert.deepStrictEqual(yield* picture(world), before)
})

/** A run may start when no other is in progress, and none that came before it waits. Runs come in their order of arrival. */
const checkOrder = (before: ReadonlyArray<Run>, { runId, threadId }: Leg): void => {
  const inThread = before.filter((run) => run.threadId === threadId)
  assert.isFalse(inThread.some(({ status }) => status === "IN_PROGRESS"))
  assert.strictEqual(inThread.find(({ status }) => status === "QUEUED")?.id, runId)
}

const act = Effect.fnUntraced(function* (world: World, action: Action) {
  const { kind } = action
  if (kind === "wait") return yield* TestClock.adjust(Duration.seconds(action.how))
  if (kind === "begin") return yield* begin(world, action)
  if (world.runs.size === 0) return
  if (kind === "takeOver") return yield* takeOver(world, action)
  if (kind === "continue") return yield* continueRun(world, action)
  if (kind === "cancel") {
    return yield* (yield* RunStore).requestCancel(pick(recent(world.runs), action.which), new Date(0))
  }
  if (world.leases.length > 0) yield* write(world, kind, action)
})

const picture = Effect.fnUntraced(function* ({ runs, threads }: World) {
  const store = yield* RunStore
  const messages = yield* (yield* ThreadStore).messages(threads)
  const states = yield* Effect.forEach([...runs], (id) => Effect.all([storedRun(id), store.read(id, 0)]))
  return { messages, states }
})

const checkThread = Effect.fnUntraced(function* (threadId: ThreadId, runs: ReadonlyArray<Run>) {
  const [messages, waiting] = [
    yield* (yield* ThreadStore).messages([threadId]),
    yield* (yield* RunStore).waitingOn(threadId)
  ]
  const having = (status: RunStatus) => runs.filter((run) => run.threadId === threadId && run.status === status)
  const active = having("IN_PROGRESS")
  assert.isAtMost(active.length, 1)
  assert.isAtMost(active.length + having("REQUIRES_ACTION").length, 1)
  assert.strictEqual(Option.getOrUndefined(waiting)?.id, having("REQUIRES_ACTION")[0]?.id)
  assert.deepStrictEqual(
    messages.map(({ sequence }) => sequence),
    messages.map((_, index) => index + 1)
  )
  assert.strictEqual(new Set(messages.map(({ id }) => id)).size, messages.length)
  const unfinished = messages.filter(({ status }) => status === "IN_PROGRESS")
  assert.deepStrictEqual(
    unfinished.map(({ id }) => id),
    active.map(({ answerId }) => answerId)
  )
})

const checkRun = Effect.fnUntraced(function* (world: World, run: Run) {
  const store = yield* RunStore
  const sequences = (yield* store.read(run.id, 0)).map(({ sequence }) => sequence)
  assert.deepStrictEqual(
    sequences,
    [...new Set(sequences)].sort((a, b) => a - b)
  )
  assert.strictEqual(sequences.at(-1) ?? 0, run.lastSequence)
  const own = yield* store.messages(run.id)
  assert.strictEqual(own.length > 0, run.status !== "QUEUED")
  assert.strictEqual(own.filter(({ role }) => role === "user").length, own.length > 0 ? 1 : 0)
  assert.strictEqual(own[0]?.id, run.status === "QUEUED" ? undefined : run.userMessageId)
  const end = world.ends.get(run.id)
  if (end !== undefined) assert.strictEqual(run.status, end)
  if (isEnded(run.status)) world.ends.set(run.id, run.status)
  assert.strictEqual(isEnded(run.status), run.endedAt !== null)
})

const check = Effect.fnUntraced(function* (world: World) {
  const runs = yield* Effect.forEach(world.runs, storedRun)
  for (const run of runs) yield* checkRun(world, run)
  for (const threadId of world.threads) yield* checkThread(threadId, runs)
})

describe("RunStore in memory", () => {
  it.effect.prop(
    "MUST keep conversations whole under any interleaving of its callers",
    [Schema.Array(Action).check(Schema.isMinLength(1), Schema.isMaxLength(120))],
    ([actions]) =>
      Effect.gen(function* () {
        const threads = [(yield* openThread).id, (yield* openThread).id]
        const world: World = { threads, leases: [], newestToken: new Map(), ends: new Map(), runs: new Set() }
        for (const action of actions) {
          yield* act(world, action)
          yield* check(world)
        }
      }).pipe(asNewOwner, Effect.provide(InMemory.layer)),
    { timeout: 60_000, arbitrary: { runs: 200, size: 120 } }
  )
})
