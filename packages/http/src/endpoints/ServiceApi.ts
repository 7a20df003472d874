/** The capabilities of the service, so that a client shows only features that exist. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { described } from "./Described.ts"

export const Capabilities = Schema.Struct({
  typed_answers: Schema.Boolean,
  documents: Schema.Boolean,
  memory: Schema.Boolean,
  web_search: Schema.Boolean,
  image_generation: Schema.Boolean,
  video_generation: Schema.Boolean,
  voice: Schema.Boolean,
  evals: Schema.Boolean
}).annotate({ identifier: "Capabilities" })
export type Capabilities = typeof Capabilities.Type

export const ServiceApi = HttpApiGroup.make("service")
  .add(
    HttpApiEndpoint.get("capabilities", "/capabilities", { success: Capabilities }).annotateMerge(
      described("read", "Which rooms the host has installed. Their models are in the catalogue")
    )
  )
  .annotate(OpenApi.Title, "Service")
  .annotate(OpenApi.Description, "What this server can do.")
