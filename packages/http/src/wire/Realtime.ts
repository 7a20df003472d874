/** Tickets of voice sessions as the wire shows them. */
import * as Schema from "effect/Schema"
import { maybe } from "./Fields.ts"

/** `chat_thread_id` means the same as `thread_id`, and stands alone. */
export const RealtimeTicketRequest = Schema.NullOr(
  Schema.Struct({
    assistant_id: maybe(Schema.String),
    thread_id: maybe(Schema.String),
    chat_thread_id: maybe(Schema.String)
  })
).annotate({ identifier: "RealtimeTicketRequest" })
export type RealtimeTicketRequest = typeof RealtimeTicketRequest.Type

export const RealtimeTicket = Schema.Struct({
  /** For `?ticket=`, once. */
  ticket: Schema.String,
  /** In seconds. */
  expires_in: Schema.Int,
  /** Without the base path of the API. */
  websocket_path: Schema.String,
  thread_id: Schema.String,
  assistant_id: Schema.String
}).annotate({ identifier: "RealtimeTicket" })
export type RealtimeTicket = typeof RealtimeTicket.Type
