/**
 * A leg that began with approved calls, and whose process died before it began to run them, is gone on with: nothing was done yet, so nothing
 * is done twice. `Recovery` finds such legs, and `OpenCalls`, which is built later, knows how legs begin.
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

/** False: the leg cannot be gone on with, and nothing has happened. */
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

/** Whether the leg has done nothing but begin. Before it runs an approved call, it stores that it is about to. */
export const hasOnlyBegun = (run: Run, log: ReadonlyArray<TurnEvent>): boolean =>
  run.leg > 0 && !run.cancelRequested && log.length > 0 && log.every(({ _tag }) => beginnings.has(_tag))
