/**
 * The parts that join the turns of a kernel. Rooms and hosts register theirs as layers over `Kernel.layer`, in any order; turns go through
 * them in the order of their names, so that the order of registration never shows.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Deadlines } from "../primitives/Deadlines.ts"
import { limitedPart } from "./PartLimits.ts"
import { registeredPart, type RegisteredPart, type TurnPart } from "./TurnPart.ts"
import { TurnSettings } from "./TurnSettings.ts"

export class TurnParts extends Context.Service<
  TurnParts,
  {
    /** The part joins every turn that begins from now on, until the scope closes. Dies when a part of that name is there already. */
    readonly register: <Plan>(part: TurnPart<Plan>) => Effect.Effect<void, never, Scope.Scope>
    /** In the order of their names. */
    readonly all: () => ReadonlyArray<RegisteredPart>
  }
>()("@colloquy/core/turns/TurnParts") {
  static readonly layer: Layer.Layer<TurnParts> = Layer.effect(
    TurnParts,
    Effect.gen(function* () {
      const deadlines = yield* Deadlines
      const settings = yield* TurnSettings
      let parts: ReadonlyArray<RegisteredPart> = []
      return TurnParts.of({
        all: () => parts,
        register: (part) =>
          Effect.acquireRelease(
            Effect.suspend(() => {
              if (parts.some(({ name }) => name === part.name)) {
                return Effect.die(new Error(`Two parts of turns have the name "${part.name}". Register it once.`))
              }
              const registered = registeredPart(limitedPart(part, settings, deadlines))
              parts = [...parts, registered].toSorted((a, b) => (a.name < b.name ? -1 : 1))
              return Effect.succeed(registered)
            }),
            (registered) =>
              Effect.sync(() => {
                parts = parts.filter((each) => each !== registered)
              })
          )
      })
    })
  ).pipe(Layer.provide(Deadlines.layer))

  /** A part that needs nothing else, as a layer: `TurnParts.part(guardrail)`. */
  static readonly part = <Plan>(part: TurnPart<Plan>): Layer.Layer<never, never, TurnParts> =>
    Layer.effectDiscard(TurnParts.use((parts) => parts.register(part)))
}
