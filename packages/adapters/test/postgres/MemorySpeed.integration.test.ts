/** PGlite finds memories within three times of what a PostgreSQL server takes, and imports them in a few times of it. */
import { type AssistantId, Assistants, Kernel, Principal, Providers } from "@colloquy/core"
import { Memory, Memories } from "@colloquy/core/memory"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { onPostgres } from "../../../../test/databases.ts"
import { usedByThread } from "../../../../test/processorTime.ts"
import type { InMemory } from "../../src/in-memory/index.ts"
import { Pglite } from "../../src/pglite/index.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { onScratchSchema } from "./Scratch.ts"

const count = 1_500
const subjects = "kettle harbour violin meadow lantern compass orchard glacier pepper saddle".split(" ")
const numberedWord = (number: number) => `${subjects[number % 10]}${Math.floor(number / 10) % 40}`

const lines = Array.from({ length: count }, (_, at) =>
  JSON.stringify({
    content: `The user has a ${numberedWord(at)} and a ${numberedWord(at * 7)} beside the ${numberedWord(at * 13)}, number ${at}.`
  })
).join("\n")
const questions = Array.from({ length: 30 }, (_, at) => `Where does the user have the ${numberedWord(at * 11)}?`)

const kernelOver = (stores: Layer.Layer<InMemory.Stores, unknown>) =>
  Memory.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } })),
    Layer.provideMerge(stores),
    Layer.fresh
  )

/** The least time of three runs: other work of the machine rarely meets all of them. */
const leastMillis = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.all([elapsedMillis(work), elapsedMillis(work), elapsedMillis(work)]), (times) => Math.min(...times))

const elapsedMillis = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.map(work, (): number => performance.now() - start)
  })

const filled = Effect.gen(function* () {
  const { id } = yield* (yield* Assistants).create({ name: "A" })
  const memories = yield* Memories
  const importing = yield* elapsedMillis(memories.import(id, lines))
  return {
    importing,
    search: (question: string, assistant: AssistantId = id) => memories.search(assistant, question, 10)
  }
})

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

onPostgres((url) => {
  it.live(
    "memories are found on PGlite within three times of Postgres, and imported within a few",
    () =>
      Effect.gen(function* () {
        const server = onScratchSchema(url, (schema) => Postgres.layer({ url: Redacted.make(url), schema }))
        const onServer = yield* Effect.provide(filled, yield* Layer.build(kernelOver(server)))
        const embedded = yield* Effect.provide(filled, yield* Layer.build(kernelOver(Pglite.layer())))
        const there = yield* Effect.map(
          Effect.forEach(questions, (question) => leastMillis(onServer.search(question))),
          median
        )
        // PGlite works in this thread. Its time on the clock would contain what other processes do meanwhile.
        const used = Effect.suspend(() => {
          const before = usedByThread()
          return Effect.map(
            Effect.forEach(questions, (question) => embedded.search(question)),
            () => usedByThread() - before
          )
        })
        const here = Math.min(...(yield* Effect.all([used, used, used]))) / questions.length
        assert.isAtMost(here / there, 3, `a search takes ${here} and ${there} ms`)
        // One import each: other work of the machine may meet one of them alone. That it does not grow is counted in `MemoryRows`.
        const { importing } = embedded
        assert.isAtMost(importing / onServer.importing, 8, `an import takes ${importing} and ${onServer.importing} ms`)
      }).pipe(Principal.provide("ada"), Effect.scoped),
    180_000
  )
})
