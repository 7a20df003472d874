/**
 * Ends a run on request. A run of this process is stopped and settled at once, with all that was said; one of another
 * process is asked to stop, and taken over when it does not within the grace. When this returns, the thread is free.
 */
import * as Effect from "effect/Effect"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import type { RunId } from "../primitives/Ids.ts"
import { isAtRest, isEnded } from "../runs/Run.ts"
import type { Workshop } from "./Workshop.ts"

export const cancelRun = Effect.fnUntraced(function* (workshop: Workshop, runId: RunId) {
  const { store, live, recovery } = workshop
  const changed = yield* workshop.signals.listen(runId)
  const now = yield* Clock.currentTimeMillis
  const found = yield* store.requestCancel(runId, new Date(now))
  if (Option.isNone(found) || isAtRest(found.value)) return
  if (live.get(runId) !== undefined) yield* live.stop(runId, "cancelled")
  const deadline = now + Duration.toMillis(workshop.settings.cancelGrace)
  while (true) {
    const run = yield* store.get(runId)
    if (Option.isNone(run) || isEnded(run.value.status)) return
    // The leg came to its pause in the same moment: the wish is for the run, so it is for the pause too.
    if (run.value.status === "REQUIRES_ACTION") return void (yield* store.requestCancel(runId, new Date(now)))
    const left = deadline - (yield* Clock.currentTimeMillis)
    if (left <= 0) return void (yield* recovery.endCancelled(runId))
    yield* Effect.raceFirst(changed, Effect.sleep(left))
  }
}, Effect.scoped)
