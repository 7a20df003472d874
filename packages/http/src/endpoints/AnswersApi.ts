/** Outcomes of typed answers, and reports on how good the answers were. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { jsonOrFormBody } from "../bodies/RequestBody.ts"
import { AnswersReport, OutcomeList, OutcomeRequest, OutcomeResponse } from "../wire/Answers.ts"
import { NotFound, NotImplemented, ServiceUnavailable } from "../wire/Errors.ts"
import { Uuid } from "../wire/Fields.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

export const answersBodies = { recordOutcome: jsonOrFormBody(OutcomeRequest) }

const errors = [NotFound, NotImplemented, ServiceUnavailable] as const

export const AnswersApi = HttpApiGroup.make("answers")
  .add(
    HttpApiEndpoint.post("recordOutcome", "/threads/:thread_id/messages/:message_id/outcomes", {
      params: { thread_id: Uuid, message_id: Uuid },
      payload: OutcomeRequest,
      success: OutcomeResponse,
      error: [...unreadable, ...errors]
    }).annotateMerge(
      described(
        "write",
        "Tell what turned out to be true; a second outcome replaces the first",
        answersBodies.recordOutcome
      )
    ),
    HttpApiEndpoint.get("listOutcomes", "/threads/:thread_id/outcomes", {
      params: { thread_id: Uuid },
      success: OutcomeList,
      error: errors
    }).annotateMerge(described("read", "List the outcomes of the typed answers in a thread")),
    HttpApiEndpoint.get("report", "/assistants/:assistant_id/answers/report", {
      params: { assistant_id: Uuid },
      success: AnswersReport,
      error: errors
    }).annotateMerge(described("read", "How good the typed answers of an assistant were, by set of questions"))
  )
  .annotate(OpenApi.Title, "Typed answers")
  .annotate(OpenApi.Description, "What became of typed answers: their outcomes, and how good the probabilities were.")
