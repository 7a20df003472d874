/** A header that may come more than once, as one text. */
export const firstHeader = (header: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof header === "string" || header === undefined ? header : header.join(", ")
