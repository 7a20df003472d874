/** What a key allows: reading, also changing, or everything. Each scope contains those before it. */
import * as Schema from "effect/Schema"

export const KeyScope = Schema.Literals(["read", "write", "admin"])
export type KeyScope = typeof KeyScope.Type

const ranks: { readonly [Scope in KeyScope]: number } = { read: 0, write: 1, admin: 2 }

/** A principal without a scope may do everything: the host's own code, and sessions for which the host names none. */
export const allows = ({ scope = "admin" }: { readonly scope?: KeyScope }, needed: KeyScope): boolean =>
  ranks[scope] >= ranks[needed]
