/**
 * The whole surface of the service on one page. Each group is a file in `api/`; validation, the OpenAPI document, the server's routes and
 * the typed clients all come from here. Specification part 4.
 */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { AssistantsApi } from "./api/AssistantsApi.ts"
import { BillingApi } from "./api/BillingApi.ts"
import { Authorization, RateLimit, Validation } from "./api/Authorization.ts"
import { describe } from "./api/Document.ts"
import { MessagesApi } from "./api/MessagesApi.ts"
import { ModelsApi } from "./api/ModelsApi.ts"
import { RunsApi } from "./api/RunsApi.ts"
import { ThreadsApi } from "./api/ThreadsApi.ts"

export class Api extends HttpApi.make("colloquy")
  .add(AssistantsApi)
  .add(ThreadsApi)
  .add(MessagesApi)
  .add(RunsApi)
  .add(ModelsApi)
  .add(BillingApi)
  // The last one is the outermost: who asks, how often, and only then what.
  .middleware(Validation)
  .middleware(RateLimit)
  .middleware(Authorization)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(OpenApi.annotations({ title: "Colloquy", version: "1.0.0", transform: describe })) {}
