/** How the pieces of an answer become events of the run's log. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Principal, Providers, Turns } from "@colloquy/core"
import type { ChatEvent } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { storedLog } from "../support/Story.ts"

const said = (text: string): ChatEvent => ({ _tag: "TextDelta", text })
const finished: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }

/** What the provider sends, in the groups in which it arrives. */
const arrivals: ReadonlyArray<readonly [ChatEvent, ...ReadonlyArray<ChatEvent>]> = [
  [said("One, "), said("two, "), { _tag: "ReasoningDelta", text: "Hm." }, said("three, ")],
  [said("four.")],
  [finished]
]

const kernel = Layer.fresh(Kernel.layer).pipe(
  Layer.provide(
    Providers.layer({
      providers: [{ id: "p", chat: () => Stream.fromIterable(arrivals).pipe(Stream.flatMap(Stream.fromArray)) }],
      defaults: { provider: "p", model: "m" }
    })
  ),
  Layer.provideMerge(InMemory.layer)
)

const deltasOf = (stream: boolean) =>
  Effect.gen(function* () {
    const turn = yield* (yield* Turns).start({ content: "Count", stream })
    assert.strictEqual((yield* turn.reply).content, "One, two, three, four.")
    const log = yield* storedLog(turn)
    return log.flatMap((event) => (event._tag === "TextDelta" ? [event.text] : []))
  }).pipe(Principal.provide("ada"), Effect.provide(kernel))

describe("deltas in the log", () => {
  it.effect("of a turn that is not streamed hold what arrived together, in its order", () =>
    Effect.map(deltasOf(false), (texts) => assert.deepStrictEqual(texts, ["One, two, ", "three, ", "four."]))
  )

  it.effect("of a streamed turn are those of the provider", () =>
    Effect.map(deltasOf(true), (texts) => assert.deepStrictEqual(texts, ["One, ", "two, ", "three, ", "four."]))
  )
})
