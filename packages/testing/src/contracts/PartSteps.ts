/**
 * How the contract of parts calls a step: as turns do, but with a sentence for whatever goes wrong. The sentence names the part and the step,
 * says what the step did, and what it must do.
 */
import type { TurnPart } from "@colloquy/core"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as TestClock from "effect/testing/TestClock"

/** What each step must do, as the end of a sentence. A step that the port gets has to be told here, and called by the checks. */
const promises = {
  concerns: "say true or false for any turn, and the same when it is asked again",
  again:
    "give options as JSON, or undefined, for any options with which the part let a message pass, and have no effects",
  rewrite: "give a text for any text, or fail with an error such as `TurnRefused`",
  rewriteOptions: "give options as JSON for any JSON, or fail with an error such as `TurnRefused`",
  refuse: "let a message pass, or fail with an error such as `TurnRefused`",
  listen:
    "give null, or a `content` that is a text with a `supplement` that is JSON, or fail with an error such as `TurnRefused`",
  decide: "give null or a `PartDecision`, the same for the same message, or fail with an error such as `TurnRefused`",
  recall: "give a list of `PromptPart`, each with a weight above 0 and a name of its own, or fail",
  render:
    "give what a prompt can hold, the same for the same supplement, and every tool call with its output later in its list",
  tools: "give definitions that a model can be offered, each name once, the same for the same plan",
  replaceTool: "give a tool with the definition of the one that it replaces, or that one itself",
  receive: "give true, false or undefined for any media and sources",
  handOver: "give a plan for any assistant, the same when it is asked again",
  output: "give a form, an instruction and a check that has a verdict for any text, the same when it is asked again",
  answer: "give a `content` that is not empty, or fail with a `ModelError`",
  review:
    "review by `sentence` or `whole`, and judge any text as `Pass`, `Change` with a text, `Stop` with a reason, or `Replace` with a text",
  speak: "end when the words end, also where there are none, and have no defect",
  followUps: "order follow-ups as JSON, the same for the same end of a turn",
  session: "give tools, with instructions that are a text or null, or fail with `StoreUnavailable`"
} satisfies Record<Exclude<keyof TurnPart<null>, "limits" | "name" | "plan">, string>

export type Step = keyof typeof promises

const refusals = ["TurnRefused", "InsufficientCredit", "StoreUnavailable"]

/** The errors that a step may fail with. A step that is not here may fail with any. */
const errors: Partial<Record<Step, ReadonlyArray<string>>> = {
  rewrite: refusals,
  refuse: refusals,
  listen: refusals,
  decide: refusals,
  answer: ["ModelError"],
  session: ["StoreUnavailable"]
}

/** A value in a sentence. */
export const shown = (value: unknown): string => {
  try {
    const json: string | undefined = JSON.stringify(value, (_, field: unknown) =>
      typeof field === "bigint" ? `${field}n` : field
    )
    return json === undefined ? String(value) : json.length > 80 ? `${json.slice(0, 80)}…` : json
  } catch {
    return String(value)
  }
}

const onOneLine = (text: string): string => text.replaceAll(/\s+/gu, " ")

const formatted = SchemaIssue.makeFormatterDefault()

/** An error in a sentence. Where an error could not be made, it says which of its fields is wrong. */
export const said = (error: unknown): string => {
  if (!(error instanceof Error)) return onOneLine(shown(error))
  const { cause, message } = error
  return onOneLine(SchemaIssue.isIssue(cause) ? `${message}: ${formatted(cause)}` : message)
}

export const isSame = (one: unknown, other: unknown): boolean => {
  try {
    assert.deepStrictEqual(one, other)
    return true
  } catch {
    return false
  }
}

/** How far the clock goes at a time. */
const beat = 10

/** The clock of the test follows the real one, so that a step that waits by design ends, and one that waits for nothing is named. */
export const letPass = Effect.fnUntraced(function* (millis: number) {
  for (let past = 0; past < millis; past += beat) {
    yield* TestClock.withLive(Effect.sleep(beat))
    yield* TestClock.adjust(beat)
  }
})

/** `patience`: how many milliseconds a step may take. */
export const partSteps = (part: string, patience: number) => {
  const fault = (step: Step, did: string, must: string = promises[step], cause?: unknown): never => {
    throw new Error(`The step "${step}" of the part "${part}" ${did}. It must ${must}.`, { cause })
  }

  const defect = (step: Step, on: string, cause: unknown): never => {
    return fault(step, `has a defect ${on} (${said(cause)})`, promises[step], cause)
  }

  /** A step without effects. `on` says what it was given: `on the text "Hello"`. */
  const call = <A>(step: Step, on: string, run: () => A): A => {
    try {
      return run()
    } catch (cause) {
      return defect(step, on, cause)
    }
  }

  /** A step that may fail. One that does not end in time is left behind, as turns do, also where it cannot be interrupted. */
  const ask = Effect.fnUntraced(function* <A, E, R>(step: Step, on: string, run: () => Effect.Effect<A, E, R>) {
    const fiber = yield* Effect.forkDetach(Effect.suspend(run), { startImmediately: true })
    const ended = yield* Effect.raceFirst(
      Effect.asSome(Fiber.await(fiber)),
      Effect.as(letPass(patience), Option.none<Exit.Exit<A, E>>())
    )
    if (Option.isNone(ended)) {
      fiber.interruptUnsafe()
      return fault(step, `did not end within ${patience / 1000} seconds ${on}`)
    }
    const exit = ended.value
    if (Exit.isSuccess(exit)) return exit.value
    const failed = Cause.findErrorOption(exit.cause)
    if (Cause.hasDies(exit.cause) || Option.isNone(failed)) return defect(step, on, Cause.squash(exit.cause))
    const kinds = errors[step] ?? []
    if (kinds.length > 0 && !kinds.some((kind) => Predicate.isTagged(failed.value, kind)))
      fault(step, `failed ${on} with an error that is no ${kinds.join(" or ")} (${said(failed.value)})`)
    return yield* exit
  })

  /** The value with its type. */
  const read = <S extends Schema.ConstraintDecoder<unknown>>(
    step: Step,
    on: string,
    schema: S,
    value: unknown
  ): S["Type"] =>
    Result.getOrElse(Schema.decodeUnknownResult(schema)(value), ({ message }) =>
      fault(step, `gave ${shown(value)} ${on} (${onOneLine(message)})`)
    )

  /** The test shows where the two differ. */
  const expectSame = (step: Step, did: string, again: unknown, first: unknown, must?: string): void => {
    if (isSame(again, first)) return
    assert.fail(again, first, `The step "${step}" of the part "${part}" ${did}. It must ${must ?? promises[step]}.`)
  }

  /** What is stored, as it is read again. */
  const stored = (step: Step, what: string, value: unknown): unknown => {
    const again: unknown = call(step, `as its ${what} is stored`, () => JSON.parse(JSON.stringify(value)))
    expectSame(step, `gave a ${what} that is read otherwise than it was stored`, again, value, `give a ${what} in JSON`)
    return again
  }

  return { ask, call, expectSame, fault, read, stored }
}
