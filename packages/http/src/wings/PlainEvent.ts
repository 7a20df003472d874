/** The usual form of a part's event on the wire: under its own type, with the fields of its data. */
import { isJsonObject } from "@colloquy/core/adapters"
import type * as Schema from "effect/Schema"
import type { PartTold } from "./Wing.ts"

export const plainEvent = ({ data, type }: PartTold): Schema.JsonObject =>
  Object.assign({}, isJsonObject(data) ? data : { data }, { type })
