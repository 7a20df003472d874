export type Result<Value, Failure = never> =
  | { readonly _tag: "Success"; readonly success: Value }
  | { readonly _tag: "Failure"; readonly failure: Failure }
