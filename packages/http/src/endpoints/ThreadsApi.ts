/** Threads: specification part 4. Messages come into a thread through `MessagesApi`. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { NotFound, ServiceUnavailable } from "../wire/Errors.ts"
import { BooleanWord, page, Uuid } from "../wire/Fields.ts"
import { Thread, ThreadDeleteResponse } from "../wire/Records.ts"

const params = { thread_id: Uuid }

export const ThreadsApi = HttpApiGroup.make("threads")
  .add(
    HttpApiEndpoint.get("list", "/threads", {
      query: { ...page, include_messages: Schema.optionalKey(BooleanWord) },
      success: Schema.Array(Thread),
      error: ServiceUnavailable
    }).annotate(OpenApi.Summary, "List threads, oldest first"),
    HttpApiEndpoint.get("get", "/threads/:thread_id", {
      params,
      success: Thread,
      error: [NotFound, ServiceUnavailable]
    }).annotate(OpenApi.Summary, "Look at a thread with all its messages"),
    HttpApiEndpoint.delete("remove", "/threads/:thread_id", {
      params,
      success: ThreadDeleteResponse,
      error: [NotFound, ServiceUnavailable]
    }).annotate(OpenApi.Summary, "Delete a thread and its messages")
  )
  .annotate(OpenApi.Title, "Threads")
  .annotate(OpenApi.Description, "Conversations of a user with an assistant.")
