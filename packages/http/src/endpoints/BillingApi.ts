/** Money: the balance, the usage, and the prices of upstreams. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { ServiceUnavailable } from "../wire/Errors.ts"
import { IntegerWord } from "../wire/Fields.ts"
import { Balance, RecentUsage, UpstreamProviderList } from "../wire/ModelRecords.ts"
import { described } from "./Described.ts"

/** Bounded, so that the number of entries before a page is within the limit of `skip`. */
const pages = {
  page: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
  page_size: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 })))
}

export const BillingApi = HttpApiGroup.make("billing")
  .add(
    HttpApiEndpoint.get("upstreams", "/billing/models/providers", { success: UpstreamProviderList }).annotateMerge(
      described("read", "List the upstreams of providers that route, and what they ask for which model")
    ),
    HttpApiEndpoint.get("balance", "/billing/balance", { success: Balance, error: ServiceUnavailable }).annotateMerge(
      described("read", "Look at the balance; null where none is kept")
    ),
    HttpApiEndpoint.get("recentUsage", "/billing/usage/recent", {
      query: pages,
      success: RecentUsage,
      error: ServiceUnavailable
    }).annotateMerge(described("read", "What was used, by day and model, newest first"))
  )
  .annotate(OpenApi.Title, "Billing")
  .annotate(OpenApi.Description, "What is left, what was used, and what upstreams ask.")
