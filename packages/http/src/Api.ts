/**
 * The whole surface of the service on one page. Each group is a file in `endpoints/`; validation, the OpenAPI document, the server's routes
 * and the typed clients all come from here.
 */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { AnswersApi } from "./endpoints/AnswersApi.ts"
import { AssistantsApi } from "./endpoints/AssistantsApi.ts"
import { BillingApi } from "./endpoints/BillingApi.ts"
import { DocumentsApi } from "./endpoints/DocumentsApi.ts"
import { Authorization, RateLimit, Validation } from "./wire/Middleware.ts"
import { ConversationsApi } from "./endpoints/ConversationsApi.ts"
import { describe } from "./docs-page/ApiDescription.ts"
import { InboxApi } from "./endpoints/InboxApi.ts"
import { MemoriesApi } from "./endpoints/MemoriesApi.ts"
import { MessagesApi } from "./endpoints/MessagesApi.ts"
import { ModelsApi } from "./endpoints/ModelsApi.ts"
import { OwnersApi } from "./endpoints/OwnersApi.ts"
import { RealtimeApi } from "./endpoints/RealtimeApi.ts"
import { RunsApi } from "./endpoints/RunsApi.ts"
import { EvalsApi } from "./endpoints/EvalsApi.ts"
import { SchedulesApi } from "./endpoints/SchedulesApi.ts"
import { WebhooksApi } from "./endpoints/WebhooksApi.ts"
import { ServiceApi } from "./endpoints/ServiceApi.ts"
import { ThreadsApi } from "./endpoints/ThreadsApi.ts"

export class Api extends HttpApi.make("colloquy")
  .add(AssistantsApi)
  .add(ThreadsApi)
  .add(MessagesApi)
  .add(RunsApi)
  .add(ConversationsApi)
  .add(InboxApi)
  .add(AnswersApi)
  .add(RealtimeApi)
  .add(MemoriesApi)
  .add(DocumentsApi)
  .add(ModelsApi)
  .add(BillingApi)
  .add(OwnersApi)
  .add(SchedulesApi)
  .add(WebhooksApi)
  .add(EvalsApi)
  .add(ServiceApi)
  // The last one is the outermost: first the key, then the rate, and only then the content of the request.
  .middleware(Validation)
  .middleware(RateLimit)
  .middleware(Authorization)
  .annotate(OpenApi.Title, "Colloquy")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.Transform, describe) {}
