/** Port: keeps cases. They belong to their owner alone, and not to a thread or an assistant. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { CaseId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { AnsweredOnce } from "../runs/Branches.ts"
import type { EvalCase } from "./Case.ts"

export interface CasePage {
  readonly limit: number
  /** The last case of the page before. */
  readonly after?: CaseId
  /** Only cases with this tag. */
  readonly tag?: string
}

export type EvalStored = "stored" | "too_many" | "repeated"

export class EvalStore extends Context.Service<
  EvalStore,
  {
    /**
     * MUST store all of these cases in one step, unless the principal would then have more than `most`; then MUST store nothing. With `once`,
     * MUST store the answer for `RunStore.findAnswered` in the same step; when the key was used within the last 24 hours, MUST store nothing
     * and return "repeated".
     */
    readonly insertCases: (
      cases: ReadonlyArray<EvalCase>,
      most: number,
      once: AnsweredOnce | null
    ) => Effect.Effect<EvalStored, StoreUnavailable, Principal>

    /** MUST return none both for an unknown case and for another owner's. */
    readonly getCase: (id: CaseId) => Effect.Effect<Option.Option<EvalCase>, StoreUnavailable, Principal>

    /** MUST return the principal's cases in the reverse order of their insertion, at most `limit`, and begin behind `after`. */
    readonly listCases: (page: CasePage) => Effect.Effect<ReadonlyArray<EvalCase>, StoreUnavailable, Principal>

    /** MUST replace the case; false if the principal has none with this id. */
    readonly replaceCase: (evalCase: EvalCase) => Effect.Effect<boolean, StoreUnavailable, Principal>

    /** MUST delete it, and nothing else; false: there was none. */
    readonly removeCase: (id: CaseId) => Effect.Effect<boolean, StoreUnavailable, Principal>
  }
>()("@colloquy/core/evals/EvalStore") {}
