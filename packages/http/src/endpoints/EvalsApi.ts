/** Cases of evals. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { caseBody, casesBody } from "../bodies/CasesBody.ts"
import { DeclaredBody, jsonOrFormBody } from "../bodies/RequestBody.ts"
import { Conflict, NotFound, NotImplemented, ServiceUnavailable } from "../wire/Errors.ts"
import * as Wire from "../wire/EvalRecords.ts"
import { IntegerWord, Uuid } from "../wire/Fields.ts"
import { NeedsScope } from "../wire/Middleware.ts"
import { IdempotencyHeader } from "./MessagesApi.ts"
import { unreadable } from "./Unreadable.ts"

const CaseLines = Schema.String.annotate({ description: "One case as JSON on each line" }).pipe(
  HttpApiSchema.asText({ contentType: "application/x-ndjson" })
)

const ofCase = { case_id: Uuid }
const errors = [NotFound, NotImplemented, ServiceUnavailable] as const

export const evalBodies = { create: caseBody, import: casesBody, update: jsonOrFormBody(Wire.EvalCaseUpdate) }

export const EvalsApi = HttpApiGroup.make("evals")
  .add(
    HttpApiEndpoint.post("createCase", "/evals/cases", {
      headers: IdempotencyHeader,
      payload: Wire.EvalCaseRequest,
      success: Wire.EvalCaseCreated,
      error: [...unreadable, Conflict, ...errors]
    })
      .annotate(DeclaredBody, evalBodies.create)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Make a case of a stored turn, or by hand"),
    HttpApiEndpoint.post("importCases", "/evals/cases/import", {
      headers: IdempotencyHeader,
      payload: [Wire.EvalCasesImport, CaseLines],
      success: Wire.EvalCasesImported,
      error: [...unreadable, Conflict, ...errors]
    })
      .annotate(DeclaredBody, evalBodies.import)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Make cases of a list or of JSON lines; nothing when one is wrong"),
    HttpApiEndpoint.get("listCases", "/evals/cases", {
      query: {
        limit: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
        cursor: Schema.optionalKey(Uuid),
        tag: Schema.optionalKey(Schema.String)
      },
      success: Wire.EvalCaseList,
      error: [NotImplemented, ServiceUnavailable]
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "List cases, newest first; with `tag`, those that have it"),
    HttpApiEndpoint.get("getCase", "/evals/cases/:case_id", { params: ofCase, success: Wire.EvalCase, error: errors })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "Look at a case"),
    HttpApiEndpoint.put("updateCase", "/evals/cases/:case_id", {
      params: ofCase,
      payload: Wire.EvalCaseUpdate,
      success: Wire.EvalCase,
      error: [...unreadable, ...errors]
    })
      .annotate(DeclaredBody, evalBodies.update)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Change the name, the expectations or the tags of a case"),
    HttpApiEndpoint.delete("removeCase", "/evals/cases/:case_id", {
      params: ofCase,
      success: Wire.EvalCaseDeleted,
      error: errors
    })
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Delete a case")
  )
  .annotate(OpenApi.Title, "Evals")
  .annotate(OpenApi.Description, "Tests of answers: cases of real turns, and what is expected of them.")
