/**
 * The room of running summaries. What no longer fits into the window is summarised, and the summary goes with it. Every kernel has it;
 * `summaries({ … })` among the rooms is for other settings.
 */
import { type Room, room, type RoomTypes } from "@colloquy/core/promises"
import { Summaries, type SummarySettingsPort } from "@colloquy/core/summaries"
import * as Effect from "effect/Effect"
import { type DeepPartial } from "@colloquy/core/adapters"
import type { RoomNeeds } from "../Store.ts"
import { asSummaryRoom } from "../SummaryRooms.ts"

interface SummariesTypes extends RoomTypes {
  readonly event: never
}

/** What `summaries()` gives. */
export type SummariesRoom = Room<SummariesTypes, RoomNeeds>

export const summaries = (settings: DeepPartial<SummarySettingsPort> = {}): SummariesRoom =>
  asSummaryRoom(room<SummariesTypes>()(Summaries.layer(settings), Effect.succeed({ name: "summaries" })))
