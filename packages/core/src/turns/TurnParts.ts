/**
 * The parts that join the turns of a kernel. Rooms and hosts register theirs as layers over `Kernel.layer`, in any order. Turns call them
 * in the order of their names, so the order of registration has no effect.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { RegisteredPart } from "./RegisteredPart.ts"
import type { TurnPart } from "./TurnPart.ts"

export class TurnParts extends Context.Service<
  TurnParts,
  {
    /** The part joins every turn that begins from now on, until the scope closes. A defect if a part of that name is registered already. */
    readonly register: <Plan>(part: TurnPart<Plan>) => Effect.Effect<void, never, Scope.Scope>
    /** In the order of their names. */
    readonly all: () => ReadonlyArray<RegisteredPart>
  }
>()("@colloquy/core/turns/TurnParts") {
  /** A part without dependencies, as a layer: `TurnParts.part(guardrail)`. */
  static readonly part = <Plan>(part: TurnPart<Plan>): Layer.Layer<never, never, TurnParts> =>
    Layer.effectDiscard(TurnParts.use((parts) => parts.register(part)))
}
