/** Threads. Messages come into a thread through `MessagesApi`. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Version } from "@colloquy/core/adapters"
import { jsonOrFormBody } from "../bodies/RequestBody.ts"
import { Conflict, NotFound, ServiceUnavailable } from "../wire/Errors.ts"
import { BooleanWord, maybe, page, Uuid } from "../wire/Fields.ts"
import { Thread, ThreadDeleteResponse } from "../wire/Records.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

const params = { thread_id: Uuid }

const changesSomething = (body: { readonly metadata?: unknown; readonly assistant_version?: unknown }) =>
  "metadata" in body || "assistant_version" in body
    ? undefined
    : { path: ["metadata"], issue: "Give metadata, assistant_version or both" }

export const ThreadUpdate = Schema.Struct({
  metadata: Schema.optionalKey(Schema.JsonObject),
  /** The version of the assistant that answers from now on; null: the present one. */
  assistant_version: maybe(Version)
})
  .check(Schema.makeFilter(changesSomething))
  .annotate({ identifier: "ThreadUpdate" })
export type ThreadUpdate = typeof ThreadUpdate.Type

export const threadBodies = { update: jsonOrFormBody(ThreadUpdate) }

export const ThreadsApi = HttpApiGroup.make("threads")
  .add(
    HttpApiEndpoint.get("list", "/threads", {
      query: { ...page, include_messages: Schema.optionalKey(BooleanWord) },
      success: Schema.Array(Thread),
      error: ServiceUnavailable
    }).annotateMerge(described("read", "List threads, oldest first")),
    HttpApiEndpoint.get("get", "/threads/:thread_id", {
      params,
      success: Thread,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("read", "Look at a thread with all its messages")),
    HttpApiEndpoint.put("update", "/threads/:thread_id", {
      params,
      payload: ThreadUpdate,
      success: Thread,
      error: [...unreadable, NotFound, ServiceUnavailable]
    }).annotateMerge(
      described(
        "write",
        "Set top-level fields of a thread's metadata (the others stay), or pin a version of its assistant. The answer has no messages",
        threadBodies.update
      )
    ),
    HttpApiEndpoint.delete("remove", "/threads/:thread_id", {
      params,
      success: ThreadDeleteResponse,
      error: [NotFound, Conflict, ServiceUnavailable]
    }).annotateMerge(described("write", "Delete a thread and its messages"))
  )
  .annotate(OpenApi.Title, "Threads")
  .annotate(OpenApi.Description, "Conversations of a user with an assistant.")
