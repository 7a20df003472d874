/** The process dies at every write of a rewind, a regeneration in place and on a fork, and a fork: nothing is lost, doubled or half done. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Crash } from "@colloquy/testing"
import { Conversations, Kernel, Principal, Providers, Turns } from "@colloquy/core"
import type { ChatEvent, ChatRequest } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { quiet } from "../support/Story.ts"

/** Says how many questions it has read. */
const answer = ({ messages }: ChatRequest): ReadonlyArray<ChatEvent> => [
  { _tag: "TextDelta", text: `${messages.filter(({ role }) => role === "user").length}.` },
  { _tag: "Finished", reason: "stop", model: null, providerData: null }
]

const kernelLayer = (doom: Crash.Doom, state: InMemory.State) => {
  const provider = doom.provider({ id: "p", chat: (request) => Stream.fromIterable(answer(request)) })
  return Kernel.layer.pipe(
    Layer.fresh,
    Layer.provideMerge(doom.stores(InMemory.layerFrom(state))),
    Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: "p", model: "m" } })),
    Layer.merge(quiet)
  )
}

const keyed = (key: string) => ({ idempotency: { key, fingerprint: key } })

/** Two questions; the second is sent again, in its place and on a fork; the thread is rewound to its first answer, and forked. Each act has a key. */
const story = Effect.gen(function* () {
  const [turns, conversations] = [yield* Turns, yield* Conversations]
  const first = yield* turns.send({ content: "1", ...keyed("one") })
  const { threadId } = first
  const second = yield* turns.send({ content: "2", threadId, ...keyed("two") })
  const instead = { messageId: second.messageId, in: "place" } as const
  const again = yield* turns.send({ content: "", threadId, instead, ...keyed("again") })
  const aside = { messageId: again.messageId, in: "fork" } as const
  const branch = yield* turns.send({ content: "", threadId, instead: aside, ...keyed("aside") })
  const { messageId } = first
  const { keptAs } = yield* conversations.rewind({ threadId, messageId, ...keyed("rewind") })
  const fork = yield* conversations.fork({ threadId, ...keyed("fork") })
  return [threadId, again.keptAs, branch.threadId, keptAs, fork.id]
})

const said = (state: InMemory.State) =>
  [...state.threads.values()]
    .map(({ messages }) => messages.map(({ content }) => content).join(" "))
    // A process that dies between a new thread and its first message leaves the thread empty.
    .filter((text) => text !== "")
    .toSorted()

/** Tells the story in a process that may die, and again with the same keys in another one. */
const livesAndDies = Effect.fnUntraced(function* (state: InMemory.State, point: Crash.CrashPoint) {
  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  const kernel = yield* Layer.buildWithScope(kernelLayer(doom, state), scope)
  const living = yield* Effect.forkChild(Effect.provideContext(story, kernel))
  yield* TestClock.adjust("1 minute")
  yield* doom.bury
  yield* Effect.forkChild(Scope.close(scope, Exit.void))
  yield* TestClock.adjust("5 minutes")
  living.interruptUnsafe()
  const next = yield* Crash.make()
  const told = yield* Effect.forkChild(story.pipe(Effect.provide(kernelLayer(next, state))))
  yield* TestClock.adjust("5 minutes")
  const threads = yield* Effect.exit(Effect.suspend(() => told.pollUnsafe() ?? Effect.die(new Error("It waits."))))
  return { writes: doom.writes(), threads }
})

describe("a conversation that is cut, when the process dies", () => {
  it.effect("is whole after every write: each act is done once for its key", () =>
    Effect.gen(function* () {
      const whole = InMemory.makeState()
      const { writes } = yield* livesAndDies(whole, {})
      // The thread and its fork, what was sent again in place and aside, and what was rewound.
      const expected = ["1 1.", "1 1.", "1 1. 2 2.", "1 1. 2 2.", "1 1. 2 2."]
      assert.deepStrictEqual(said(whole), expected)
      assert.isAbove(writes, 8)
      for (let at = 1; at <= writes; at++) {
        const state = InMemory.makeState()
        const { threads } = yield* livesAndDies(state, { at })
        const found = said(state)
        // A turn whose process died has failed, and its answer is empty; the key joins that run.
        const isCut = found.some((each) => each.endsWith(" ") || each.includes("  "))
        if (!isCut && Exit.isSuccess(threads)) assert.deepStrictEqual(found, expected, `write ${at}`)
        const ids = [...state.threads.values()].flatMap(({ messages }) => messages.map(({ id }) => id))
        assert.strictEqual(new Set(ids).size, ids.length, `write ${at}`)
        for (const { messages, runs, thread } of state.threads.values()) {
          assert.isTrue(
            messages.every(({ sequence, threadId }, place) => sequence === place + 1 && threadId === thread.id)
          )
          assert.isTrue([...runs].every(({ run }) => run.threadId === thread.id))
        }
      }
    }).pipe(Principal.provide("ada"))
  )
})
