export interface Brand<in out Keys extends string> {
  readonly "~effect/Brand": { readonly [Key in Keys]: Key }
}
