/** The keys of services, as far as other types name them, and services as a host with Effect takes them: `Layer.succeedContext(kernel.services)`. */
import type { Inspectable } from "effect/Inspectable"
import type { Pipeable } from "effect/Pipeable"

export interface Context<in Services> extends Pipeable, Inspectable {
  readonly "~effect/Context": { readonly _Services: (_: Services) => void }
  readonly mapUnsafe: ReadonlyMap<string, never>
  "~effect/Equal"(that: unknown): boolean
  "~effect/Hash"(): number
}

export interface Reference<out Shape> {
  readonly Service: Shape
}

export interface ServiceClass<_Self, Key extends string, Shape> {
  readonly Service: Shape
  new (_: never): {
    readonly "~effect/Context/Service": "~effect/Context/Service"
    readonly key: Key
    readonly Service: Shape
  }
}
