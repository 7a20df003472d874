/**
 * Three parts of a turn that do a little of everything, and write down what they really did: one recalls, spends and brings a tool, one hears
 * the answer, one leaves a follow-up. For tests of how parts join, over any store.
 */
import { FollowUps, type TurnPart, TurnParts } from "@colloquy/core"
import { chargeOfCost } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

export interface ToyDeeds {
  readonly recalled: Array<string>
  readonly spent: Array<number>
  readonly heard: Array<string>
  readonly learned: Array<string>
}

export const newDeeds = (): ToyDeeds => ({ recalled: [], spent: [], heard: [], learned: [] })

/** Every call costs as much. */
export const searchCost = 0.25

const Plan = Schema.Struct({ query: Schema.String })

const finder = (deeds: ToyDeeds): TurnPart<typeof Plan.Type> => ({
  name: "finder",
  plan: Plan,
  decide: ({ content, options }) =>
    Effect.succeed(options === undefined ? null : { plan: { query: content }, supplement: { asked: true } }),
  recall: ({ query }, turn) =>
    Effect.sync(() => {
      deeds.recalled.push(turn.runId)
      deeds.spent.push(searchCost)
      turn.spend(chargeOfCost({ provider: "index", model: "words", purpose: "search" }, searchCost))
      turn.tell({ type: "found", data: { query } })
      turn.keep({ found: query })
      const items = [{ text: `about ${query}`, rank: 0 }]
      return [{ name: "excerpts", intro: "Material:", items, place: "turn", weight: 1 }] as const
    }),
  tools: () => [
    {
      definition: { name: "find_more", description: null, parameters: { type: "object", properties: {} } },
      run: (_, call) =>
        Effect.gen(function* () {
          deeds.spent.push(searchCost)
          call.spend(chargeOfCost({ provider: "index", model: "words", purpose: "search" }, searchCost))
          yield* Effect.orDie(call.journal({ last_search: call.runId }))
          return "nothing more"
        })
    }
  ]
})

const listener = (deeds: ToyDeeds): TurnPart<null> => ({
  name: "listener",
  plan: Schema.Null,
  decide: ({ options }) => Effect.succeed(options === undefined ? null : { plan: null }),
  speak: (_, turn, words) =>
    Effect.gen(function* () {
      let text = ""
      yield* Stream.runForEach(words, (word) =>
        Effect.sync(() => {
          text += word
          turn.tell({ type: "spoken", data: { word }, isLive: true })
        })
      )
      deeds.heard.push(text)
      turn.keep({ heard: text })
    })
})

const learner: TurnPart<null> = {
  name: "learner",
  plan: Schema.Null,
  decide: ({ options }) => Effect.succeed(options === undefined ? null : { plan: null }),
  followUps: (_, { assistantId, runId, status }) =>
    status === "COMPLETED" ? [{ kind: "toy.learn", key: runId, payload: {}, sequence: assistantId }] : []
}

export const toyOptions = { finder: {}, listener: {}, learner: {} }

export const toyOrders: ReadonlyArray<readonly [number, number, number]> = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0]
]

/** The three as layers, registered in this order. */
export const toyParts = (
  deeds: ToyDeeds,
  order: readonly [number, number, number] = [0, 1, 2]
): Layer.Layer<never, never, TurnParts | FollowUps> => {
  const learning = Layer.effectDiscard(
    FollowUps.use((followUps) =>
      followUps.register({ kind: "toy.learn", run: ({ key }) => Effect.sync(() => void deeds.learned.push(key)) })
    )
  )
  const layers = [
    TurnParts.part(finder(deeds)),
    TurnParts.part(listener(deeds)),
    Layer.merge(TurnParts.part(learner), learning)
  ]
  return Layer.mergeAll(Layer.empty, ...order.flatMap((index) => layers[index] ?? []))
}
