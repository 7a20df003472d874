/** A process dies at any of its writes in a spoken turn: it ends once, what was paid for is charged once, and no record names lost bytes. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Crash } from "@colloquy/adapters/scripted"
import { isTerminal, Kernel, Principal, Providers, supplementOf, ThreadId, Threads, Turns } from "@colloquy/core"
import { type ChatEvent, firstPage, UsageLedger } from "@colloquy/core/adapters"
import { BlobStore, DocumentStore } from "@colloquy/core/documents"
import { KeptSpoken, voicePart } from "@colloquy/core/voice"
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

const answer: ReadonlyArray<ChatEvent> = [
  { _tag: "TextDelta", text: "One sentence. " },
  { _tag: "TextDelta", text: "Another one. " },
  { _tag: "TextDelta", text: "The end." },
  { _tag: "Finished", reason: "stop", model: null, providerData: null }
]

const kernelOf = (doom: Crash.Doom, state: InMemory.State) => {
  const model = doom.provider({
    id: "p",
    chat: () => Stream.tap(Stream.rechunk(Stream.fromIterable(answer), 1), () => Effect.sleep("60 millis"))
  })
  const stores = InMemory.layerFrom(state)
  return voicePart.pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.fresh,
    Layer.provideMerge(Layer.provideMerge(doom.stores(stores), stores)),
    Layer.provide(Providers.layer({ providers: [model, voiceProvider({})], defaults: { provider: "p", model: "m" } })),
    Layer.merge(quiet)
  )
}

const talk = Effect.gen(function* () {
  const recording = yield* record()
  const turn = yield* (yield* Turns).start({
    content: "",
    stream: true,
    options: { voice: { stt: {}, tts: {}, recording } }
  })
  yield* Stream.runDrain(turn.events)
})

const withTime = Effect.fnUntraced(function* <A, E, R>(client: Effect.Effect<A, E, R>, until: Effect.Effect<unknown>) {
  yield* Effect.forkDetach(Effect.ignore(client), { startImmediately: true })
  // Hashes of bytes come in their own time, so that of the test moves step by step until the end.
  const clock = Effect.forever(
    Effect.andThen(
      TestClock.adjust("100 millis"),
      Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    )
  )
  yield* Effect.raceFirst(until, clock)
})

const findings = Effect.gen(function* () {
  const [found] = yield* (yield* Threads).list({ page: firstPage, includeMessages: true })
  if (found === undefined) return null
  const threadId = ThreadId.make(found.thread.id)
  const documents = yield* (yield* DocumentStore).list({ threadId }, firstPage)
  for (const { blobId } of documents) assert.isTrue(Option.isSome(yield* (yield* BlobStore).head(blobId)))
  const message = found.messages.findLast(({ role }) => role === "assistant")
  const kept = message && Schema.decodeUnknownOption(KeptSpoken)(supplementOf(message, "voice")?.value)
  const spoken = kept === undefined ? null : Option.getOrNull(kept)?.tts.documentId
  if (spoken != null)
    assert.include(
      documents.map(({ id }) => id),
      spoken
    )
  return message
})

describe("a process that is killed in a spoken turn", () => {
  it.effect("leaves one end, charges that were paid, and documents that can be read", () =>
    Effect.gen(function* () {
      const whole = yield* Crash.make()
      const scope = yield* Scope.make()
      const services = yield* Layer.buildWithScope(kernelOf(whole, InMemory.makeState()), scope)
      const over = Deferred.makeUnsafe<void>()
      const toTheEnd = Effect.ensuring(Effect.provideContext(talk, services), Deferred.succeed(over, undefined))
      yield* withTime(toTheEnd, Deferred.await(over))
      const writes = whole.writes()
      assert.isAbove(writes, 3)
      yield* Scope.close(scope, Exit.void)

      for (let at = 1; at <= writes; at++) {
        const state = InMemory.makeState()
        const doom = yield* Crash.make({ at })
        const dying = yield* Scope.make()
        const first = yield* Layer.buildWithScope(kernelOf(doom, state), dying)
        yield* withTime(Effect.provideContext(talk, first), doom.died)
        const next = yield* Scope.make()
        const second = yield* Layer.buildWithScope(kernelOf(yield* Crash.make(), state), next)
        yield* TestClock.adjust("2 minutes")
        const message = yield* Effect.provideContext(findings, second)
        if (message != null) {
          const { runId } = message
          if (runId === null) throw new Error("An answer belongs to a run.")
          const follow = Turns.use((turns) => turns.follow(message.threadId, runId, 0))
          const events = yield* Effect.provideContext(Effect.flatMap(follow, Stream.runCollect), second)
          assert.strictEqual(events.filter(isTerminal).length, 1, `killed at ${at}`)
          const { days } = yield* Effect.provideContext(
            UsageLedger.use((ledger) => ledger.recent(firstPage)),
            second
          )
          const stt = days.find(({ purpose }) => purpose === "stt")?.usage.costUsd ?? 0
          assert.closeTo(stt, 0.02, 1e-9, `killed at ${at}`)
        }
        yield* doom.bury
        yield* Scope.close(dying, Exit.void)
        yield* Scope.close(next, Exit.void)
      }
    }).pipe(Principal.provide("ada"))
  )
})
