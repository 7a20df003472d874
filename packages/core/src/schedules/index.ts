/** Schedules: messages that are sent at the times of a cron expression. A separate wing, `@colloquy/core/schedules`. */
import { wingLayers } from "../primitives/WingLayer.ts"
import { layerSchedules } from "./SchedulesLayer.ts"
import { Schedules as UseCases } from "./Schedules.ts"
import { ScheduleSettings } from "./ScheduleSettings.ts"

export { type LastTime, OnMissed, Schedule, ScheduleNotFound, ScheduleRefused, TooManySchedules } from "./Schedule.ts"
export type { NewSchedule, ScheduleList, ScheduleWithTimes } from "./Schedules.ts"
export type { ScheduleSettings } from "./ScheduleSettings.ts"
export { type Advance, type DueSchedule, type SchedulePage, ScheduleStore } from "./ScheduleStore.ts"

/** The use cases, and the whole wing: `Schedules.layer()` over `Kernel.layer`. It gives `Schedules`. */
export const Schedules = Object.assign(UseCases, wingLayers(ScheduleSettings, layerSchedules, { positive: ["poll"] }))
export type Schedules = UseCases
