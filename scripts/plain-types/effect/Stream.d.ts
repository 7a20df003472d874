/** A stream that is handed on and never run here. */
export interface Stream<out Value, out Failure = never, out Needs = never> {
  readonly "~effect/Stream": {
    readonly _A: (_: never) => Value
    readonly _E: (_: never) => Failure
    readonly _R: (_: never) => Needs
  }
}
