export interface Scope {
  readonly "~effect/Scope": "~effect/Scope"
}
