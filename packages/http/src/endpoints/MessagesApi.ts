/** The two message endpoints: one JSON reply, or a stream when `stream` is true. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import type { FileFields } from "../bodies/UploadedFile.ts"
import { messageRules, statelessMessageRules } from "../wings/MessageRules.ts"
import { jsonOrFormBody } from "../bodies/RequestBody.ts"
import { BadGateway, Conflict, GatewayTimeout, NotFound, ServiceUnavailable } from "../wire/Errors.ts"
import { Uuid } from "../wire/Fields.ts"
import {
  MessageBody,
  MessageForm,
  MessageRequest,
  MessageUpload,
  StatelessMessageBody,
  StatelessMessageForm,
  StatelessMessageRequest,
  StatelessMessageUpload
} from "../wire/MessageBody.ts"
import { RunAccepted } from "../wire/InboxRecords.ts"
import { MessageResponse } from "../wire/Records.ts"
import { StreamEvent } from "../wire/StreamEvents.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

/** A repeat under the same key within 24 hours gets the first one's result. */
export const IdempotencyHeader = {
  "idempotency-key": Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(255)))
}

export const EventStream = HttpApiSchema.StreamSse({ data: StreamEvent })

/** The errors with which a turn can be refused. */
export const turnErrors = [...unreadable, NotFound, Conflict, BadGateway, ServiceUnavailable, GatewayTimeout] as const

const files: FileFields = {
  files: { as: "attachment", many: true, part: "documents" },
  audio_file: { as: "recording", many: false, part: "voice" }
}

export const messageBodies = {
  send: jsonOrFormBody(MessageBody, messageRules, files),
  sendStateless: jsonOrFormBody(StatelessMessageBody, statelessMessageRules, files)
}

export const MessagesApi = HttpApiGroup.make("messages")
  .add(
    HttpApiEndpoint.post("sendStateless", "/threads/messages", {
      headers: IdempotencyHeader,
      payload: [
        StatelessMessageRequest,
        StatelessMessageUpload.pipe(HttpApiSchema.asMultipart()),
        StatelessMessageForm.pipe(HttpApiSchema.asFormUrlEncoded())
      ],
      success: [MessageResponse, EventStream, RunAccepted],
      error: turnErrors
    }).annotateMerge(
      described(
        "write",
        "Send a message; thread and assistant are made when they are not given",
        messageBodies.sendStateless
      )
    ),
    HttpApiEndpoint.post("send", "/threads/:thread_id/messages", {
      params: { thread_id: Uuid },
      headers: IdempotencyHeader,
      payload: [
        MessageRequest,
        MessageUpload.pipe(HttpApiSchema.asMultipart()),
        MessageForm.pipe(HttpApiSchema.asFormUrlEncoded())
      ],
      success: [MessageResponse, EventStream, RunAccepted],
      error: turnErrors
    }).annotateMerge(described("write", "Send a message to a thread", messageBodies.send))
  )
  .annotate(OpenApi.Title, "Messages")
  .annotate(
    OpenApi.Description,
    "A user's message in, the assistant's reply out: as one record, or as a stream of events."
  )
