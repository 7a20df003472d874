/** What belongs to the owner of the key as a whole: what was used of the quota. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { NeedsScope } from "../wire/Middleware.ts"
import { ServiceUnavailable } from "../wire/Errors.ts"
import { OwnerUsage } from "../wire/OwnerRecords.ts"

export const OwnersApi = HttpApiGroup.make("owners")
  .add(
    HttpApiEndpoint.get("usage", "/owners/me/usage", { success: OwnerUsage, error: ServiceUnavailable })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "What was used of each limit, and when it resets")
  )
  .annotate(OpenApi.Title, "Owners")
  .annotate(OpenApi.Description, "What belongs to the owner of the key as a whole.")
