/** Assistants: create, get, list, update, clone, delete. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import {
  AssistantName,
  AssistantNameFilter,
  handoffName,
  helperName,
  mostColleagues,
  Version
} from "@colloquy/core/adapters"
import { jsonOrFormBody } from "../bodies/RequestBody.ts"
import { toolRules } from "../wings/ToolRules.ts"
import { Conflict, NotFound, PreconditionFailed, ServiceUnavailable } from "../wire/Errors.ts"
import { cursorPage, maybe, maybeOr, page, Uuid } from "../wire/Fields.ts"
import { ModelOptions } from "../wire/MessageBody.ts"
import {
  AssistantCreated,
  Assistant,
  AssistantCloneResponse,
  AssistantDeleteResponse,
  AssistantVersion,
  AssistantVersionList,
  Thread
} from "../wire/Records.ts"
import { Tool } from "../wire/Tools.ts"
import { IdempotencyHeader } from "./MessagesApi.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

const tok_k = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))

const colleagues = (name: Schema.ConstraintDecoder<string>) =>
  Schema.Array(Schema.Struct({ assistant_id: Uuid, name, description: Schema.String })).check(
    Schema.isMaxLength(mostColleagues),
    Schema.makeFilter((list: ReadonlyArray<{ readonly name: string }>) => {
      const again = list.findIndex((each, index) => list.findIndex((other) => other.name === each.name) < index)
      return again === -1 ? undefined : { path: [again, "name"], issue: "this name is already taken in the list" }
    })
  )

const config = {
  description: maybe(Schema.String),
  system_prompt: maybe(Schema.String),
  llm_provider: maybe(Schema.String),
  model_name: maybe(Schema.String),
  tools: maybe(Schema.Array(Tool)),
  /** Null removes the options of the assistant. */
  model_options: maybe(ModelOptions),
  tok_k: maybe(tok_k),
  embedding_provider: maybe(Schema.String),
  embedding_model_name: maybe(Schema.String),
  embedding_dims: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 16_000 }))),
  custom_fact_extraction_prompt: maybe(Schema.String),
  custom_update_memory_prompt: maybe(Schema.String),
  metadata: maybe(Schema.JsonObject),
  /** Replaces the list, as `tools` does. Each helper is a tool of this name, which takes a `message`. */
  helpers: maybe(colleagues(helperName)),
  /** Each handoff is a tool `hand_off_to_<name>`, which takes a `reason`. */
  handoffs: maybe(colleagues(handoffName))
}

export const AssistantCreate = Schema.Struct({
  name: AssistantName,
  ...config,
  tok_k: maybeOr(tok_k, 10)
}).annotate({
  identifier: "AssistantCreate"
})
export type AssistantCreate = typeof AssistantCreate.Type

export const AssistantUpdate = Schema.Struct({ name: maybe(AssistantName), ...config }).annotate({
  identifier: "AssistantUpdate"
})
export type AssistantUpdate = typeof AssistantUpdate.Type

export const AssistantCloneRequest = Schema.Struct({
  name: maybe(AssistantName),
  system_prompt: maybe(Schema.String),
  copy_documents: maybeOr(Schema.Boolean, true),
  copy_memories: maybeOr(Schema.Boolean, true)
}).annotate({ identifier: "AssistantCloneRequest" })
export type AssistantCloneRequest = typeof AssistantCloneRequest.Type

export const ThreadCreateForAssistant = Schema.Struct({
  metadata: maybe(Schema.JsonObject),
  /** The version of the assistant that answers in this thread. Absent: the present one. */
  assistant_version: maybe(Version)
}).annotate({ identifier: "ThreadCreateForAssistant" })
export type ThreadCreateForAssistant = typeof ThreadCreateForAssistant.Type

export const assistantBodies = {
  create: jsonOrFormBody(AssistantCreate, toolRules),
  update: jsonOrFormBody(AssistantUpdate, toolRules),
  clone: jsonOrFormBody(Schema.NullOr(AssistantCloneRequest)),
  createThread: jsonOrFormBody(Schema.NullOr(ThreadCreateForAssistant))
}

const params = { assistant_id: Uuid }

const versionParams = { assistant_id: Uuid, version: Schema.String }

/** `ETag`s of the record, as they were given; `*` is any. */
const IfMatch = Schema.Struct({ "if-match": Schema.optionalKey(Schema.String) })

export const AssistantsApi = HttpApiGroup.make("assistants")
  .add(
    HttpApiEndpoint.post("create", "/assistants", {
      payload: AssistantCreate,
      success: AssistantCreated,
      error: [...unreadable, ServiceUnavailable]
    }).annotateMerge(described("write", "Create an assistant", assistantBodies.create)),
    HttpApiEndpoint.get("list", "/assistants", {
      query: { ...page, name: Schema.optionalKey(AssistantNameFilter) },
      success: Schema.Array(Assistant),
      error: ServiceUnavailable
    }).annotateMerge(described("read", "List assistants, oldest first")),
    HttpApiEndpoint.get("get", "/assistants/:assistant_id", {
      params,
      success: Assistant,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("read", "Look at an assistant")),
    HttpApiEndpoint.put("update", "/assistants/:assistant_id", {
      params,
      headers: IfMatch,
      payload: AssistantUpdate,
      success: Assistant,
      error: [...unreadable, NotFound, PreconditionFailed, ServiceUnavailable]
    }).annotateMerge(
      described(
        "write",
        "Change what is given, as the next version; the embedding model cannot change",
        assistantBodies.update
      )
    ),
    HttpApiEndpoint.delete("remove", "/assistants/:assistant_id", {
      params,
      success: AssistantDeleteResponse,
      error: [NotFound, Conflict, ServiceUnavailable]
    }).annotateMerge(described("write", "Delete an assistant with all its threads and documents")),
    HttpApiEndpoint.get("versions", "/assistants/:assistant_id/versions", {
      params,
      query: cursorPage,
      success: AssistantVersionList,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("read", "List the versions of an assistant, newest first")),
    HttpApiEndpoint.get("version", "/assistants/:assistant_id/versions/:version", {
      params: versionParams,
      success: AssistantVersion,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("read", "Look at an assistant as it was in a version")),
    HttpApiEndpoint.post("restore", "/assistants/:assistant_id/versions/:version/restore", {
      params: versionParams,
      headers: { ...IfMatch.fields, ...IdempotencyHeader },
      success: Assistant,
      error: [NotFound, Conflict, PreconditionFailed, ServiceUnavailable]
    }).annotateMerge(described("write", "Make an earlier version the next one")),
    HttpApiEndpoint.post("clone", "/assistants/:assistant_id/clone", {
      params,
      payload: Schema.NullOr(AssistantCloneRequest),
      success: AssistantCloneResponse,
      error: [...unreadable, NotFound, ServiceUnavailable]
    }).annotateMerge(
      described("write", "Copy an assistant's configuration into a new assistant", assistantBodies.clone)
    ),
    HttpApiEndpoint.post("createThread", "/assistants/:assistant_id/threads", {
      params,
      payload: Schema.NullOr(ThreadCreateForAssistant),
      success: Thread,
      error: [...unreadable, NotFound, ServiceUnavailable]
    }).annotateMerge(described("write", "Create an empty thread", assistantBodies.createThread)),
    HttpApiEndpoint.get("listThreads", "/assistants/:assistant_id/threads", {
      params,
      query: page,
      success: Schema.Array(Thread),
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("read", "List an assistant's threads, oldest first"))
  )
  .annotate(OpenApi.Title, "Assistants")
  .annotate(OpenApi.Description, "Agents configured once with a name, a system prompt, a model and tools.")
