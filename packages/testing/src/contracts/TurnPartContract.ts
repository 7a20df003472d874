/**
 * The contract of a part of turns, in the terms of `TurnPart`: each step that the part has is called as turns call it, over a kernel in memory.
 * What a part does in a conversation is tested with `TestKernel`.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, type Providers, type TurnPart, TurnParts } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ScriptedModel } from "../scripted/ScriptedModel.ts"
import { type PartChecks, partChecks } from "./PartChecks.ts"
import type { SampleTurn } from "./PartScenes.ts"
import { asNewOwner } from "./Samples.ts"

export type { SampleTurn } from "./PartScenes.ts"

/** The part, and turns that concern it. */
export interface TurnPartSuite {
  /** The part as its host adds it, with everything that it needs beside the kernel, its stores and its providers. */
  readonly part: Layer.Layer<never, unknown, Kernel.Kernel | InMemory.Stores | Providers>
  /** Turns of which the part joins at least one. */
  readonly turns: ReadonlyArray<SampleTurn>
  /** Default: a scripted conversation model, `scripted-model` of `scripted`, which every sample names. */
  readonly providers?: Layer.Layer<Providers>
}

/** How many milliseconds a step of a part may take here. */
const usualPatience = 5000

/** The part is registered as always, and taken on its way. */
export const checkPart = Effect.fnUntraced(function* (
  { part, providers, turns }: TurnPartSuite,
  check: keyof PartChecks,
  patience = usualPatience
) {
  const found: Array<PartChecks> = []
  const noting = Layer.effect(
    TurnParts,
    Effect.map(TurnParts, ({ all, register }) => ({
      all,
      register: <Plan>(each: TurnPart<Plan>) => {
        found.push(partChecks(each, turns, patience))
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
    assert(found.length > 0, "The layer registers no part. Give one that does, for example `TurnParts.part(…)`.")
    for (const checks of found) yield* asNewOwner(checks[check])
  }).pipe(Effect.provide(stores))
})

/** What every part of turns must do. */
export const turnPartSuite = (name: string, suite: TurnPartSuite): void => {
  // Longer than a step may take, so that the sentence comes first.
  const test = (title: string, check: keyof PartChecks): void =>
    it.effect(title, () => checkPart(suite, check), 120_000)

  describe(`the contract of TurnPart: ${name}`, () => {
    test("joins a turn of those that the suite is given", "joins")
    test("MUST decide the same again, because a decision has no effects", "decidesAgain")
    test("MUST decide nothing in a turn that does not concern it", "looks")
    test("MUST have a plan and supplements that are read again as they were stored", "plansInJson")
    test("MUST refuse or leave options that it cannot read, and have no defect", "takesOddOptions")
    test("MUST have no defect on any text", "takesOddTexts")
    test("MUST rewrite any text to a text, or refuse it", "rewrites")
    test("MUST have options for a message that is sent again, as JSON", "isAskedAgain")
    test("MUST offer the same tools for the same plan, each name once", "offersTools")
    test("MUST put only a tool with the same definition in the place of another", "replacesTools")
    test("MUST have a plan for another assistant that is read again as it was stored", "handsOver")
    test("MUST render the same for the same supplement, as a prompt can hold it", "renders")
    test("MUST recall without a defect what the window can share out, each name once", "recalls")
    test("MUST rewrite what it has found before it keeps or tells it", "rewritesFound")
    test("MUST say whether it has kept media, without a defect", "receives")
    test("MUST want an output in one form, and have one verdict on any text", "wantsOutput")
    test("MUST answer with words, or fail, where it said that it answers", "answers")
    test("MUST review any text without a defect", "reviews")
    test("MUST end when the words end, also where there are none", "speaks")
    test("MUST order the same follow-ups for the same end of a turn, as JSON", "ordersFollowUps")
    test("MUST join a voice session without a defect", "joinsSessions")
  })
}
