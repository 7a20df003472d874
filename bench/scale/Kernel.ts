/** The kernel as it is measured at scale: all stores on one schema, a model that answers at once, and the times of the two writes of a turn. */
import { Postgres } from "@colloquy/adapters/postgres"
import { Kernel, type Provider, Providers } from "@colloquy/core"
import { type ChatEvent, noUsage, RunStore } from "@colloquy/core/adapters"
import { Retrieval } from "@colloquy/core/retrieval"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"

const sentence =
  "The lighthouse keeper wrote down what the sea had brought in the night, and what it had taken away again. "

/** About 600 characters, as answers often have. */
const answer: ReadonlyArray<ChatEvent> = [
  { _tag: "TextDelta", text: sentence.repeat(6) },
  { _tag: "Usage", usage: { ...noUsage, inputTokens: 900, outputTokens: 140 } },
  { _tag: "Finished", reason: "stop", model: null, providerData: null }
]

/** About 300 characters. */
export const question = sentence.repeat(3)

const provider: Provider = {
  id: "bench",
  chat: () => Stream.fromIterable(answer),
  describe: () => ({ contextLimit: 8192 })
}

/** Milliseconds of every begin and settlement, in order. */
export interface Times {
  readonly begin: Array<number>
  readonly settle: Array<number>
}

/** The store of runs, with a clock around its two writes of a turn. */
const timed = (times: Times) =>
  Layer.effect(
    RunStore,
    Effect.map(RunStore, (store) => {
      const clocked =
        (into: Array<number>) =>
        <A, E, R>(effect: Effect.Effect<A, E, R>) =>
          Effect.suspend(() => {
            const start = performance.now()
            return Effect.tap(effect, () => Effect.sync(() => into.push(performance.now() - start)))
          })
      return RunStore.of({
        ...store,
        begin: (begin) => clocked(times.begin)(store.begin(begin)),
        settle: (lease, settlement) => clocked(times.settle)(store.settle(lease, settlement))
      })
    })
  )

export const kernelOn = (url: string, schema: string, times: Times, maxConnections = 4) => {
  const stores = Postgres.layer({ url: Redacted.make(url), schema, maxConnections })
  const providers = Providers.layer({ providers: [provider], defaults: { provider: "bench", model: "at-once" } })
  return Retrieval.layer.pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(Layer.provideMerge(timed(times), stores)),
    Layer.provide(providers)
  )
}
