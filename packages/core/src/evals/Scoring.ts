/**
 * Scores of all expectations of a case: those that are pure, those of a judge, those that compare vectors, and those of the host. What they
 * spend is told beside the scores; nothing is charged here.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Principal } from "../access/Principal.ts"
import { Answers, type OutcomeRequest } from "../answers/Answers.ts"
import { answersLayer } from "../answers/AnswersLayer.ts"
import type { OutcomeRefused } from "../answers/Outcome.ts"
import type { OutcomeStore } from "../answers/OutcomeStore.ts"
import type { Catalog } from "../catalog/Catalog.ts"
import type { Charge } from "../metering/Charge.ts"
import { EmbeddingFailed, EmbeddingModel } from "../models/EmbeddingModel.ts"
import { ModelError } from "../models/ModelError.ts"
import { Providers } from "../models/Provider.ts"
import { inTime } from "../primitives/Deadlines.ts"
import { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import type { Expectation } from "./Expectation.ts"
import { judgeTurn } from "./Judge.ts"
import type { JudgedTurn } from "./JudgedTurn.ts"
import type { Score } from "./Score.ts"
import { type Finding, scoreOfFailure, scorePlain, toScore } from "./Scorers.ts"
import {
  type ExpectationOf,
  type Found,
  type HostScorer,
  NotScored,
  type Scored,
  ScoringFailed,
  type ScoringTools
} from "./Scorer.ts"

/** All scores, in the order of the expectations, or the first reason why one could not be given. */
export const scoreAll = Effect.fnUntraced(function* (
  tools: ScoringTools,
  expectations: ReadonlyArray<Expectation>,
  turn: JudgedTurn
): Effect.fn.Return<Scored, ScoringFailed, Principal> {
  const charges: Array<Charge> = []
  const scores: Array<Score> = []
  for (const expectation of expectations) {
    const failure = scoreOfFailure(expectation, turn)
    scores.push(failure ?? (yield* scoreOne(tools, expectation, turn, charges)))
  }
  return { scores, charges }
})

const scoreOne = (
  tools: ScoringTools,
  expectation: Expectation,
  turn: JudgedTurn,
  charges: Array<Charge>
): Effect.Effect<Score, ScoringFailed, Principal> => {
  if (expectation.kind !== "judge" && expectation.kind !== "similar" && expectation.kind !== "custom") {
    const score = Effect.sync(() => scorePlain(expectation, turn))
    return mayTakeLong(expectation) ? Effect.andThen(Effect.yieldNow, score) : score
  }
  return find(tools, expectation, turn, charges).pipe(
    Effect.map((finding) => toScore(expectation, finding)),
    Effect.mapError(({ reason, retryable }) => {
      const scorer = expectation.kind === "custom" ? expectation.name : expectation.kind
      return new ScoringFailed({ scorer, reason, retryable, charges })
    })
  )
}

/** A case may have a hundred of them, and others run in between. */
const mayTakeLong = ({ kind }: Expectation): boolean => kind === "matches" || kind === "json_schema"

const find = (
  tools: ScoringTools,
  expectation: ExpectationOf<"judge" | "similar" | "custom">,
  turn: JudgedTurn,
  charges: Array<Charge>
): Effect.Effect<Finding, NotScored, Principal> => {
  switch (expectation.kind) {
    case "judge":
      return judgeTurn(tools, expectation, turn, charges)
    case "similar":
      return compareTexts(tools, expectation, turn, charges)
    case "custom":
      return askHost(tools, expectation, turn)
  }
}

// ------ vectors

const similarEnough = 0.8

const compareTexts = Effect.fnUntraced(function* (
  { embed, embedding }: ScoringTools,
  { at_least = similarEnough, text }: ExpectationOf<"similar">,
  { content }: JudgedTurn,
  charges: Array<Charge>
) {
  if (embed === undefined || embedding === undefined) {
    return yield* new NotScored({ reason: "No model embeds here. Name one.", retryable: false })
  }
  const nothing: Finding = { value: 0, passed: at_least === 0, reason: "The answer has no text." }
  if (content.trim() === "") return nothing
  const payee = { ...embedding, purpose: "embedding" }
  const { usage, vectors } = yield* embed([content, text]).pipe(
    Effect.mapError((error) => {
      const isPaid = error instanceof EmbeddingFailed || error instanceof ModelError
      if (isPaid && error.usage !== undefined) charges.push({ ...payee, usage: error.usage })
      const retryable = error instanceof ModelError ? error.isRetryable : error instanceof StoreUnavailable
      return new NotScored({ reason: error.message, retryable })
    })
  )
  charges.push({ ...payee, usage })
  const value = Math.max(0, cosine(vectors[0], vectors[1]))
  const finding: Finding = {
    value,
    passed: value >= at_least,
    reason: `The similarity is ${Number(value.toFixed(3))}, and ${at_least} is needed.`
  }
  return finding
})

/** 0 for a vector without a direction. */
const cosine = (one: Float32Array = new Float32Array(), other: Float32Array = new Float32Array()): number => {
  const product = (a: Float32Array, b: Float32Array) =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
  const lengths = Math.sqrt(product(one, one) * product(other, other))
  return lengths === 0 ? 0 : Math.min(1, product(one, other) / lengths)
}

// ------ the host

const hostEnough = 0.5

/** What a scorer of the host may take. */
const longestScorer = "1 minute"

const askHost = Effect.fnUntraced(function* (
  { scorers = [] }: ScoringTools,
  { at_least = hostEnough, name, settings = null }: ExpectationOf<"custom">,
  turn: JudgedTurn
) {
  const own = scorers.find((each) => each.name === name)
  if (own === undefined) {
    const known = scorers.map((each) => each.name).join(", ")
    return yield* new NotScored({
      reason: `There is no such scorer. Registered: ${known || "none"}.`,
      retryable: false
    })
  }
  const { ownerId } = yield* Principal
  const failed = (reason: string) => new NotScored({ reason, retryable: false })
  const found = yield* Effect.tryPromise({
    try: async (signal) => own.score({ ...turn, settings, owner: ownerId, signal }),
    catch: (error) => failed(`It threw: ${error instanceof Error ? error.message : String(error)}`)
  }).pipe(inTime(longestScorer, () => Effect.fail(failed(`It did not answer within ${longestScorer}.`))))
  const finding = read(found, at_least)
  return finding ?? (yield* failed("It gave no number from 0 to 1, or a `passed` or `reason` of a wrong type."))
})

/** Null: the result is no score. The function may be written in JavaScript, so its type proves nothing. */
const read = (found: Found | null, atLeast: number): Finding | null => {
  if (found === null) return null
  const { passed, reason, value } = typeof found === "object" ? found : { value: Number(found) }
  if (typeof value !== "number" || !(value >= 0 && value <= 1)) return null
  const finding = {
    value,
    passed: passed === undefined ? value >= atLeast : passed,
    reason: reason ?? `It gives ${Number(value.toFixed(3))}, and ${atLeast} is needed.`
  }
  return typeof finding.passed === "boolean" && typeof finding.reason === "string" ? finding : null
}

// ------ in a kernel

/** The judge, the embedding model and the host's own scorers. */
export interface ScoringSettings {
  /** Default: the default model of the kernel's providers. */
  readonly judge?: { readonly provider: string; readonly model: string } | undefined
  /** Default: the usual embedding model of the first provider that embeds. */
  readonly embedding?: { readonly provider: string; readonly model: string } | undefined
  readonly scorers?: ReadonlyArray<HostScorer> | undefined
}

/** Scores an answer by expectations, with the judges, embeddings and scorers that the layer was given. */
export class Scoring extends Context.Service<
  Scoring,
  {
    readonly score: (
      expectations: ReadonlyArray<Expectation>,
      turn: JudgedTurn
    ) => Effect.Effect<Scored, ScoringFailed, Principal>
    /** Who judges and who embeds. */
    readonly judge: NonNullable<ScoringTools["judge"]>
    readonly embedding: ScoringTools["embedding"]
    /** What a person says is true of a judge's answer. */
    readonly recordOutcome: (
      request: Pick<OutcomeRequest, "answer" | "question" | "outcome">
    ) => Effect.Effect<void, OutcomeRefused | StoreUnavailable, Principal>
    /** The names of scorers of the host that these expectations name and that are not registered. */
    readonly unknown: (expectations: ReadonlyArray<Expectation>) => ReadonlyArray<string>
  }
>()("@colloquy/core/evals/Scoring") {
  static readonly layer = (
    settings: ScoringSettings = {}
  ): Layer.Layer<Scoring, never, Catalog | OutcomeStore | Providers | ThreadStore> =>
    Layer.effect(
      Scoring,
      Effect.gen(function* () {
        const answers = yield* Answers
        const model = yield* EmbeddingModel
        const { all, defaults } = yield* Providers
        const usual = all.find(({ defaultEmbedding, embedding }) => embedding && defaultEmbedding)
        const embedding =
          settings.embedding ?? (usual?.defaultEmbedding && { provider: usual.id, model: usual.defaultEmbedding.model })
        const scorers = settings.scorers ?? []
        const judge = settings.judge ?? defaults
        const tools: ScoringTools = {
          judge,
          ask: answers.ask,
          embedding,
          embed: embedding && ((texts) => model.embed({ ...embedding, dimensions: null }, texts, "document")),
          scorers
        }
        return Scoring.of({
          judge,
          embedding,
          score: (expectations, turn) => scoreAll(tools, expectations, turn),
          // The outcome names neither an assistant nor a thread, which could be gone.
          recordOutcome: (request) => Effect.catchTag(answers.record(request), "OutcomeScopeNotFound", Effect.die),
          unknown: (expectations) => {
            const names = expectations.flatMap((each) => (each.kind === "custom" ? [each.name] : []))
            return [...new Set(names)].filter((name) => scorers.every((each) => each.name !== name))
          }
        })
      })
      // A layer of its own: the host may have added typed answers with other settings.
    ).pipe(Layer.provide([Layer.fresh(answersLayer), EmbeddingModel.layer]))
}
