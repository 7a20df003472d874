/** Threads. Messages come into a thread through `MessagesApi`. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { NeedsScope } from "../wire/Middleware.ts"
import { bodyOf, DeclaredBody } from "../bodies/RequestBody.ts"
import { Conflict, NotFound, ServiceUnavailable } from "../wire/Errors.ts"
import { BooleanWord, page, Uuid } from "../wire/Fields.ts"
import { Thread, ThreadDeleteResponse } from "../wire/Records.ts"
import { unreadable } from "./Unreadable.ts"

const params = { thread_id: Uuid }

export const ThreadUpdate = Schema.Struct({ metadata: Schema.JsonObject }).annotate({ identifier: "ThreadUpdate" })
export type ThreadUpdate = typeof ThreadUpdate.Type

export const threadBodies = { update: bodyOf(ThreadUpdate) }

export const ThreadsApi = HttpApiGroup.make("threads")
  .add(
    HttpApiEndpoint.get("list", "/threads", {
      query: { ...page, include_messages: Schema.optionalKey(BooleanWord) },
      success: Schema.Array(Thread),
      error: ServiceUnavailable
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "List threads, oldest first"),
    HttpApiEndpoint.get("get", "/threads/:thread_id", {
      params,
      success: Thread,
      error: [NotFound, ServiceUnavailable]
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "Look at a thread with all its messages"),
    HttpApiEndpoint.put("update", "/threads/:thread_id", {
      params,
      payload: ThreadUpdate,
      success: Thread,
      error: [...unreadable, NotFound, ServiceUnavailable]
    })
      .annotate(DeclaredBody, threadBodies.update)
      .annotate(NeedsScope, "write")
      .annotate(
        OpenApi.Summary,
        "Set top-level fields of a thread's metadata; the others stay. The answer has no messages"
      ),
    HttpApiEndpoint.delete("remove", "/threads/:thread_id", {
      params,
      success: ThreadDeleteResponse,
      error: [NotFound, Conflict, ServiceUnavailable]
    })
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Delete a thread and its messages")
  )
  .annotate(OpenApi.Title, "Threads")
  .annotate(OpenApi.Description, "Conversations of a user with an assistant.")
