/** The room of running summaries: `summaries()`. What no longer fits into the window is summarised, and the summary goes with it. */
import { type Room, room, type RoomTypes } from "@colloquy/core/promises"
import { Summaries, type SummarySettingsPort } from "@colloquy/core/summaries"
import * as Effect from "effect/Effect"
import { type DeepPartial } from "@colloquy/core/adapters"
import type { RoomNeeds } from "../Store.ts"

interface SummariesTypes extends RoomTypes {
  readonly event: never
}

export type SummariesRoom = Room<SummariesTypes, RoomNeeds>

export const summaries = (given: DeepPartial<SummarySettingsPort> = {}): SummariesRoom =>
  room<SummariesTypes>()(Summaries.layer(given), Effect.succeed({ name: "summaries" }))
