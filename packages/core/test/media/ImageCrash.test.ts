/** A process dies at any of its writes in a turn that makes a picture: asked once, charged once, nothing told of that is not there. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { callTool, pause, say } from "@colloquy/testing"
import { Assistants, Principal, readSupplement, Threads, Turns, type ThreadId } from "@colloquy/core"
import { firstPage, type ImageRequest, RunStore, ThreadStore, UsageLedger } from "@colloquy/core/adapters"
import { BlobStore, DocumentStore } from "@colloquy/core/documents"
import { mediaIn } from "@colloquy/core/media"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { cost, painted, painterKernel, png, withImages } from "./Painter.ts"

const writes = new Set(["begin", "activate", "append", "settle", "insert", "put", "mergeMetadata"])

/** Stores over which the process dies with its n-th write: that one is done, and nothing that is called answers any more. */
const doomed = (state: InMemory.State, at: number) => {
  const buried = Deferred.makeUnsafe<never>()
  let written = 0
  const grave = Deferred.await(buried)
  /** Decoder: the wrapped service has the operations of the one that it wraps. */
  const mortal = <S extends object>(service: S): S =>
    new Proxy(service, {
      get(target, name) {
        const operation: unknown = Reflect.get(target, name)
        if (typeof operation !== "function") return operation
        return (...args: ReadonlyArray<unknown>) => {
          if (written >= at) return grave
          const called: unknown = Reflect.apply(operation, target, args)
          if (!Effect.isEffect(called)) return called
          return Effect.flatMap(
            Effect.suspend((): Effect.Effect<unknown, unknown, unknown> => (written >= at ? grave : called)),
            (answer) => {
              if (writes.has(String(name))) written++
              return written >= at ? grave : Effect.succeed(answer)
            }
          )
        }
      }
    })
  const stores = Layer.mergeAll(
    Layer.effect(RunStore, RunStore.useSync(mortal)),
    Layer.effect(ThreadStore, ThreadStore.useSync(mortal)),
    Layer.effect(DocumentStore, DocumentStore.useSync(mortal)),
    Layer.effect(BlobStore, BlobStore.useSync(mortal))
  ).pipe(Layer.provideMerge(InMemory.layerFrom(state)))
  const bury = Effect.asVoid(Deferred.die(buried, new Error("The process is dead.")))
  return { stores, bury, written: () => written }
}

const script = { steps: [], model: { otherwise: say("Nothing more.") } }

/** One process that dies, and then one that finds what it has left. */
const scene = Effect.fnUntraced(function* (at: number) {
  const state = InMemory.makeState()
  const asked: Array<ImageRequest> = []
  const { threadId } = yield* Effect.provide(
    Effect.gen(function* () {
      const assistants = yield* Assistants
      const { id } = yield* assistants.create({ name: "A" })
      return { threadId: (yield* assistants.createThread(id, null)).id }
    }),
    painterKernel({ ...script, state })
  )
  const doom = doomed(state, at)
  const scope = yield* Scope.make()
  // With pauses, so that the log is written while the turn goes on.
  const steps = [
    [say("One moment."), pause("100 millis"), callTool("generate_image", { prompt: "A fox" })],
    [pause("100 millis"), say("Here it is."), pause("100 millis")]
  ]
  const paint = () => Effect.delay(Effect.succeed(painted(png(1))), "100 millis")
  const first = painterKernel({ steps, paint, model: { otherwise: say("More.") }, stores: doom.stores }, asked)
  const services = yield* Layer.buildWithScope(first, scope)
  const turn = Turns.use((turns) =>
    Effect.flatMap(
      turns.start({ content: "Paint.", threadId, options: withImages(), stream: true }),
      ({ reply }) => reply
    )
  )
  yield* Effect.forkDetach(Effect.provideContext(turn, services), { startImmediately: true })
  yield* TestClock.adjust("5 seconds")
  const found = yield* Effect.provide(
    Effect.gen(function* () {
      // Longer than any lease: what the dead process has left is taken over.
      yield* TestClock.adjust("2 minutes")
      return yield* remains(threadId)
    }),
    painterKernel({ ...script, state }, asked)
  )
  yield* doom.bury
  yield* Scope.close(scope, Exit.void)
  return { ...found, asked, written: doom.written() }
})

const remains = Effect.fnUntraced(function* (threadId: ThreadId) {
  const { messages } = yield* (yield* Threads).get(threadId)
  const documents = yield* (yield* DocumentStore).list({ threadId }, { skip: 0, limit: 10 })
  const { days } = yield* (yield* UsageLedger).recent(firstPage)
  const blobs = yield* Effect.forEach(documents, ({ blobId }) =>
    Effect.flatMap(BlobStore, (store) => store.head(blobId))
  )
  return {
    answers: messages.filter(({ role }) => role === "assistant"),
    documents,
    hasBytes: blobs.every(Option.isSome),
    spent: days.filter(({ purpose }) => purpose === "image").reduce((sum, { usage }) => sum + (usage.costUsd ?? 0), 0)
  }
})

describe("a process that is killed in a turn with a picture", () => {
  it.effect(
    "at any of its writes leaves one answer, one charge at most, and no picture without its document",
    () =>
      Effect.gen(function* () {
        const whole = yield* scene(Number.POSITIVE_INFINITY)
        assert.deepStrictEqual([whole.asked.length, whole.spent, whole.documents.length], [1, cost, 1])
        assert.isAbove(whole.written, 6)
        for (let at = 1; at <= whole.written; at++) {
          const { answers, asked, documents, hasBytes, spent } = yield* scene(at)
          assert.isAtMost(asked.length, 1, `asked again after write ${at}`)
          assert.isAtMost(answers.length, 1, `answers after write ${at}`)
          assert.isTrue(answers.every(({ status }) => status === "FAILED" || status === "COMPLETED"))
          assert.isTrue(spent === 0 || spent === cost, `spent ${spent} after write ${at}`)
          const told = answers.flatMap((answer) => mediaIn(readSupplement(answer, "image")?.value))
          const ids = documents.map(({ id }) => id)
          assert.isTrue(told.every(({ documentId }) => ids.includes(documentId)) && hasBytes, `write ${at}`)
          // A picture that is told of was paid for.
          if (told.length > 0) assert.strictEqual(spent, cost, `told and not charged after write ${at}`)
        }
      }).pipe(Principal.provide("ada")),
    60_000
  )
})
