/** A process dies at any of its writes in a spoken turn: it ends once, what was paid for is charged once, and no record names lost bytes. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Crash } from "@colloquy/testing"
import { isTerminal, Kernel, Principal, Providers, readSupplement, ThreadId, Threads, Turns } from "@colloquy/core"
import { type ChatEvent, firstPage, UsageLedger } from "@colloquy/core/adapters"
import { BlobStore, DocumentStore } from "@colloquy/core/documents"
import { KeptSpoken, Voice } from "@colloquy/core/voice"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { quiet } from "../support/Story.ts"
import { record, voiceProvider } from "./VoiceRoom.ts"
import { loopTurn } from "../support/PassTime.ts"

const answer: ReadonlyArray<ChatEvent> = [
  { _tag: "TextDelta", text: "One sentence. " },
  { _tag: "TextDelta", text: "Another one. " },
  { _tag: "TextDelta", text: "The end." },
  { _tag: "Finished", reason: "stop", model: null, providerData: null }
]

const kernelLayer = (doom: Crash.Doom, state: InMemory.State) => {
  const model = doom.provider({
    id: "p",
    chat: () => Stream.tap(Stream.rechunk(Stream.fromIterable(answer), 1), () => Effect.sleep("60 millis"))
  })
  const stores = InMemory.layerFrom(state)
  const alive = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => (doom.isDead() ? doom.write(effect) : effect))
  /** The bytes and records of recordings, as one who may die while they are written. */
  const recordings = Layer.mergeAll(
    Layer.effect(
      BlobStore,
      BlobStore.useSync((store) =>
        BlobStore.of({
          ...store,
          put: (id, bytes) =>
            alive(
              store.put(
                id,
                Stream.tap(bytes, () => alive(Effect.void))
              )
            ),
          remove: (id) => alive(store.remove(id))
        })
      )
    ),
    Layer.effect(
      DocumentStore,
      DocumentStore.useSync((store) =>
        DocumentStore.of({ ...store, insert: (...args) => alive(store.insert(...args)) })
      )
    )
  ).pipe(Layer.provide(stores))
  return Voice.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.fresh,
    Layer.provideMerge(Layer.mergeAll(recordings, doom.stores(stores)).pipe(Layer.provideMerge(stores))),
    Layer.provide(Providers.layer({ providers: [model, voiceProvider({})], defaults: { provider: "p", model: "m" } })),
    Layer.merge(quiet)
  )
}

const talk = Effect.fnUntraced(function* (atEachEvent: Effect.Effect<void>) {
  const recording = yield* record()
  const turn = yield* (yield* Turns).start({
    content: "",
    stream: true,
    options: { voice: { stt: {}, tts: {}, recording } }
  })
  yield* Stream.runForEach(Stream.rechunk(turn.events, 1), () => atEachEvent)
})

const withTime = Effect.fnUntraced(function* <A, E, R>(client: Effect.Effect<A, E, R>, until: Effect.Effect<unknown>) {
  yield* Effect.forkDetach(Effect.ignore(client), { startImmediately: true })
  // Hashes of bytes come in their own time, so that of the test moves step by step until the end.
  const clock = Effect.forever(Effect.andThen(TestClock.adjust("100 millis"), loopTurn))
  yield* Effect.raceFirst(until, clock)
})

const findings = Effect.gen(function* () {
  const [found] = yield* (yield* Threads).list({ page: firstPage, includeMessages: true })
  if (found === undefined) return null
  const threadId = ThreadId.make(found.thread.id)
  const documents = yield* (yield* DocumentStore).list({ threadId }, firstPage)
  for (const { blobId } of documents) assert.isTrue(Option.isSome(yield* (yield* BlobStore).head(blobId)))
  const message = found.messages.findLast(({ role }) => role === "assistant")
  const kept = message && Schema.decodeUnknownOption(KeptSpoken)(readSupplement(message, "voice")?.value)
  const spoken = kept === undefined ? null : Option.getOrNull(kept)?.tts.documentId
  if (spoken != null)
    assert.include(
      documents.map(({ id }) => id),
      spoken
    )
  return message
})

type Death = { readonly atWrite: number } | { readonly atEvent: number }

/** What is there after a process has died in the turn, another one has looked after it, and some time has passed. */
const checkAfter = Effect.fnUntraced(function* (death: Death) {
  const state = InMemory.makeState()
  const doom = yield* Crash.make("atWrite" in death ? { at: death.atWrite } : {})
  const dying = yield* Scope.make()
  const first = yield* Layer.buildWithScope(kernelLayer(doom, state), dying)
  let events = 0
  const dieAtEvent = Effect.sync(() => {
    if ("atEvent" in death && ++events === death.atEvent) doom.kill()
  })
  // Pieces of the log may go together in one write, so a turn may have fewer of them, and end alive.
  const over = Deferred.makeUnsafe<void>()
  const talking = Effect.provideContext(talk(dieAtEvent), first)
  yield* withTime(
    Effect.ensuring(talking, Deferred.succeed(over, undefined)),
    Effect.raceFirst(doom.died, Deferred.await(over))
  )
  const next = yield* Scope.make()
  const second = yield* Layer.buildWithScope(kernelLayer(yield* Crash.make(), state), next)
  yield* TestClock.adjust("2 minutes")
  const message = yield* Effect.provideContext(findings, second)
  const what = JSON.stringify(death)
  if (message != null) {
    const { runId } = message
    if (runId === null) throw new Error("An answer belongs to a run.")
    const follow = Turns.use((turns) => turns.follow(message.threadId, runId, 0))
    const seen = yield* Effect.provideContext(Effect.flatMap(follow, Stream.runCollect), second)
    assert.strictEqual(seen.filter(isTerminal).length, 1, what)
    assert.isTrue(isTerminal(seen.at(-1) ?? assert.fail("The run has no events.")), what)
    const { days } = yield* Effect.provideContext(
      UsageLedger.use((ledger) => ledger.recent(firstPage)),
      second
    )
    const stt = days.find(({ purpose }) => purpose === "stt")?.usage.costUsd ?? 0
    assert.closeTo(stt, 0.02, 1e-9, what)
  }
  yield* doom.bury
  yield* Scope.close(dying, Exit.void)
  yield* Scope.close(next, Exit.void)
  return message?.status ?? null
})

describe("a process that is killed in a spoken turn", () => {
  it.effect(
    "leaves one end, charges that were paid, and documents that can be read: at every write and every event",
    () =>
      Effect.gen(function* () {
        const whole = yield* Crash.make()
        const scope = yield* Scope.make()
        const services = yield* Layer.buildWithScope(kernelLayer(whole, InMemory.makeState()), scope)
        const over = Deferred.makeUnsafe<void>()
        let events = 0
        const count = Effect.sync(() => void events++)
        const toTheEnd = Effect.ensuring(
          Effect.provideContext(talk(count), services),
          Deferred.succeed(over, undefined)
        )
        yield* withTime(toTheEnd, Deferred.await(over))
        const writes = whole.writes()
        assert.isAbove(writes, 3)
        // Heard, begun, three words, three sounds, and the ends of all of these.
        assert.isAbove(events, 10)
        yield* Scope.close(scope, Exit.void)

        for (let atWrite = 1; atWrite <= writes; atWrite++) yield* checkAfter({ atWrite })
        const ends = yield* Effect.forEach(
          Array.from({ length: events }, (_, at) => at + 1),
          (atEvent) => checkAfter({ atEvent })
        )
        // Before the message is stored nothing is left; at the last event the turn was over.
        assert.isNull(ends[0] ?? null)
        assert.include(ends, "FAILED")
        assert.strictEqual(ends.at(-1), "COMPLETED")
      }).pipe(Principal.provide("ada"))
  )
})
