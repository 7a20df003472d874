/** Acts on a conversation as a whole: bring one from elsewhere, fork it, take back its end, send a message of it again. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { jsonOrFormBody } from "../bodies/RequestBody.ts"
import { Conflict, NotFound, ServiceUnavailable } from "../wire/Errors.ts"
import { maybe, maybeOr, Uuid } from "../wire/Fields.ts"
import { messageRules, regenerateRules } from "../wings/MessageRules.ts"
import { MessageBody, MessageRequest } from "../wire/MessageBody.ts"
import { RunAccepted } from "../wire/InboxRecords.ts"
import { MessageResponse, RewoundThread, ThreadMade } from "../wire/Records.ts"
import { importBody } from "../bodies/ImportBody.ts"
import { EventStream, IdempotencyHeader, turnErrors } from "./MessagesApi.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

const ImportedCall = Schema.Struct({
  id: Schema.String,
  type: Schema.optionalKey(Schema.Literal("function")),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

const ImportedMessage = Schema.Struct({
  role: Schema.Literals(["user", "assistant", "tool"]),
  content: Schema.NullOr(Schema.String),
  tool_calls: maybe(Schema.Array(ImportedCall)),
  /** Of a tool: the call that it answers. */
  tool_call_id: maybe(Schema.String),
  created_at: maybe(Schema.String.annotate({ format: "date-time" })),
  metadata: maybe(Schema.JsonObject)
}).annotate({ identifier: "ImportedMessage" })

const ThreadImport = Schema.Struct({
  metadata: maybe(Schema.JsonObject),
  scratch: maybeOr(
    Schema.Boolean.annotate({ description: "The thread and its runs stand in no list; it is deleted after a day" }),
    false
  ),
  messages: Schema.Array(ImportedMessage)
}).annotate({ identifier: "ThreadImport" })

const ImportLines = Schema.String.annotate({ description: "One message as JSON on each line" }).pipe(
  HttpApiSchema.asText({ contentType: "application/x-ndjson" })
)

const ThreadFork = Schema.Struct({
  /** The last message of the fork. Absent: the newest of the thread. */
  message_id: maybe(Uuid),
  metadata: maybe(Schema.JsonObject)
}).annotate({ identifier: "ThreadFork" })

const ThreadRewind = Schema.Struct({
  /** The message that becomes the newest. */
  message_id: Uuid,
  keep: maybeOr(Schema.Boolean, true),
  forget: maybeOr(Schema.Boolean, false)
}).annotate({ identifier: "ThreadRewind" })

const where = { in: maybeOr(Schema.Literals(["place", "fork"]), "place") }
const { content: _request, ...overrides } = MessageRequest.fields
const { content: _body, ...overridesRead } = MessageBody.fields

const Regenerate = Schema.NullOr(
  Schema.Struct({ ...overrides, ...where }).annotate({ identifier: "RegenerateRequest" })
)
const Edit = Schema.Struct({ ...overrides, ...where, content: Schema.String }).annotate({ identifier: "EditRequest" })

export type ThreadImport = typeof ThreadImport.Type
export type ThreadFork = typeof ThreadFork.Type
export type ThreadRewind = typeof ThreadRewind.Type
export type RegenerateRequest = NonNullable<typeof Regenerate.Type>
export type EditRequest = typeof Edit.Type

export const conversationBodies = {
  import: importBody,
  fork: jsonOrFormBody(Schema.NullOr(ThreadFork)),
  rewind: jsonOrFormBody(ThreadRewind),
  regenerate: jsonOrFormBody(Schema.NullOr(Schema.Struct({ ...overridesRead, ...where })), regenerateRules),
  edit: jsonOrFormBody(Schema.Struct({ ...overridesRead, ...where, content: Schema.String }), messageRules)
}

const ofThread = { thread_id: Uuid }
const ofMessage = { thread_id: Uuid, message_id: Uuid }
const errors = [...unreadable, NotFound, Conflict, ServiceUnavailable] as const

export const ConversationsApi = HttpApiGroup.make("conversations")
  .add(
    HttpApiEndpoint.post("import", "/assistants/:assistant_id/threads/import", {
      params: { assistant_id: Uuid },
      headers: IdempotencyHeader,
      payload: [ThreadImport, ImportLines],
      success: ThreadMade,
      error: turnErrors
    }).annotateMerge(
      described(
        "write",
        "Make a thread of messages that were said elsewhere; nothing when one is wrong",
        conversationBodies.import
      )
    ),
    HttpApiEndpoint.post("fork", "/threads/:thread_id/fork", {
      params: ofThread,
      headers: IdempotencyHeader,
      payload: Schema.NullOr(ThreadFork),
      success: ThreadMade,
      error: errors
    }).annotateMerge(
      described("write", "Make a thread with the messages up to and with one of this thread", conversationBodies.fork)
    ),
    HttpApiEndpoint.post("rewind", "/threads/:thread_id/rewind", {
      params: ofThread,
      headers: IdempotencyHeader,
      payload: ThreadRewind,
      success: RewoundThread,
      error: errors
    }).annotateMerge(
      described(
        "write",
        "Take back everything after a message; the conversation as it was is kept as a thread",
        conversationBodies.rewind
      )
    ),
    HttpApiEndpoint.post("regenerate", "/threads/:thread_id/messages/:message_id/regenerate", {
      params: ofMessage,
      headers: IdempotencyHeader,
      payload: Regenerate,
      success: [MessageResponse, EventStream, RunAccepted],
      error: turnErrors
    }).annotateMerge(
      described(
        "write",
        "Send the question of a message again, in its place or on a fork",
        conversationBodies.regenerate
      )
    ),
    HttpApiEndpoint.post("edit", "/threads/:thread_id/messages/:message_id/edit", {
      params: ofMessage,
      headers: IdempotencyHeader,
      payload: Edit,
      success: [MessageResponse, EventStream, RunAccepted],
      error: turnErrors
    }).annotateMerge(
      described(
        "write",
        "Send a message of the user with another text, in its place or on a fork",
        conversationBodies.edit
      )
    )
  )
  .annotate(OpenApi.Title, "Conversations")
  .annotate(OpenApi.Description, "A conversation as a whole: import, fork, rewind, edit, regenerate.")
