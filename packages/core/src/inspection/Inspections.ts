/** Use case: what happened inside a run. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { RunNotFound } from "../runs/Run.ts"
import type { Inspection } from "./Inspection.ts"

export class Inspections extends Context.Service<
  Inspections,
  {
    /**
     * What happened inside a run, and what its model read. It is computed from the store on each call, so it is meant for occasional
     * inspection, not for every turn.
     */
    readonly inspect: (
      threadId: ThreadId,
      runId: RunId
    ) => Effect.Effect<Inspection, RunNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/inspection/Inspections") {}
