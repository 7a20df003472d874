/** The room of helpers: `helpers()`. An assistant may ask those in its `helpers`, and hand over to those in its `handoffs`. */
import type { DeepPartial } from "@colloquy/core/adapters"
import { Helpers, type HelperSettings } from "@colloquy/core/helpers"
import { type Room, room, type RoomTypes } from "@colloquy/core/promises"
import * as Effect from "effect/Effect"
import type { RoomNeeds } from "../Store.ts"

interface HelpersTypes extends RoomTypes {
  readonly event: never
}

/** What `helpers()` gives. */
export type HelpersRoom = Room<HelpersTypes, RoomNeeds>

export const helpers = (given: DeepPartial<HelperSettings> = {}): HelpersRoom =>
  room<HelpersTypes>()(Helpers.layer(given), Effect.succeed({ name: "helpers" }))
