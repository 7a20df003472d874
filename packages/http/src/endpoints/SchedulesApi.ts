/** Schedules of an assistant. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { jsonOrFormBody } from "../bodies/RequestBody.ts"
import { Conflict, NotFound, NotImplemented, ServiceUnavailable } from "../wire/Errors.ts"
import { IntegerWord, Uuid } from "../wire/Fields.ts"
import { RunAccepted } from "../wire/InboxRecords.ts"
import {
  Schedule,
  ScheduleCreated,
  ScheduleDeleted,
  ScheduleList,
  ScheduleRequest,
  ScheduleUpdate
} from "../wire/ScheduleRecords.ts"
import { IdempotencyHeader, turnErrors } from "./MessagesApi.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

const ofAssistant = { assistant_id: Uuid }
const ofSchedule = { assistant_id: Uuid, schedule_id: Uuid }
const errors = [NotFound, NotImplemented, ServiceUnavailable] as const

export const scheduleBodies = { create: jsonOrFormBody(ScheduleRequest), update: jsonOrFormBody(ScheduleUpdate) }

export const SchedulesApi = HttpApiGroup.make("schedules")
  .add(
    HttpApiEndpoint.post("create", "/assistants/:assistant_id/schedules", {
      params: ofAssistant,
      headers: IdempotencyHeader,
      payload: ScheduleRequest,
      success: ScheduleCreated,
      error: [...unreadable, Conflict, ...errors]
    }).annotateMerge(described("write", "Send a message at the times of a cron expression", scheduleBodies.create)),
    HttpApiEndpoint.get("list", "/assistants/:assistant_id/schedules", {
      params: ofAssistant,
      query: {
        limit: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
        cursor: Schema.optionalKey(Uuid)
      },
      success: ScheduleList,
      error: errors
    }).annotateMerge(described("read", "List the schedules of an assistant, newest first")),
    HttpApiEndpoint.get("get", "/assistants/:assistant_id/schedules/:schedule_id", {
      params: ofSchedule,
      success: Schedule,
      error: errors
    }).annotateMerge(described("read", "Look at a schedule, with its next five times")),
    HttpApiEndpoint.put("update", "/assistants/:assistant_id/schedules/:schedule_id", {
      params: ofSchedule,
      payload: ScheduleUpdate,
      success: Schedule,
      error: [...unreadable, ...errors]
    }).annotateMerge(described("write", "Change, pause or resume a schedule", scheduleBodies.update)),
    HttpApiEndpoint.delete("remove", "/assistants/:assistant_id/schedules/:schedule_id", {
      params: ofSchedule,
      success: ScheduleDeleted,
      error: errors
    }).annotateMerge(described("write", "Delete a schedule")),
    HttpApiEndpoint.post("run", "/assistants/:assistant_id/schedules/:schedule_id/run", {
      params: ofSchedule,
      headers: IdempotencyHeader,
      success: RunAccepted,
      error: [...turnErrors, NotImplemented]
    }).annotateMerge(described("write", "Begin a turn of the schedule now, also while it is paused"))
  )
  .annotate(OpenApi.Title, "Schedules")
  .annotate(OpenApi.Description, "Messages that are sent again and again, at the times of a cron expression.")
