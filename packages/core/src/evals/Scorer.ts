/** What scorers need besides the turn, and the scorer of a host as a plain function. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { TypedAnswers } from "../answers/Answer.ts"
import type { AnswersRequest } from "../answers/Answers.ts"
import { Charge } from "../metering/Charge.ts"
import type { EmbeddingReply } from "../models/EmbeddingDriver.ts"
import type { Expectation } from "./Expectation.ts"
import type { JudgedTurn } from "./JudgedTurn.ts"
import type { Score } from "./Score.ts"

/** What the host's scorer gets. */
export interface ScoredTurn extends JudgedTurn {
  /** The settings of the expectation; null if it has none. */
  readonly settings: Schema.Json
  readonly owner: string
  /** Aborted when nobody waits for the score any more. */
  readonly signal: AbortSignal
}

/** A value from 0 to 1; true and false are 1 and 0. An object may decide itself whether the answer passed. */
export type Found = boolean | number | { readonly value: number; readonly passed?: boolean; readonly reason?: string }

/** A scorer of the host's own, for expectations of the kind `custom`. */
export interface HostScorer {
  readonly name: string
  readonly score: (turn: ScoredTurn) => Found | Promise<Found>
}

/** A scorer from a plain function: `scorer({ name: "rhymes", score: ({ content }) => rhymes(content) })`. */
export const scorer = (own: HostScorer): HostScorer => own

/** An expectation that needs what is absent here cannot be scored. */
export interface ScoringTools {
  /** The model that judges. */
  readonly judge?: { readonly provider: string; readonly model: string } | undefined
  readonly ask?: ((request: AnswersRequest) => Effect.Effect<TypedAnswers, Error, Principal>) | undefined
  /** The model whose vectors are compared. */
  readonly embedding?: { readonly provider: string; readonly model: string } | undefined
  readonly embed?: ((texts: ReadonlyArray<string>) => Effect.Effect<EmbeddingReply, Error, Principal>) | undefined
  readonly scorers?: ReadonlyArray<HostScorer> | undefined
}

/** The scores of an answer, and what they have cost. */
export interface Scored {
  readonly scores: ReadonlyArray<Score>
  /** What the judge and the vectors cost. The caller charges it. */
  readonly charges: ReadonlyArray<Charge>
}

/** A scorer could not tell. This says nothing about the answer. */
export class ScoringFailed extends Schema.TaggedError<ScoringFailed>()("ScoringFailed", {
  /** The kind of the expectation, or the name of the host's scorer. */
  scorer: Schema.String,
  reason: Schema.String,
  /** True: it may help to try again. */
  retryable: Schema.Boolean,
  /** What was spent until then. The caller charges it. */
  charges: Schema.Array(Charge)
}) {
  override get message() {
    return `The scorer "${this.scorer}" could not tell: ${this.reason}`
  }
}

/** Picks one expectation by its `kind`: `ExpectationOf<"contains">` has `text`. */
export type ExpectationOf<Kind extends Expectation["kind"]> = Extract<Expectation, { readonly kind: Kind }>

/** Why one expectation could not be scored. */
export class NotScored extends Schema.TaggedError<NotScored>()("NotScored", {
  reason: Schema.String,
  retryable: Schema.Boolean
}) {}
