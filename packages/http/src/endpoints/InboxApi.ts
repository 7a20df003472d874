/** All runs of the owner: a list of summaries, and a stream of those that change. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { RunStatus } from "@colloquy/core/adapters"
import { ServiceUnavailable } from "../wire/Errors.ts"
import { DateTime, IntegerWord, Uuid } from "../wire/Fields.ts"
import { RunSummaryList, RunUpdated } from "../wire/InboxRecords.ts"
import { described } from "./Described.ts"

/** The time and the id of a run. */
export const Cursor = Schema.String.check(
  Schema.isPattern(/^\d{1,15}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u, {
    expected: "the next_cursor of the page before"
  })
)

export const InboxApi = HttpApiGroup.make("inbox")
  .add(
    HttpApiEndpoint.get("list", "/runs", {
      query: {
        status: Schema.optionalKey(RunStatus),
        assistant_id: Schema.optionalKey(Uuid),
        thread_id: Schema.optionalKey(Uuid),
        since: Schema.optionalKey(DateTime),
        limit: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
        cursor: Schema.optionalKey(Cursor)
      },
      success: RunSummaryList,
      error: ServiceUnavailable
    }).annotateMerge(described("read", "List the runs of all threads, newest first")),
    HttpApiEndpoint.get("events", "/runs/events", {
      headers: {
        "last-event-id": Schema.optionalKey(
          Schema.String.check(Schema.isPattern(/^\d{1,15}$/u, { expected: "the id of an event" }))
        )
      },
      success: HttpApiSchema.StreamSse({ data: RunUpdated }),
      error: ServiceUnavailable
    }).annotateMerge(
      described(
        "read",
        "Each run that begins or changes its state, live; after Last-Event-ID also what was missed, up to an hour"
      )
    )
  )
  .annotate(OpenApi.Title, "Inbox")
  .annotate(OpenApi.Description, "All runs of the owner of the key, whatever their threads.")
