/**
 * The work of rooms when a rewind is to forget the messages that it takes back. Rooms register this work as follow-ups, which are stored in
 * one step with the rewind.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { AssistantId, RunId } from "../primitives/Ids.ts"
import type { NewFollowUp } from "../runs/FollowUp.ts"

export interface ForgottenRuns {
  readonly assistantId: AssistantId
  /** The runs that wrote what is taken back. */
  readonly runIds: ReadonlyArray<RunId>
}

export type RunForgetter = (runs: ForgottenRuns) => Effect.Effect<ReadonlyArray<NewFollowUp>, never, Principal>

export class Rewinds extends Context.Service<
  Rewinds,
  {
    readonly register: (forget: RunForgetter) => Effect.Effect<void, never, Scope.Scope>
    readonly followUps: RunForgetter
  }
>()("@colloquy/core/turns/Rewinds") {
  static readonly layer: Layer.Layer<Rewinds> = Layer.sync(Rewinds, () => {
    const forgetters = new Set<RunForgetter>()
    return {
      register: (forget) =>
        Effect.acquireRelease(
          Effect.sync(() => forgetters.add(forget)),
          () => Effect.sync(() => forgetters.delete(forget))
        ).pipe(Effect.asVoid),
      followUps: (runs) =>
        Effect.map(
          Effect.forEach([...forgetters], (forget) => forget(runs)),
          (all) => all.flat()
        )
    }
  })
}
