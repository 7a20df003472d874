/** The inside of a run, as `GET /threads/{t}/runs/{r}/inspection` shows it. */
import * as Schema from "effect/Schema"
import { Timestamp } from "./Fields.ts"

const integer = Schema.NullOr(Schema.Int)
const price = Schema.NullOr(Schema.Finite)
const time = Schema.NullOr(Timestamp)

const RunStep = Schema.Struct({
  kind: Schema.Literals(["queue", "listen", "recall", "model", "tool", "client", "settle"]),
  /** The model, or the tool. */
  name: Schema.NullOr(Schema.String),
  tool_call_id: Schema.NullOr(Schema.String),
  started_at: time,
  ended_at: time,
  /** Of a model call. */
  input_tokens: integer,
  output_tokens: integer,
  cost_usd: price
}).annotate({ identifier: "RunStep" })

const RunCharge = Schema.Struct({
  purpose: Schema.String,
  model_provider: Schema.String,
  model_name: Schema.String,
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  cost_usd: price
}).annotate({ identifier: "RunCharge" })

const RunFailure = Schema.Struct({
  at: time,
  model_provider: Schema.String,
  model_name: Schema.String,
  reason: Schema.String,
  /** The provider's HTTP status, code and id of the request. */
  status: integer,
  code: Schema.NullOr(Schema.String),
  request_id: Schema.NullOr(Schema.String),
  /** The words of the provider or of the connection, without keys and without the conversation. */
  said: Schema.NullOr(Schema.String)
}).annotate({ identifier: "RunFailure" })

const ReadPart = Schema.Struct({
  /** The name of the part of the prompt, as in `prompt` of the run's record. */
  part: Schema.String,
  /** By the service's own counter. */
  estimated_tokens: Schema.Int,
  messages: Schema.Array(Schema.Struct({ role: Schema.String, text: Schema.String }))
}).annotate({ identifier: "ReadPart" })

const inspection = {
  run_id: Schema.String,
  steps: Schema.Array(RunStep),
  /** Why model calls failed. */
  failures: Schema.Array(RunFailure),
  /** Charges beside those of the conversation's model. */
  charges: Schema.Array(RunCharge),
  /** One for each model call, in order; empty until the leg is settled. `input_tokens` is what the provider counted. */
  prompts: Schema.Array(
    Schema.Struct({ estimated_tokens: Schema.Int, input_tokens: integer, parts: Schema.Array(ReadPart) })
  ),
  /** The summary of the thread's oldest messages with which the run began; null: there was none. */
  summary: Schema.NullOr(
    Schema.Struct({
      text: Schema.String,
      /** How many of the oldest messages it covers, and the id of the last one; null: an older version wrote it. */
      messages: Schema.Int,
      through_message_id: Schema.NullOr(Schema.String),
      tokens: Schema.Int
    })
  )
}

const child = { tool_call_id: Schema.String, name: Schema.String, thread_id: Schema.String, run_id: Schema.String }

export interface RunInspection extends Schema.Struct.Type<typeof inspection> {
  readonly helpers: ReadonlyArray<Schema.Struct.Type<typeof child> & { readonly inspection: RunInspection | null }>
}

export const RunInspection: Schema.Codec<RunInspection> = Schema.Struct({
  ...inspection,
  /** The runs of helpers that this one asked, each with its own inside; null: it never began, or its thread was deleted. */
  helpers: Schema.Array(
    Schema.Struct({
      ...child,
      inspection: Schema.NullOr(Schema.suspend((): Schema.Codec<RunInspection> => RunInspection))
    })
  )
}).annotate({ identifier: "RunInspection" })
