/**
 * What a streamed delta costs inside the kernel: a turn of 200 deltas on in-memory stores, from the driver to a follower that reads them
 * all, in microseconds of CPU a delta. Two drivers: one hands over every delta by itself (a network that is never behind), one hands over
 * what it has in arrays of sixteen.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Principal, Providers, Turns } from "@colloquy/core"
import { type ChatEvent, noUsage } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

const deltas = 200
const budget = 10

const answer: ReadonlyArray<ChatEvent> = [
  ...Array.from({ length: deltas }, (_, index): ChatEvent => ({ _tag: "TextDelta", text: ` word${index}` })),
  { _tag: "Usage", usage: { ...noUsage, inputTokens: 10, outputTokens: deltas } },
  { _tag: "Finished", reason: "stop", model: null, providerData: null }
]

/** Between two arrays the driver waits, as for a network, so that readers get the events before the next array. */
const driver = (size: number) => () =>
  Stream.mapArrayEffect(Stream.rechunk(Stream.fromIterable(answer), size), (events) =>
    Effect.as(Effect.yieldNow, events)
  )

const turn = Effect.gen(function* () {
  const turns = yield* Turns
  const { events } = yield* turns.start({ content: "Hi", stream: true })
  let heard = 0
  yield* Stream.runForEachArray(events, (array) =>
    Effect.sync(() => {
      for (const event of array) if (event._tag === "TextDelta") heard++
    })
  )
  if (heard !== deltas) return yield* Effect.die(new Error(`${heard} deltas were heard, of ${deltas}.`))
})

const repeat = (times: number) => Effect.repeat(turn, { times: times - 1 })

/** Microseconds of CPU a delta, over so many turns. */
const measure = (turns: number) =>
  Effect.gen(function* () {
    const before = process.cpuUsage()
    yield* repeat(turns)
    const { system, user } = process.cpuUsage(before)
    return (user + system) / (turns * deltas)
  })

const figures = (size: number) =>
  Effect.gen(function* () {
    yield* repeat(300)
    const rounds: Array<number> = []
    for (let round = 0; round < 5; round++) rounds.push(yield* measure(200))
    return rounds.sort((a, b) => a - b)
  }).pipe(
    Principal.provide("bench"),
    Effect.provide(
      Layer.fresh(Kernel.layer).pipe(
        Layer.provide([
          InMemory.layer,
          Providers.layer({
            providers: [{ id: "bench", chat: driver(size) }],
            defaults: { provider: "bench", model: "bench" }
          })
        ])
      )
    )
  )

for (const [name, size] of [
  ["each by itself", 1],
  ["in arrays of 16", 16]
] as const) {
  const rounds = await Effect.runPromise(figures(size))
  const median = rounds[2] ?? Number.NaN
  const spread = `${rounds[0]?.toFixed(2)} to ${rounds.at(-1)?.toFixed(2)}`
  console.log(`deltas ${name}: ${median.toFixed(2)} µs of CPU a delta (${spread}), allowed ${budget}`)
  if (!(median <= budget)) process.exitCode = 1
}
