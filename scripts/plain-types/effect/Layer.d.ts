/** A layer that is handed on and never built here. */
export interface Layer<in Provided, out Failure = never, out Needs = never> {
  readonly "~effect/Layer": {
    readonly _ROut: (_: Provided) => void
    readonly _E: (_: never) => Failure
    readonly _RIn: (_: never) => Needs
  }
}
