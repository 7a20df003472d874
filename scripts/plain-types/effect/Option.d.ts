export type Option<Value> = { readonly _tag: "None" } | { readonly _tag: "Some"; readonly value: Value }
