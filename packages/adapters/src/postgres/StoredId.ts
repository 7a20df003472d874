/**
 * Ids in columns of type `uuid`. An id in any other form cannot be stored, so nothing is stored under it: in a condition it becomes null,
 * which finds nothing. Only the canonical form counts; Postgres would take others for the same row.
 */
const canonical = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u

export const isStoredId = (id: string): boolean => canonical.test(id)

/** For conditions. */
export const knownId = <Id extends string>(id: Id): Id | null => (isStoredId(id) ? id : null)

/** For rows to be written. Anything but a UUID comes from a replaced `IdSource`, which is the host's mistake. */
export const newRowId = <Id extends string>(id: Id): Id => {
  if (isStoredId(id)) return id
  throw new Error(
    `The Postgres stores keep ids as UUIDs in lower case, but were given "${id}". Check the IdSource of the kernel.`
  )
}
