/** All runs of an owner, as summaries. */
import { RunStatus } from "@colloquy/core/adapters"
import * as Schema from "effect/Schema"
import { Timestamp } from "./Fields.ts"
import { Fault } from "./Records.ts"

const Id = Schema.String.annotate({ format: "uuid" })
const time = Schema.NullOr(Timestamp)

const RunSummary = Schema.Struct({
  run_id: Schema.String,
  thread_id: Id,
  assistant_id: Id,
  assistant_version: Schema.NullOr(Schema.Int),
  status: RunStatus,
  created_at: Timestamp,
  started_at: time,
  /** When the model wrote its first text or call. */
  first_token_at: time,
  ended_at: time,
  model_provider: Schema.String,
  model_name: Schema.String,
  /** Calls of the model. */
  steps: Schema.Int,
  usage: Schema.Struct({ input_tokens: Schema.Int, output_tokens: Schema.Int, total_tokens: Schema.Int }),
  cost_usd: Schema.NullOr(Schema.Finite),
  /** The first 200 characters of the newest answer. */
  content_preview: Schema.NullOr(Schema.String),
  fault: Schema.NullOr(Fault),
  parent_run_id: Schema.NullOr(Schema.String),
  schedule_id: Schema.NullOr(Id)
}).annotate({ identifier: "RunSummary" })
export const RunSummaryList = Schema.Struct({
  runs: Schema.Array(RunSummary),
  /** `cursor` of the next page; null at the end. */
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "RunSummaryList" })

export const RunUpdated = Schema.Struct({ type: Schema.Literal("run_updated"), run: RunSummary }).annotate({
  identifier: "RunUpdated"
})
export type RunUpdated = typeof RunUpdated.Type

export const RunAccepted = Schema.Struct({ thread_id: Id, run_id: Schema.String, status: RunStatus }).annotate({
  identifier: "RunAccepted",
  httpApiStatus: 202
})
export type RunAccepted = typeof RunAccepted.Type
