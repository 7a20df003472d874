/** A window on an ordered list. The bounds are those of the API. */
import * as Schema from "effect/Schema"

/** The most records that a page may leave out before it. */
export const maximumSkip = 10_000
/** The most records of one page. */
export const maximumLimit = 200

export const Page = Schema.Struct({
  skip: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumSkip })),
  limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumLimit }))
})
export type Page = typeof Page.Type

/** The first page of the usual length. */
export const firstPage: Page = { skip: 0, limit: 100 }

/** Checks that a number counts something. Stores take every other one differently. */
export const readCount = (name: string, value: number): number => {
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new TypeError(`\`${name}\` must be a whole number from 0, and is ${String(value)}.`)
}

/** Checks a page that a host gives. */
export const checkPage = ({ limit, skip }: Page): Page => ({
  skip: readCount("skip", skip),
  limit: readCount("limit", limit)
})
