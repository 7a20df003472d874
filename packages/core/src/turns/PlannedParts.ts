/** The parts of a run that was decided before: in another process or version, or by this one. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { PlannedPart, RegisteredPart } from "./RegisteredPart.ts"

/**
 * The parts of a stored plan that this kernel has and can read. A part that fails to read its plan is left out, so that the run can go on
 * and end.
 */
export const plannedParts = (
  parts: ReadonlyArray<RegisteredPart>,
  plans: Schema.JsonObject
): Effect.Effect<ReadonlyArray<PlannedPart>> =>
  Effect.map(
    Effect.forEach(parts, (part) => {
      const plan = plans[part.name]
      if (plan === undefined) return Effect.succeed(null)
      return Effect.catchCause(
        Effect.sync(() => part.planned(plan)),
        (cause) =>
          Effect.as(Effect.logError(`The part "${part.name}" is left out: it cannot read its stored plan`, cause), null)
      )
    }),
    (planned) => planned.filter((part) => part !== null)
  )
