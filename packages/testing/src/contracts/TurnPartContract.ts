/**
 * The contract of a part of turns, in the terms of `TurnPart`: the steps that have promises of their own are called as turns call them, over
 * a kernel in memory. What a part does in a conversation is tested with `TestKernel`.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import {
  Kernel,
  type LiveTurn,
  type Message,
  type Principal,
  PromptPart,
  type Providers,
  type TurnPart,
  TurnParts,
  Usage
} from "@colloquy/core"
import {
  AssistantStore,
  describeModel,
  type History,
  noCharge,
  noUsage,
  type SavedMessage,
  type TurnCase
} from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ScriptedModel } from "../scripted/ScriptedModel.ts"
import { asNewOwner, awkwardJson, longText, sampleBegin } from "./Samples.ts"
import { openThread } from "./Scenes.ts"

/** A turn that the part joins. The fields that are absent are those of a short message on a new thread. */
export type SampleTurn = Partial<Pick<TurnCase, "content" | "hasDocuments" | "options" | "system">>

/** The part, and turns that concern it. */
export interface TurnPartSuite {
  /** The part as its host adds it, with everything that it needs beside the kernel, its stores and its providers. */
  readonly part: Layer.Layer<never, unknown, Kernel.Kernel | InMemory.Stores | Providers>
  /** Turns of which the part joins at least one. */
  readonly turns: ReadonlyArray<SampleTurn>
  /** Default: a scripted conversation model, `scripted-model` of `scripted`, which every sample names. */
  readonly providers?: Layer.Layer<Providers>
}

type Checked = Effect.Effect<void, unknown, InMemory.Stores | Principal>

/** The checks of one part, whose plan has a type that only the part knows. */
type Checks = { readonly [Title in keyof ReturnType<typeof planChecks>]: Checked }

const oddOptions: ReadonlyArray<Schema.Json> = [
  null,
  7,
  "on",
  "",
  true,
  [],
  [null],
  {},
  awkwardJson,
  { mode: 7 },
  { mode: "\ud800" },
  { mode: null, model: [] }
]

const oddTexts = ["", " ", "\n", "\0", "\ud800 alone", "👩‍👩‍👧‍👦🏳️‍🌈", "e\u0301\u2028", longText.slice(0, 100_000)]

const openCase = Effect.fnUntraced(function* (name: string, sample: SampleTurn) {
  const thread = yield* openThread
  const assistant = Option.getOrThrow(yield* (yield* AssistantStore).get(thread.assistantId))
  const { content = "Hello", hasDocuments = false, options, system = null } = sample
  const [provider, model] = ["scripted", "scripted-model"]
  const turn: TurnCase = {
    request: { content, threadId: thread.id, ...(options === undefined ? {} : { options: { [name]: options } }) },
    options,
    assistant,
    thread,
    summary: null,
    isNewThread: true,
    hasDocuments,
    content,
    system,
    provider,
    model,
    info: describeModel({ name: model, provider, modelType: "llm" }),
    rewrite: null
  }
  return turn
})

/** What the part says to a turn before anything is stored; null if it does not join. Refusals are fine, defects are not. */
const decideOn = <Plan>(part: TurnPart<Plan>, turn: TurnCase) =>
  Effect.gen(function* () {
    if (part.concerns?.(turn) === false) return null
    yield* part.refuse?.(turn) ?? Effect.void
    return yield* part.decide(turn)
  })

/** A leg that answers the turn. What the part tells and keeps must be JSON. */
const openLeg = Effect.fnUntraced(function* ({ assistant, content, provider, thread }: TurnCase) {
  const { message, run } = yield* sampleBegin(thread.id, { message: { content } })
  const kept: Array<Schema.Json> = []
  const asStored = (value: Schema.Json): Schema.Json => {
    const stored: Schema.Json = JSON.parse(JSON.stringify(value))
    assert.deepStrictEqual(stored, value)
    return stored
  }
  const live: LiveTurn = {
    threadId: thread.id,
    assistantId: assistant.id,
    runId: run.id,
    content,
    metadata: null,
    answerId: run.answerId,
    provider,
    model: "scripted-model",
    tell: ({ data }) => void asStored(data),
    keep: (supplement) => void kept.push(asStored(supplement)),
    kept: () => kept.at(-1) ?? null,
    spend: () => {},
    beginCharge: noCharge,
    beginRun: () => Effect.succeed(null),
    handOver: () => Effect.succeed(null),
    journal: () => Effect.void,
    ensureCredit: () => Effect.void
  }
  const history: History = { messages: [{ ...message, sequence: 1 }], older: { messages: 0, tokens: 0 } }
  return { live, history }
})

const expectNoDefect = <A, E>(exit: Exit.Exit<A, E>, what: string) => {
  if (Exit.isFailure(exit)) assert.isFalse(Cause.hasDies(exit.cause), `${what}: ${Cause.pretty(exit.cause)}`)
}

const planChecks = <Plan>(part: TurnPart<Plan>, turns: ReadonlyArray<SampleTurn>) => {
  const decisions = Effect.forEach(turns, (sample) =>
    Effect.gen(function* () {
      const turn = yield* openCase(part.name, sample)
      return { turn, decision: yield* decideOn(part, turn) }
    })
  )
  /** The turns that the part joins, with its plan. */
  const joined = Effect.map(decisions, (all) =>
    all.flatMap(({ decision, turn }) => (decision === null ? [] : [{ decision, turn }]))
  )
  return {
    joins: Effect.map(joined, (all) => assert.isNotEmpty(all)),

    decidesAgain: Effect.gen(function* () {
      for (const { decision, turn } of yield* decisions) assert.deepStrictEqual(yield* decideOn(part, turn), decision)
    }),

    looks: Effect.gen(function* () {
      for (const sample of turns) {
        const turn = yield* openCase(part.name, sample)
        if (part.concerns?.(turn) === false) assert.isNull(yield* part.decide(turn))
        assert.strictEqual(part.concerns?.(turn), part.concerns?.(turn))
      }
    }),

    plansInJson: Effect.gen(function* () {
      for (const { decision } of yield* joined) {
        const stored = JSON.stringify(yield* Schema.encodeEffect(part.plan)(decision.plan))
        assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(part.plan)(JSON.parse(stored)), decision.plan)
        const { supplement = null } = decision
        assert.deepStrictEqual(JSON.parse(JSON.stringify(supplement)), supplement)
      }
    }),

    takesOddOptions: Effect.gen(function* () {
      for (const options of oddOptions) {
        const turn = yield* openCase(part.name, { options })
        expectNoDefect(yield* Effect.exit(decideOn(part, turn)), JSON.stringify(options))
      }
    }),

    takesOddTexts: Effect.gen(function* () {
      for (const content of oddTexts) {
        for (const sample of turns) {
          const turn = yield* openCase(part.name, { ...sample, content })
          expectNoDefect(yield* Effect.exit(decideOn(part, turn)), JSON.stringify(content.slice(0, 20)))
        }
        if (part.rewrite === undefined) continue
        const { assistant, thread } = yield* openCase(part.name, {})
        const source = { kind: "message", threadId: thread.id, assistantId: assistant.id } as const
        expectNoDefect(yield* Effect.exit(part.rewrite(content, source)), JSON.stringify(content.slice(0, 20)))
      }
    }),

    offersTools: Effect.gen(function* () {
      for (const { decision } of yield* joined) {
        const names = () =>
          part.tools?.(decision.plan).map((tool) => (typeof tool === "string" ? tool : tool.definition.name)) ?? []
        assert.deepStrictEqual(names(), names())
        assert.strictEqual(new Set(names()).size, names().length)
      }
    }),

    renders: Effect.gen(function* () {
      for (const { decision, turn } of yield* joined) {
        const { supplement } = decision
        if (supplement === undefined || part.render === undefined || turn.info === null) continue
        const { message } = yield* sampleBegin(turn.thread.id, { message: { content: turn.content } })
        const stored = { ...message, sequence: 1 } satisfies Message
        const reading = { info: turn.info, room: 1_000_000 }
        const first = yield* part.render(supplement, stored, reading)
        assert.deepStrictEqual(yield* part.render(supplement, stored, reading), first)
      }
    }),

    recalls: Effect.gen(function* () {
      for (const { decision, turn } of yield* joined) {
        const { history, live } = yield* openLeg(turn)
        const exit = yield* Effect.exit(part.recall?.(decision.plan, live, history) ?? Effect.succeed([]))
        expectNoDefect(exit, "recall")
        if (Exit.isFailure(exit)) continue
        const names = exit.value.map(({ name }) => name)
        assert.strictEqual(new Set(names).size, names.length)
        for (const recalled of exit.value) {
          assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(PromptPart)(recalled), recalled)
          assert.isAbove(recalled.weight, 0)
        }
      }
    }),

    answers: Effect.gen(function* () {
      for (const { decision, turn } of yield* joined) {
        if (decision.answers === undefined) continue
        if (part.answer === undefined) return assert.fail("The part says that it answers, and has no such step.")
        const { history, live } = yield* openLeg(turn)
        const exit = yield* Effect.exit(part.answer(decision.plan, live, history))
        expectNoDefect(exit, "answer")
        if (Exit.isFailure(exit)) continue
        assert.isNotEmpty(exit.value.content)
        yield* Schema.decodeUnknownEffect(Usage)(exit.value.usage ?? noUsage)
      }
    }),

    reviews: Effect.gen(function* () {
      for (const { decision, turn } of yield* joined) {
        const { live } = yield* openLeg(turn)
        const review = part.review?.(decision.plan, live)
        if (review === undefined) continue
        let before = ""
        for (const text of oddTexts) {
          for (const piece of [
            { text, before, tool: null },
            { text: JSON.stringify({ text }), before, tool: "some_tool" }
          ])
            expectNoDefect(yield* Effect.exit(review.judge(piece)), JSON.stringify(text.slice(0, 20)))
          before += text
        }
      }
    }),

    speaks: Effect.gen(function* () {
      for (const { decision, turn } of yield* joined) {
        for (const words of [[], ["Hello ", "there. ", "Again"], [""], ["\ud800"]]) {
          const { live } = yield* openLeg(turn)
          yield* part.speak?.(decision.plan, live, Stream.fromIterable(words)) ?? Effect.void
        }
      }
    }),

    ordersFollowUps: Effect.gen(function* () {
      for (const { decision, turn } of yield* joined) {
        const { message, run } = yield* sampleBegin(turn.thread.id, { message: { content: turn.content } })
        const saved: SavedMessage = {
          status: "SAVED",
          message,
          threadId: turn.thread.id,
          assistantId: turn.assistant.id,
          runId: run.id
        }
        const orders = part.followUps?.(decision.plan, saved) ?? []
        assert.deepStrictEqual(part.followUps?.(decision.plan, saved) ?? [], orders)
        assert.deepStrictEqual(JSON.parse(JSON.stringify(orders)), orders)
      }
    })
  }
}

/** What every part of turns must do. */
export const turnPartSuite = (name: string, { part, providers, turns }: TurnPartSuite): void => {
  /** The part is registered as always, and taken on its way. */
  const withPart = (check: keyof Checks) =>
    Effect.gen(function* () {
      const found: Array<Checks> = []
      const noting = Layer.effect(
        TurnParts,
        Effect.map(TurnParts, ({ all, register }) => ({
          all,
          register: <Plan>(each: TurnPart<Plan>) => {
            found.push(planChecks(each, turns))
            return register(each)
          }
        }))
      )
      const kernel = Kernel.layer.pipe(
        Layer.provideMerge(providers ?? ScriptedModel.layer([])),
        Layer.provideMerge(InMemory.layer),
        Layer.fresh
      )
      const stores = part.pipe(Layer.provide(noting), Layer.provideMerge(kernel))
      yield* Effect.gen(function* () {
        assert.isNotEmpty(found, "The layer registers no part.")
        for (const checks of found) yield* asNewOwner(checks[check])
      }).pipe(Effect.provide(stores))
    })

  describe(`the contract of TurnPart: ${name}`, () => {
    it.effect("joins a turn of those that the suite is given", () => withPart("joins"))
    it.effect("MUST decide the same again, because a decision has no effects", () => withPart("decidesAgain"))
    it.effect("MUST decide nothing in a turn that does not concern it", () => withPart("looks"))
    it.effect("MUST have a plan and supplements that are read again as they were stored", () => withPart("plansInJson"))
    it.effect("MUST refuse or leave options that it cannot read, and have no defect", () => withPart("takesOddOptions"))
    it.effect("MUST have no defect on any text", () => withPart("takesOddTexts"))
    it.effect("MUST offer the same tools for the same plan, each name once", () => withPart("offersTools"))
    it.effect("MUST render the same for the same supplement", () => withPart("renders"))
    it.effect("MUST recall without a defect what the window can share out, each name once", () => withPart("recalls"))
    it.effect("MUST answer with words, or fail, where it said that it answers", () => withPart("answers"))
    it.effect("MUST review any text without a defect", () => withPart("reviews"))
    it.effect("MUST end when the words end, also where there are none", () => withPart("speaks"))
    it.effect("MUST order the same follow-ups for the same message, as JSON", () => withPart("ordersFollowUps"))
  })
}
