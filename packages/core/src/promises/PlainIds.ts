/** Ids of callers are plain text. Any text is accepted; an id without a record is not found. */
interface Brand<Id> {
  readonly make: (value: string, options: { readonly disableChecks: boolean }) => Id
}

/** Checks that a text can be an id of this kind. */
export const readId = <Id>(brand: Brand<Id>, id: string): Id => {
  // Callers in plain JavaScript may pass any value.
  if (typeof id === "string" && id !== "") return brand.make(id, { disableChecks: true })
  throw new TypeError("An id must be a text that is not empty.")
}
