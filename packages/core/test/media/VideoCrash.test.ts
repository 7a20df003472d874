/**
 * A process dies at every event of a video turn: at each of its writes, and the moment an order has reached the provider. At most one job is
 * ordered, no clip is lost that was stored, and no cost is charged twice; where jobs are gone on with, each one that was handed over ends as
 * one document and one charge.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { ScriptedVideo } from "@colloquy/testing"
import {
  Assistants,
  FollowUps,
  isTerminal,
  Principal,
  readSupplement,
  Threads,
  type TurnEvent,
  Turns
} from "@colloquy/core"
import { AssistantStore, firstPage, FollowUpStore, RunStore, ThreadStore, UsageLedger } from "@colloquy/core/adapters"
import { BlobStore, DocumentStore } from "@colloquy/core/documents"
import { mediaIn } from "@colloquy/core/media"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { quiet } from "../support/Story.ts"
import { callOnce, videoRoom, wishes } from "../support/VideoRoom.ts"

const writes = new Set([
  "begin",
  "activate",
  "append",
  "settle",
  "takeOver",
  "mergeMetadata",
  "insert",
  "put",
  "add",
  "complete",
  "fail",
  "submit"
])

/** A process that dies with its n-th write: that one is done, and nothing that it calls answers any more. */
const makeDoom = (at: number) => {
  const buried = Deferred.makeUnsafe<never>()
  let written = 0
  const isDead = () => written >= at
  const alive = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend((): Effect.Effect<A, E, R> => (isDead() ? Deferred.await(buried) : effect))
  /** Decoder: the wrapped service has the operations of the one that it wraps. */
  const mortal = <S extends object>(service: S): S =>
    new Proxy(service, {
      get(target, name) {
        const operation: unknown = Reflect.get(target, name)
        if (typeof operation !== "function") return operation
        return (...args: ReadonlyArray<unknown>) => {
          const called: unknown = Reflect.apply(operation, target, args)
          if (Stream.isStream(called)) return Stream.mapEffect(called, (item) => alive(Effect.succeed(item)))
          if (!Effect.isEffect(called)) return called
          return Effect.flatMap(alive(called), (answer) => {
            if (writes.has(String(name))) written++
            return alive(Effect.succeed(answer))
          })
        }
      }
    })
  return { mortal, isDead, written: () => written, bury: Deferred.die(buried, new Error("The process is dead.")) }
}

type Doom = ReturnType<typeof makeDoom>

const mortalStores = ({ mortal }: Doom, state: InMemory.State): Layer.Layer<InMemory.Stores> =>
  Layer.mergeAll(
    Layer.effect(AssistantStore, AssistantStore.useSync(mortal)),
    Layer.effect(BlobStore, BlobStore.useSync(mortal)),
    Layer.effect(DocumentStore, DocumentStore.useSync(mortal)),
    Layer.effect(FollowUpStore, FollowUpStore.useSync(mortal)),
    Layer.effect(RunStore, RunStore.useSync(mortal)),
    Layer.effect(ThreadStore, ThreadStore.useSync(mortal)),
    Layer.effect(UsageLedger, UsageLedger.useSync(mortal))
  ).pipe(Layer.provideMerge(InMemory.layerFrom(state)))

const never = Number.POSITIVE_INFINITY
const cost = 0.25

/** A process over the state, and over the provider that all processes share. */
const openProcess = Effect.fnUntraced(function* (
  doom: Doom,
  state: InMemory.State,
  studio: ScriptedVideo.ScriptedVideo,
  reattach: boolean
) {
  const { video } = studio.provider
  if (video === undefined) throw new Error("The studio makes videos.")
  const provider = { ...studio.provider, video: doom.mortal(video) }
  const room = videoRoom({
    steps: callOnce(),
    studio: { ...studio, provider },
    settings: { reattach },
    stores: mortalStores(doom, state)
  })
  const scope = yield* Scope.make()
  const services = yield* Layer.buildWithScope(Layer.merge(room, quiet), scope)
  return {
    run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideContext(effect, services),
    close: Scope.close(scope, Exit.void)
  }
})

const openThread = Effect.gen(function* () {
  const assistants = yield* Assistants
  const { id } = yield* assistants.create({ name: "a" })
  return (yield* assistants.createThread(id, null)).id
})

const newStudio = () =>
  ScriptedVideo.make({ looks: ["in_progress", "in_progress", { status: "completed", costUsd: cost }] })

const scene = Effect.fnUntraced(function* (at: number, reattach: boolean) {
  const state = InMemory.makeState()
  const studio = newStudio()
  const doom = makeDoom(at)
  const first = yield* openProcess(doom, state, studio, reattach)
  const threadId = yield* first.run(openThread)
  const client = yield* Effect.forkDetach(
    first.run(
      Turns.use((turns) =>
        Effect.flatMap(
          turns.start({ content: "A video.", threadId, options: wishes(), stream: true }),
          ({ reply }) => reply
        )
      )
    ),
    { startImmediately: true }
  )
  yield* TestClock.adjust("2 minutes")
  return { client, doom, first, state, studio, threadId }
})

const charged = UsageLedger.use((ledger) =>
  Effect.map(ledger.recent(firstPage), ({ days }) =>
    days.filter(({ purpose }) => purpose === "video").map(({ usage }) => usage.costUsd)
  )
)

describe("a process interruption in a video turn: at most one job submitted, no stored clip lost, cost never doubled", () => {
  for (const reattach of [false, true]) {
    it.effect(
      `at any of its writes (jobs are gone on with: ${reattach})`,
      () =>
        Effect.gen(function* () {
          const whole = yield* scene(never, reattach)
          const total = whole.doom.written()
          assert.isAbove(total, 8)
          yield* whole.first.close
          let handedOver = 0

          for (let at = 3; at <= total; at++) {
            const { client, doom, first, state, studio, threadId } = yield* scene(at, reattach)
            assert.isTrue(doom.isDead(), `write ${at}`)
            const next = yield* openProcess(makeDoom(never), state, studio, reattach)
            const documents = DocumentStore.use((store) => store.list({ threadId }, firstPage))
            const before = yield* next.run(documents)
            yield* TestClock.adjust("40 minutes")

            const note = `write ${at}`
            assert.isAtMost(studio.orders.length, 1, note)
            for (const { log, run } of state.runs.values()) {
              assert.include(["COMPLETED", "FAILED"], run.status, note)
              const ends = (log as ReadonlyArray<TurnEvent>).filter(isTerminal)
              assert.strictEqual(ends.length, 1, note)
              // With a job under way it must not be sent again blindly.
              const wasCalled = log.some((event) => event._tag === "ToolCallReady")
              if (run.status === "FAILED") assert.strictEqual(run.fault?.retryable, !wasCalled, note)
            }
            const after = (yield* next.run(documents)).map(({ id }) => id)
            assert.includeMembers(
              after,
              before.map(({ id }) => id),
              `a clip that was stored is lost at ${note}`
            )
            assert.isAtMost(after.length, 1, `a clip is stored twice at ${note}`)
            const { messages, thread } = yield* next.run(Threads.use((threads) => threads.get(threadId)))
            for (const message of messages) {
              const shown = mediaIn(readSupplement(message, "video")?.value).map(({ documentId }) => documentId)
              assert.includeMembers(after, shown, `a message shows a clip that is not there at ${note}`)
            }
            const costs = yield* next.run(charged)
            assert.include(["", String(cost)], costs.join(), `charged wrongly at ${note}`)
            const isCompleted = [...state.runs.values()].some(({ run }) => run.status === "COMPLETED")
            const order = yield* next.run(FollowUps.use((followUps) => followUps.find("media.video", "router job-1")))
            const jobIds = [thread.metadata?.["video_jobs"] ?? []]
              .flat()
              .filter((entry) => Predicate.hasProperty(entry, "job_id") && entry.job_id !== null)
            // A job that the thread names has somebody to go on with it.
            if (reattach && !isCompleted && jobIds.length > 0) assert.isTrue(Option.isSome(order), note)
            if (isCompleted || Option.isSome(order)) {
              assert.deepStrictEqual([costs, after.length], [[cost], 1], `not brought to its end at ${note}`)
              const jobs = thread.metadata?.["video_jobs"]
              const job: unknown = Array.isArray(jobs) ? jobs[0] : null
              assert.deepInclude(job, { job_id: "job-1", status: "completed", cost_usd: cost }, note)
            }
            if (Option.isSome(order)) {
              assert.strictEqual(order.value.status, "done", note)
              if (!isCompleted) handedOver++
            }

            yield* doom.bury
            yield* first.close
            yield* next.close
            client.interruptUnsafe()
          }
          // The test says nothing unless turns died with their jobs under way.
          if (reattach) assert.isAbove(handedOver, 3)
        }).pipe(Principal.provide("ada"), Effect.provide(quiet)),
      { timeout: 120_000 }
    )
  }

  it.effect(
    "is taken over by one that dies at any of its own writes: the third brings the job to its end, once",
    () =>
      Effect.gen(function* () {
        // Begun, noted, ordered, handed over.
        const handOver = 5
        let died = 0
        for (let at = 1; at < 30; at++) {
          const { client, doom, first, state, studio, threadId } = yield* scene(2 + handOver, true)
          const secondDoom = makeDoom(at)
          const second = yield* openProcess(secondDoom, state, studio, true)
          yield* TestClock.adjust("5 minutes")
          if (secondDoom.isDead()) died++
          const third = yield* openProcess(makeDoom(never), state, studio, true)
          yield* TestClock.adjust("40 minutes")
          const note = `write ${at} of the second`
          assert.strictEqual(studio.orders.length, 1, note)
          assert.deepStrictEqual(yield* third.run(charged), [cost], note)
          const stored = yield* third.run(DocumentStore.use((store) => store.list({ threadId }, firstPage)))
          assert.strictEqual(stored.length, 1, note)
          const order = yield* third.run(FollowUps.use((followUps) => followUps.find("media.video", "router job-1")))
          assert.strictEqual(Option.getOrThrow(order).status, "done", note)
          for (const { bury } of [doom, secondDoom]) yield* bury
          for (const { close } of [first, second, third]) yield* close
          client.interruptUnsafe()
          if (!secondDoom.isDead()) break
        }
        assert.isAbove(died, 5)
      }).pipe(Principal.provide("ada"), Effect.provide(quiet)),
    { timeout: 120_000 }
  )
})
