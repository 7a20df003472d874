/** Before step 1 of a turn: a request whose idempotency key was used before joins the turn of the first request. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { isAtRest, type Run } from "../runs/Run.ts"
import type { FoundRepeat, IdempotencyKey, Repeated } from "../runs/Idempotency.ts"
import { RunStore } from "../runs/RunStore.ts"
import { Followers } from "./Followers.ts"
import { restedTurn } from "./PrunedLog.ts"
import { Recovery } from "./Recovery.ts"
import { TurnSignals } from "./RunningTurns.ts"
import { startedTurn, type StartedTurn } from "./StartedTurn.ts"
import { FirstAnswerGone, ThreadBusy } from "./TurnErrors.ts"
import { IdempotencyConflict } from "../runs/AnsweredBefore.ts"
import { decodePlan } from "./TurnPlan.ts"
import { awaitsBeginning, type ReadMode } from "./TurnRequest.ts"

export type RepeatError = FirstAnswerGone | IdempotencyConflict | ThreadBusy | StoreUnavailable

export class Repeats extends Context.Service<
  Repeats,
  {
    /** The turn that the key began, if there is one. A conflict, if the key was used with another request body. */
    readonly find: (
      key: IdempotencyKey | undefined,
      readMode?: ReadMode
    ) => Effect.Effect<Option.Option<StartedTurn>, RepeatError, Principal>
    /**
     * Joins the turn of the first request. While that turn waits in the queue, a repeat that awaits its beginning waits too, and both may
     * fail with `ThreadBusy`.
     */
    readonly join: (
      repeated: Repeated | FoundRepeat,
      fingerprint: string,
      readMode?: ReadMode
    ) => Effect.Effect<StartedTurn, RepeatError, Principal>
    /** The newest leg of a run, live or from the store. A run that was cancelled while it waited has no events of that: its record tells it. */
    readonly newest: (run: Run) => Effect.Effect<StartedTurn, StoreUnavailable, Principal>
  }
>()("@colloquy/core/turns/Repeats") {
  static readonly layer: Layer.Layer<Repeats, never, RunStore | TurnSignals | Recovery | Followers> = Layer.effect(
    Repeats,
    Effect.gen(function* () {
      const store = yield* RunStore
      const signals = yield* TurnSignals
      const recovery = yield* Recovery
      const followers = yield* Followers
      const counter = yield* TokenCounter

      const join = Effect.fnUntraced(function* (
        repeated: Repeated | FoundRepeat,
        fingerprint: string,
        readMode: ReadMode = {}
      ) {
        if (repeated.fingerprint !== fingerprint) return yield* new IdempotencyConflict()
        const run = yield* store.get(repeated.runId)
        if (Option.isNone(run)) {
          const threadId = "threadId" in repeated ? repeated.threadId : null
          return yield* new FirstAnswerGone({ runId: repeated.runId, threadId })
        }
        const { threadId, assistantId, id } = run.value
        if (run.value.status === "QUEUED") {
          if (awaitsBeginning(readMode)) yield* untilBegun(run.value)
        }
        // The request answered some calls of a run that waits: no leg has begun since.
        else if (isAtRest(run.value.status) && repeated.legStart > run.value.lastSequence)
          return yield* restedTurn(store, counter, run.value)
        const events = yield* followers.events(id, repeated.legStart - 1, undefined, run.value)
        const ids = { threadId, assistantId, runId: id }
        return startedTurn({ ...ids, ...beginningIn(run.value) }, () => events)
      })

      const untilBegun = Effect.fnUntraced(function* ({ id, threadId }: Run) {
        const changed = yield* signals.listen(id)
        while (true) {
          const run = yield* store.get(id)
          if (Option.isNone(run)) return yield* new ThreadBusy({ threadId, runId: id })
          if (run.value.status !== "QUEUED") return
          if (!(yield* recovery.endExpired(id))) yield* changed
        }
      }, Effect.scoped)

      const newest = Effect.fnUntraced(function* (run: Run) {
        if (run.status === "CANCELLED") return yield* restedTurn(store, counter, run)
        const { assistantId, id, threadId } = run
        const events = yield* followers.events(id, run.legStart - 1, undefined, run)
        const ids = { threadId, assistantId, runId: id }
        return startedTurn({ ...ids, ...beginningIn(run) }, () => events)
      })

      return Repeats.of({
        join,
        newest,
        find: (key, readMode) =>
          key === undefined
            ? Effect.succeedNone
            : Effect.flatMap(
                store.findRepeated(key.key),
                Option.match({
                  onNone: () => Effect.succeedNone,
                  onSome: (repeated) => Effect.map(join(repeated, key.fingerprint, readMode), Option.some)
                })
              )
      })
    })
  )
}

const beginningIn = ({ createdAt, plan }: Run) => ({ createdAt, ignored: decodePlan(plan).ignored })
