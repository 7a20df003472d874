export type VoidIfEmpty<Value extends object> = keyof Value extends never ? Value | void : Value
