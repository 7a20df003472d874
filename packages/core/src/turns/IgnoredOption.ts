/** An option of a request that had no effect, with the reason: found when a turn is planned, stored with its plan, shown with its run. */
import * as Schema from "effect/Schema"

export const IgnoredOption = Schema.Struct({ option: Schema.String, because: Schema.String })
export type IgnoredOption = typeof IgnoredOption.Type
