/** The use cases of evals as a service; `EvalsLayer` implements them. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { AssistantNotFound } from "../assistants/Assistant.ts"
import type { CaseId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { IdempotencyKey } from "../runs/RunStore.ts"
import type { ThreadNotFound } from "../threads/Thread.ts"
import type { IdempotencyConflict, MessageNotFound } from "../turns/TurnErrors.ts"
import type { CaseChange, CaseNotFound, CaseOfTurn, CaseRefused, EvalCase, NewCase, TooManyCases } from "./Case.ts"
import type { CasePage } from "./EvalStore.ts"

export interface CaseList {
  readonly cases: ReadonlyArray<EvalCase>
  /** `after` of the next page; null: there is none. */
  readonly next: CaseId | null
}

type MakeError = AssistantNotFound | CaseRefused | TooManyCases | IdempotencyConflict | StoreUnavailable

export interface CaseCalls {
  /** A case of a stored turn, or one that is written by hand. */
  readonly createCase: (
    asked: NewCase | CaseOfTurn,
    idempotency?: IdempotencyKey
  ) => Effect.Effect<EvalCase, MakeError | ThreadNotFound | MessageNotFound, Principal>
  /** All of these cases, or none. The ids are in the order of the cases. */
  readonly importCases: (
    cases: ReadonlyArray<NewCase>,
    idempotency?: IdempotencyKey
  ) => Effect.Effect<ReadonlyArray<CaseId>, MakeError, Principal>
  readonly getCase: (id: CaseId) => Effect.Effect<EvalCase, CaseNotFound | StoreUnavailable, Principal>
  /** Newest first. */
  readonly listCases: (page: CasePage) => Effect.Effect<CaseList, StoreUnavailable, Principal>
  /** Changes what is given. */
  readonly updateCase: (
    id: CaseId,
    change: CaseChange
  ) => Effect.Effect<EvalCase, CaseNotFound | CaseRefused | StoreUnavailable, Principal>
  readonly removeCase: (id: CaseId) => Effect.Effect<void, CaseNotFound | StoreUnavailable, Principal>
}

export class Evals extends Context.Service<Evals, CaseCalls>()("@colloquy/core/evals/Evals") {}
