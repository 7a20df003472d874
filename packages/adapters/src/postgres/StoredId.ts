/**
 * Ids are stored in columns of type `uuid`. No row has an id of another form; in a condition such an id is replaced by null, which matches
 * no row. Only the canonical form in lower case is accepted: PostgreSQL accepts other spellings, and would find the same row by them.
 */
const canonical = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u

export const isStoredId = (id: string): boolean => canonical.test(id)

/** The value of an id in a condition. */
export const knownId = <Id extends string>(id: Id): Id | null => (isStoredId(id) ? id : null)

/** The id of a row to be written. Only an `IdSource` of the host can make an id that is not a UUID. */
export const newRowId = <Id extends string>(id: Id): Id => {
  if (isStoredId(id)) return id
  throw new Error(
    `The Postgres stores need UUIDs in lower case as ids, but got "${id}". Change the IdSource that you gave to the kernel.`
  )
}
