/** The events that a client of OpenAI's realtime protocol sends, by their GA names. */
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { optional } from "../Json.ts"

const named = <F extends Schema.Struct.Fields>(fields: F) =>
  Schema.Struct({ event_id: optional(Schema.String), ...fields })
const millis = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

const Content = Schema.Struct({ type: Schema.String, text: optional(Schema.String) })

const NewItem = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("message"),
    id: optional(Schema.String),
    role: Schema.Literals(["user", "assistant", "system"]),
    content: Schema.Array(Content)
  }),
  Schema.Struct({
    type: Schema.Literal("function_call_output"),
    id: optional(Schema.String),
    call_id: Schema.String,
    output: Schema.String
  }),
  Schema.Struct({
    type: Schema.Literal("mcp_approval_response"),
    id: optional(Schema.String),
    approval_request_id: Schema.String,
    approve: Schema.Boolean,
    reason: optional(Schema.String)
  })
])
export type NewItem = typeof NewItem.Type

export const ClientEvent = Schema.Union([
  named({ type: Schema.Literal("session.update"), session: Schema.JsonObject }),
  named({ type: Schema.Literal("input_audio_buffer.append"), audio: Schema.String }),
  named({ type: Schema.Literals(["input_audio_buffer.commit", "input_audio_buffer.clear", "response.cancel"]) }),
  named({ type: Schema.Literal("conversation.item.create"), item: NewItem }),
  named({ type: Schema.Literal("conversation.item.truncate"), item_id: Schema.String, audio_end_ms: millis }),
  named({ type: Schema.Literals(["conversation.item.delete", "conversation.item.retrieve"]), item_id: Schema.String }),
  named({ type: Schema.Literal("response.create"), response: optional(Schema.JsonObject) })
])
export type ClientEvent = typeof ClientEvent.Type

/** The failure says which events and fields there are. */
export const readClientEvent: (json: object) => Result.Result<ClientEvent, Schema.SchemaError> =
  Schema.decodeUnknownResult(ClientEvent)

/** The id by which the client knows an event that could not be read. */
export const idOfEvent = (json: object): string | null =>
  "event_id" in json && typeof json.event_id === "string" ? json.event_id : null
