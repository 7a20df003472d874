/**
 * The matcher `toPass` for every `expect` that can be extended as that of Vitest and Jest: `expect.extend(matchers({ kernel }))`, then
 * `await expect(reply).toPass({ kind: "contains", text: "umbrella" })`.
 */
import type { Reply } from "@colloquy/core/promises"
import {
  type EvaluatedKernel,
  Expectation,
  type HostScorer,
  judgedReply,
  type JudgingOptions,
  readTurn,
  scoreTurn
} from "@colloquy/core/evals"
import * as Schema from "effect/Schema"

/** An expectation, or a scorer of your own. */
export type Passing = Expectation | HostScorer

/** The kernel and the judge of matchers that ask a model. */
export interface MatcherOptions extends JudgingOptions {
  /** Knows what a reply does not tell: the calls of hosted tools, and the time. With the room of typed answers, judges can be asked. */
  readonly kernel?: Pick<EvaluatedKernel, "answers" | "report" | "threads"> | undefined
}

/** What is added to the type of `expect(reply)`. With Vitest: `declare module "vitest" { interface Matchers<…> extends PassMatchers {} }`. */
export interface PassMatchers {
  /** The reply meets every expectation. To be awaited. */
  readonly toPass: (...expectations: ReadonlyArray<Passing>) => Promise<void>
}

/** What a matcher tells the test runner. */
export interface MatcherResult {
  readonly pass: boolean
  readonly message: () => string
}

export const matchers = (
  options: MatcherOptions = {}
): { readonly toPass: (reply: Reply, ...expectations: ReadonlyArray<Passing>) => Promise<MatcherResult> } => ({
  toPass: async (reply, ...given) => {
    if (given.length === 0) throw new TypeError("Say what is expected of the reply: toPass({ kind: … }).")
    const own = given.filter((each): each is HostScorer => !isExpectation(each))
    const expectations = given.map((each) => (isExpectation(each) ? decode(each) : named(each)))
    const { kernel } = options
    const unseen = expectations.find(({ kind }) => kernel === undefined && needsKernel.includes(kind))
    if (unseen !== undefined) {
      throw new TypeError(`A reply alone does not tell whether it passes "${unseen.kind}". Use matchers({ kernel }).`)
    }
    const turn = kernel === undefined ? judgedReply(reply) : await readTurn(kernel, reply, null)
    const scorers = [...own, ...(options.scorers ?? [])]
    const { scores } = await scoreTurn(expectations, turn, { ...options, scorers })
    const missed = scores.filter(({ passed }) => !passed)
    return {
      pass: missed.length === 0,
      message: () =>
        (missed.length === 0 ? scores : missed).map(({ expected, reason }) => `${expected}: ${reason}`).join("\n")
    }
  }
})

const needsKernel: ReadonlyArray<Expectation["kind"]> = ["calls", "calls_none", "time_under"]

const isExpectation = (given: Passing): given is Expectation => "kind" in given

const decode = Schema.decodeUnknownSync(Expectation, { errors: "all", onExcessProperty: "error" })

const named = ({ name }: HostScorer): Expectation => ({ kind: "custom", name })
