/** Parts of turns for tests of guards: one that takes keys away from every text that enters a turn, and notes what it was given. */
import { type TurnPart, TurnParts } from "@colloquy/core"
import type { TextSource } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export const secret = /sk-\d+/gu

/** Joins every turn. */
export const partWith = (name: string, steps: Partial<TurnPart<null>>): TurnPart<null> => ({
  name,
  plan: Schema.Null,
  decide: () => Effect.succeed({ plan: null }),
  ...steps
})

export const makeGuard = () => {
  const given: Array<readonly [kind: TextSource["kind"], text: string]> = []
  const part = partWith("guard", {
    rewrite: (text, { kind }) => Effect.sync(() => (given.push([kind, text]), text.replaceAll(secret, "[key]")))
  })
  return {
    part,
    /** As long as the scope of the test. */
    join: Effect.flatMap(TurnParts, (parts) => parts.register(part)),
    /** The texts with a key that it was given besides the message. */
    found: () => given.filter(([kind, text]) => kind !== "message" && text.includes("sk-")),
    /** The texts without the message that had been changed before they were given. */
    again: () => given.filter(([kind, text]) => kind !== "message" && text.includes("[key]"))
  }
}
