/** The sizes and times of pages are those of callers, who may pass any: `Number(query.limit)` is none where the query has no limit. */
import { checkPage, firstPage, type Page } from "../primitives/Page.ts"

export { readCount } from "../primitives/Page.ts"

/** Checks that a date is one, of a year with four digits. Stores take every other one differently. */
export const readTime = (name: string, value: Date): Date => {
  const year = value.getUTCFullYear()
  if (year >= 0 && year <= 9999) return value
  throw new TypeError(`\`${name}\` must be a date of the years 0 to 9999, and is ${String(value)}.`)
}

/** A page, of the usual size where none is given. */
export const readPage = ({
  limit = firstPage.limit,
  skip = firstPage.skip
}: {
  readonly [Key in keyof Page]?: number | undefined
}): Page => checkPage({ skip, limit })
