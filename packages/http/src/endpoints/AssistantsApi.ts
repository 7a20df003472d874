/** Assistants: create, get, list, update, clone, delete. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { NeedsScope } from "../wire/Middleware.ts"
import { AssistantName, AssistantNameFilter } from "@colloquy/core/adapters"
import { bodyOf, DeclaredBody } from "../bodies/RequestBody.ts"
import { toolRules } from "../wings/ToolRules.ts"
import { Conflict, NotFound, ServiceUnavailable } from "../wire/Errors.ts"
import { maybe, maybeOr, page, Uuid } from "../wire/Fields.ts"
import { ModelOptions } from "../wire/MessageBody.ts"
import {
  AssistantCreated,
  Assistant,
  AssistantCloneResponse,
  AssistantDeleteResponse,
  Thread
} from "../wire/Records.ts"
import { Tool } from "../wire/Tools.ts"
import { unreadable } from "./Unreadable.ts"

const tok_k = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))

const config = {
  description: maybe(Schema.String),
  system_prompt: maybe(Schema.String),
  llm_provider: maybe(Schema.String),
  model_name: maybe(Schema.String),
  tools: maybe(Schema.Array(Tool)),
  /** Null removes those of the assistant. */
  model_options: maybe(ModelOptions),
  tok_k: maybe(tok_k),
  embedding_provider: maybe(Schema.String),
  embedding_model_name: maybe(Schema.String),
  embedding_dims: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 16_000 }))),
  custom_fact_extraction_prompt: maybe(Schema.String),
  custom_update_memory_prompt: maybe(Schema.String),
  metadata: maybe(Schema.JsonObject)
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

export const ThreadCreateForAssistant = Schema.Struct({ metadata: maybe(Schema.JsonObject) }).annotate({
  identifier: "ThreadCreateForAssistant"
})
export type ThreadCreateForAssistant = typeof ThreadCreateForAssistant.Type

export const assistantBodies = {
  create: bodyOf(AssistantCreate, toolRules),
  update: bodyOf(AssistantUpdate, toolRules),
  clone: bodyOf(Schema.NullOr(AssistantCloneRequest)),
  createThread: bodyOf(Schema.NullOr(ThreadCreateForAssistant))
}

const params = { assistant_id: Uuid }

export const AssistantsApi = HttpApiGroup.make("assistants")
  .add(
    HttpApiEndpoint.post("create", "/assistants", {
      payload: AssistantCreate,
      success: AssistantCreated,
      error: [...unreadable, ServiceUnavailable]
    })
      .annotate(DeclaredBody, assistantBodies.create)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Create an assistant"),
    HttpApiEndpoint.get("list", "/assistants", {
      query: { ...page, name: Schema.optionalKey(AssistantNameFilter) },
      success: Schema.Array(Assistant),
      error: ServiceUnavailable
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "List assistants, oldest first"),
    HttpApiEndpoint.get("get", "/assistants/:assistant_id", {
      params,
      success: Assistant,
      error: [NotFound, ServiceUnavailable]
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "Look at an assistant"),
    HttpApiEndpoint.put("update", "/assistants/:assistant_id", {
      params,
      payload: AssistantUpdate,
      success: Assistant,
      error: [...unreadable, NotFound, ServiceUnavailable]
    })
      .annotate(DeclaredBody, assistantBodies.update)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Change what is given; the embedding model cannot change"),
    HttpApiEndpoint.delete("remove", "/assistants/:assistant_id", {
      params,
      success: AssistantDeleteResponse,
      error: [NotFound, Conflict, ServiceUnavailable]
    })
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Delete an assistant with all its threads and documents"),
    HttpApiEndpoint.post("clone", "/assistants/:assistant_id/clone", {
      params,
      payload: Schema.NullOr(AssistantCloneRequest),
      success: AssistantCloneResponse,
      error: [...unreadable, NotFound, ServiceUnavailable]
    })
      .annotate(DeclaredBody, assistantBodies.clone)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Copy an assistant's configuration into a new assistant"),
    HttpApiEndpoint.post("createThread", "/assistants/:assistant_id/threads", {
      params,
      payload: Schema.NullOr(ThreadCreateForAssistant),
      success: Thread,
      error: [...unreadable, NotFound, ServiceUnavailable]
    })
      .annotate(DeclaredBody, assistantBodies.createThread)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Create an empty thread"),
    HttpApiEndpoint.get("listThreads", "/assistants/:assistant_id/threads", {
      params,
      query: page,
      success: Schema.Array(Thread),
      error: [NotFound, ServiceUnavailable]
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "List an assistant's threads, oldest first")
  )
  .annotate(OpenApi.Title, "Assistants")
  .annotate(OpenApi.Description, "Agents configured once with a name, a system prompt, a model and tools.")
