/** Scores of a turn, paid for: what judges and vectors will cost is reserved before, noted while they answer, and charged after. */
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import { beginOutside, type SpentFor } from "../metering/ChargeOutside.ts"
import { type Charge, totalCost } from "../metering/Charge.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import { Metering } from "../metering/Metering.ts"
import { paid } from "../metering/PaidCall.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { Providers } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { type FollowUpFailed, withoutCredit } from "../runs/FollowUpWorker.ts"
import type { Expectation } from "./Expectation.ts"
import { judgePrompt } from "./Judge.ts"
import type { JudgedTurn } from "./JudgedTurn.ts"
import type { Score } from "./Score.ts"
import { isAnswered } from "./Scorers.ts"
import { Scoring } from "./Scoring.ts"

/** Scores, or why there are none. */
export interface PaidScores {
  readonly scores: ReadonlyArray<Score>
  readonly error: string | null
  /** It may help to try again. */
  readonly retryable: boolean
  /** What judges and vectors cost; null: not known. */
  readonly costUsd: number | null
}

export type ScorePaid = (
  expectations: ReadonlyArray<Expectation>,
  turn: JudgedTurn,
  spentFor: SpentFor
) => Effect.Effect<PaidScores, FollowUpFailed | StoreUnavailable, Principal>

const cost = (charges: ReadonlyArray<Charge>) => (charges.length === 0 ? 0 : totalCost(charges))

export const makePaidScoring = Effect.gen(function* () {
  const scoring = yield* Scoring
  const providers = yield* Providers
  const { count } = yield* TokenCounter
  const account = { ledger: yield* UsageLedger, metering: yield* Metering }
  const { hold } = yield* makeDayBudget

  /** Who is paid for the scores, and for how much of a prompt; null: they cost nothing. */
  const plan = Effect.fnUntraced(function* (expectations: ReadonlyArray<Expectation>, turn: JudgedTurn) {
    if (!isAnswered(turn)) return null
    const judged = expectations.flatMap((each) => (each.kind === "judge" ? [count(judgePrompt(each, turn))] : []))
    const compared = expectations.flatMap((each) =>
      each.kind === "similar" ? [count(turn.content) + count(each.text)] : []
    )
    const { embedding, judge } = scoring
    const payee =
      judged.length > 0
        ? { ...judge, purpose: "judge" }
        : compared.length > 0 && embedding !== undefined
          ? { ...embedding, purpose: "embedding" }
          : null
    if (payee === null) return null
    // A provider of typed answers alone has no model of conversations: the prompt is what is known of its price.
    const model =
      judged.length === 0
        ? null
        : yield* providers.resolve(judge.provider, judge.model).pipe(
            Effect.map(({ info }) => info),
            Effect.catchTag("ProviderNotFound", () => Effect.succeed(null))
          )
    const promptTokens = [...judged, ...compared].reduce((sum, tokens) => sum + tokens, 0)
    return { payee, model, promptTokens }
  })

  const score: ScorePaid = Effect.fnUntraced(function* (expectations, turn, spentFor) {
    const asked = scoring.score(expectations, turn)
    const planned = yield* plan(expectations, turn)
    const need = { purpose: planned?.payee.purpose ?? "", amountUsd: null }
    const noCredit = withoutCredit("to judge an answer")
    if (planned !== null) yield* Effect.catchTag(account.metering.ensureCredit(need), "InsufficientCredit", noCredit)
    const scored =
      planned === null
        ? asked
        : paid(beginOutside(account, spentFor), {
            payee: planned.payee,
            call: asked,
            charges: ({ charges }) => charges,
            chargesOfFailure: ({ charges }) => charges
          }).pipe(
            hold({ ...planned, need, assistantId: spentFor.assistantId }),
            Effect.catchTag("InsufficientCredit", noCredit)
          )
    return yield* scored.pipe(
      Effect.map(({ charges, scores }) => ({ scores, error: null, retryable: false, costUsd: cost(charges) })),
      Effect.catchTag("ScoringFailed", ({ charges, message, retryable }) =>
        Effect.succeed({ scores: [], error: message, retryable, costUsd: cost(charges) })
      )
    )
  })
  return score
})
