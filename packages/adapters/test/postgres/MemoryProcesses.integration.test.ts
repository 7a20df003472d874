/** Two kernels with pools of their own over one database: each turn is learned from once, in the order of the turns, whoever does it. */
import { Kernel, Principal, Providers, Turns } from "@colloquy/core"
import type { ChatEvent, ChatRequest } from "@colloquy/core/adapters"
import { layerMemory, Memories } from "@colloquy/core/memory"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { onPostgres } from "../../../../test/databases.ts"
import { Postgres } from "../../src/postgres/index.ts"
import { scratchSchema } from "./Scratch.ts"

const textOf = ({ messages }: ChatRequest): string => JSON.stringify(messages)

/** Remembers the number that it is shown, and notes which it was shown. */
const counter = (shown: Array<number>) => ({
  id: "counter",
  chat: (request: ChatRequest) => {
    const number = Number(/number (\d+)/u.exec(textOf(request))?.[1])
    shown.push(number)
    const operations = [{ op: "ADD", text: `The user said ${number}.`, message: 1, quote: `number ${number}` }]
    return Stream.fromIterable<ChatEvent>([
      { _tag: "TextDelta", text: JSON.stringify({ operations: [...operations, ...operations] }) },
      { _tag: "Finished", reason: "stop", model: null, providerData: null }
    ])
  }
})

onPostgres((url) => {
  it.live(
    "two kernels learn from forty turns, once each and in order",
    () =>
      Effect.gen(function* () {
        const schema = yield* scratchSchema(url)
        const shown: Array<number> = []
        const open = () =>
          Layer.build(
            Layer.fresh(
              layerMemory.pipe(
                Layer.provideMerge(Kernel.layer),
                Layer.provide([
                  Providers.layer({
                    providers: [counter(shown)],
                    defaults: { provider: "counter", model: "m" }
                  }),
                  Postgres.layer({ url: Redacted.make(url), schema }),
                  Logger.layer([])
                ])
              )
            )
          )
        const [one, two] = [yield* open(), yield* open()]
        const save = (content: string, assistantId?: Parameters<typeof Memories.Service.list>[0]) =>
          Turns.use((turns) =>
            turns.send({
              content,
              sendToModel: false,
              options: { memory: { mode: "Auto" } },
              ...(assistantId === undefined ? {} : { assistantId })
            })
          )
        const first = yield* Effect.provide(save("number 0"), one)
        let last = first
        for (let number = 1; number < 40; number++) {
          last = yield* Effect.provide(save(`number ${number}`, first.assistantId), number % 2 === 0 ? one : two)
        }
        const ended: Effect.Effect<void, unknown, Memories | Principal> = Effect.flatMap(
          Effect.flatMap(Memories, (memories) => memories.operation(last.runId)),
          (found) =>
            Option.isSome(found) && found.value.status === "COMPLETED"
              ? Effect.void
              : Effect.delay(
                  Effect.suspend(() => ended),
                  "20 millis"
                )
        )
        yield* Effect.provide(ended, two)
        const numbers = Array.from({ length: 40 }, (_, number) => number)
        assert.deepStrictEqual(shown, numbers)
        const { memories } = yield* Effect.provide(
          Memories.use((all) => all.list(first.assistantId, null)),
          one
        )
        assert.deepStrictEqual(
          memories.map(({ content }) => content),
          numbers.map((number) => `The user said ${number}.`)
        )
      }).pipe(Principal.provide("ada"), Effect.scoped),
    60_000
  )
})
