/** Ids of callers are plain text: any text is taken, and what no record has is not found. */
interface Brand<Id> {
  readonly make: (value: string, options: { readonly disableChecks: boolean }) => Id
}

export const readId = <Id>(brand: Brand<Id>, id: string): Id => {
  // Plain JavaScript gives anything.
  if (typeof id === "string" && id !== "") return brand.make(id, { disableChecks: true })
  throw new TypeError("An id is a text that is not empty.")
}
