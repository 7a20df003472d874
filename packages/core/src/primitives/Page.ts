/** A window on an ordered list. The bounds are those of the API. */
import * as Schema from "effect/Schema"

export const maximumSkip = 10_000
export const maximumLimit = 200

export const Page = Schema.Struct({
  skip: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maximumSkip })),
  limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maximumLimit }))
})
export type Page = typeof Page.Type

export const firstPage: Page = { skip: 0, limit: 100 }
