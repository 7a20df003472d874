/**
 * The register of parts, in a module of its own. A wing that only names `TurnParts` does not import the code that calls parts, which keeps
 * the wing's bundle small.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Deadlines } from "../primitives/Deadlines.ts"
import { hostToolsName } from "../tools/HostedTool.ts"
import { type RegisteredPart, registeredPart } from "./RegisteredPart.ts"
import { TurnParts } from "./TurnParts.ts"
import { TurnSettings } from "./TurnSettings.ts"

export const turnPartsLayer: Layer.Layer<TurnParts> = Layer.effect(
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
            if (part.name === hostToolsName) {
              return Effect.die(
                new Error(
                  `"${part.name}" is the name under which the host's own tools keep what they keep. Name the part otherwise.`
                )
              )
            }
            if (parts.some(({ name }) => name === part.name)) {
              return Effect.die(new Error(`Two parts of turns have the name "${part.name}". Register it once.`))
            }
            const registered = registeredPart(part, settings, deadlines)
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
