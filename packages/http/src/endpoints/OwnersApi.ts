/** The records of the key's owner as a whole: the keys, the usage of the quota, and the erasure. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { NotFound, ServiceUnavailable } from "../wire/Errors.ts"
import { IntegerWord, Uuid } from "../wire/Fields.ts"
import { ApiKeyList, ApiKeyRevoked, Erasure, ErasureBegun, OwnerUsage } from "../wire/OwnerRecords.ts"
import { described } from "./Described.ts"

export const OwnersApi = HttpApiGroup.make("owners")
  .add(
    HttpApiEndpoint.get("usage", "/owners/me/usage", {
      query: { assistant_id: Schema.optionalKey(Uuid) },
      success: OwnerUsage,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(
      described(
        "read",
        "What was used of each limit, and when it resets; with `assistant_id`, the tokens and costs are that assistant's, with its own limits of the day"
      )
    ),
    HttpApiEndpoint.get("keys", "/owners/me/keys", {
      query: {
        limit: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
        cursor: Schema.optionalKey(Uuid)
      },
      success: ApiKeyList,
      error: ServiceUnavailable
    }).annotateMerge(
      described("admin", "List the keys of the owner that the service keeps, newest first; their secrets are not shown")
    ),
    HttpApiEndpoint.delete("revokeKey", "/owners/me/keys/:key_id", {
      params: { key_id: Uuid },
      success: ApiKeyRevoked,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("admin", "Revoke a key for ever, also the one of this request")),
    HttpApiEndpoint.get("export", "/owners/me/export", {
      success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/x-tar" })),
      error: ServiceUnavailable
    }).annotateMerge(
      described("admin", "Everything of the owner as one tar archive: records as JSON lines, and the files")
    ),
    HttpApiEndpoint.delete("erase", "/owners/me", { success: ErasureBegun, error: ServiceUnavailable }).annotateMerge(
      described(
        "admin",
        "Erase everything of the owner, in the background; runs are cancelled, and keys made by the API go"
      )
    ),
    HttpApiEndpoint.get("erasure", "/owners/me/erasures/:erasure_id", {
      params: { erasure_id: Schema.String },
      success: Erasure,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("read", "What is left to erase, by table"))
  )
  .annotate(OpenApi.Title, "Owners")
  .annotate(OpenApi.Description, "What belongs to the owner of the key as a whole.")
