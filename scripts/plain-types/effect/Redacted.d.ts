/** A value that logs do not show. */
import type { Pipeable } from "effect/Pipeable"

export interface Redacted<out Value = string> extends Pipeable {
  readonly "~effect/Redacted": { readonly _A: (_: never) => Value }
  readonly label: string | undefined
  "~effect/Equal"(that: unknown): boolean
  "~effect/Hash"(): number
}
