/**
 * A run for which its dead process had done nothing yet goes on in another process: it waited in the queue, or its leg began with approved calls
 * and had not begun to run them. `Recovery` finds such runs, and `ResumedRuns`, which is built later, begins their legs.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Run } from "../runs/Run.ts"
import type { Lease } from "../runs/LogRecords.ts"
import type { TurnEvent } from "./TurnEvent.ts"

/** False: the run cannot go on, and nothing has happened. */
type Resume = (
  lease: Lease,
  run: Run,
  log: ReadonlyArray<TurnEvent>
) => Effect.Effect<boolean, StoreUnavailable, Principal>

export class Resumption extends Context.Service<Resumption, Deferred.Deferred<Resume>>()(
  "@colloquy/core/turns/Resumption"
) {
  static readonly layer: Layer.Layer<Resumption> = Layer.sync(Resumption, () => Deferred.makeUnsafe<Resume>())
}

/** What a further leg begins with: the ends of runs inside are told before it does anything. */
const beginnings: ReadonlySet<string> = new Set(["RunContinuing", "ChildBegan", "ChildEnded"])

/**
 * Whether nothing was done for the run, or for its further leg: before a leg runs an approved call, it stores that it is about to. Whether a first
 * leg had asked its model is not in the log.
 */
export const mayGoOn = (run: Run, log: ReadonlyArray<TurnEvent>): boolean =>
  !run.cancelRequested &&
  (run.status === "QUEUED" || (run.leg > 0 && log.length > 0 && log.every(({ _tag }) => beginnings.has(_tag))))
