/** What the socket at `/threads/realtime` sends, as schemas. A test encodes an event of each kind and reads it by these. */
import { ErrorCode } from "@colloquy/core/realtime"
import * as Schema from "effect/Schema"

const Format = Schema.Struct({
  encoding: Schema.Literals(["pcm_s16le", "pcmu", "pcma"]),
  sample_rate: Schema.Int,
  channels: Schema.Int
})

const role = Schema.Literals(["user", "assistant"])
const spoken = { item_id: Schema.String, role }
const said = { ...spoken, text: Schema.String }
const event = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.Literal(type), ...fields })

export const serviceEvents = [
  event("session.begin", {
    session_id: Schema.String,
    thread_id: Schema.String,
    assistant_id: Schema.String,
    input_format: Format,
    output_format: Format,
    provider: Schema.String,
    model: Schema.String
  }),
  event("audio.delta", { item_id: Schema.String, data: Schema.String, ...Format.fields }),
  event("transcript.started", spoken),
  event("transcript.delta", said),
  event("transcript.final", said),
  event("transcript.failed", spoken),
  event("tool.call", {
    tool_call_id: Schema.String,
    name: Schema.String,
    arguments: Schema.Json,
    hosted: Schema.Boolean
  }),
  event("tool.cancelled", { tool_call_ids: Schema.Array(Schema.String) }),
  event("tool.completed", { tool_call_id: Schema.String }),
  event("media.generated", { tool_call_id: Schema.String, generated_media: Schema.Array(Schema.JsonObject) }),
  event("response.done", {}),
  event("interrupted", {}),
  event("provider.event", { event: Schema.JsonObject }),
  event("session.ended", {
    provider_cost_usd: Schema.NullOr(Schema.Finite),
    charged_usd: Schema.NullOr(Schema.Finite),
    reconciliation_required: Schema.Boolean
  }),
  event("error", { code: ErrorCode, message: Schema.String })
] as const

export const ServiceEvents = Schema.Union(serviceEvents)
