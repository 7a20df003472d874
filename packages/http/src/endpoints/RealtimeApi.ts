/** Tickets for voice sessions. The sessions themselves run over the socket of `@colloquy/ws`. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { jsonOrFormBody } from "../bodies/RequestBody.ts"
import { isGiven, problem } from "../bodies/RawFields.ts"
import { NotFound, NotImplemented, ServiceUnavailable } from "../wire/Errors.ts"
import { RealtimeTicket, RealtimeTicketRequest } from "../wire/Realtime.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

const fieldsOrEmpty = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}

export const realtimeBodies = {
  issueTicket: jsonOrFormBody(RealtimeTicketRequest, ({ value }) => {
    const { assistant_id, chat_thread_id, thread_id } = fieldsOrEmpty(value)
    return isGiven(chat_thread_id) && (isGiven(thread_id) || isGiven(assistant_id))
      ? [problem(["chat_thread_id"], "conflict", "chat_thread_id cannot be combined with the other identifiers")]
      : []
  })
}

export const RealtimeApi = HttpApiGroup.make("realtime")
  .add(
    HttpApiEndpoint.post("issueTicket", "/threads/realtime/tickets", {
      payload: RealtimeTicketRequest,
      success: RealtimeTicket,
      error: [...unreadable, NotFound, NotImplemented, ServiceUnavailable]
    }).annotateMerge(
      described(
        "write",
        "Get a ticket with which a browser opens one voice session within 60 seconds",
        realtimeBodies.issueTicket
      )
    )
  )
  .annotate(OpenApi.Title, "Realtime")
  .annotate(OpenApi.Description, "Voice sessions: a WebSocket at `/threads/realtime`, and tickets for browsers.")
