/** Cases and experiments of evals. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { caseBody, casesBody } from "../bodies/CasesBody.ts"
import { DeclaredBody, exactBody } from "../bodies/RequestBody.ts"
import { Conflict, NotFound, NotImplemented, ServiceUnavailable } from "../wire/Errors.ts"
import * as Wire from "../wire/EvalRecords.ts"
import { Day, IntegerWord, Uuid } from "../wire/Fields.ts"
import { NeedsScope } from "../wire/Middleware.ts"
import { IdempotencyHeader } from "./MessagesApi.ts"
import { unreadable } from "./Unreadable.ts"

const CaseLines = Schema.String.annotate({ description: "One case as JSON on each line" }).pipe(
  HttpApiSchema.asText({ contentType: "application/x-ndjson" })
)

const ofCase = { case_id: Uuid }
const ofExperiment = { experiment_id: Uuid }
const limit = Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 })))
const ResultLines = Schema.String.annotate({ description: "All results so far, one as JSON on each line" }).pipe(
  HttpApiSchema.asText({ contentType: "application/x-ndjson" })
)
const TestFile = Schema.String.annotate({ description: "A file for Vitest" }).pipe(
  HttpApiSchema.asText({ contentType: "text/plain" })
)
const errors = [NotFound, NotImplemented, ServiceUnavailable] as const

/** A field that is misspelled would make a test weaker, or an experiment dearer, in silence. */
export const evalBodies = {
  create: caseBody,
  import: casesBody,
  update: exactBody(Wire.EvalCaseUpdate),
  experiment: exactBody(Wire.ExperimentRequest),
  resume: exactBody(Schema.NullOr(Wire.ExperimentResume)),
  judgeOutcome: exactBody(Wire.JudgeOutcomeRequest),
  feedback: exactBody(Wire.FeedbackRequest)
}

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
        limit,
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
      .annotate(OpenApi.Summary, "Delete a case"),
    HttpApiEndpoint.post("createExperiment", "/evals/experiments", {
      headers: IdempotencyHeader,
      payload: Wire.ExperimentRequest,
      success: Wire.ExperimentCreated,
      error: [...unreadable, Conflict, ...errors]
    })
      .annotate(DeclaredBody, evalBodies.experiment)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Answer cases by each variant and score the answers, in the background"),
    HttpApiEndpoint.get("listExperiments", "/evals/experiments", {
      query: { limit, cursor: Schema.optionalKey(Uuid) },
      success: Wire.ExperimentList,
      error: [NotImplemented, ServiceUnavailable]
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "List experiments, newest first"),
    HttpApiEndpoint.get("getExperiment", "/evals/experiments/:experiment_id", {
      params: ofExperiment,
      success: Wire.Experiment,
      error: errors
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "Look at an experiment and how far it is"),
    HttpApiEndpoint.post("cancelExperiment", "/evals/experiments/:experiment_id/cancel", {
      params: ofExperiment,
      success: Wire.Experiment,
      error: errors
    })
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Cancel an experiment; its results so far stay"),
    HttpApiEndpoint.post("resumeExperiment", "/evals/experiments/:experiment_id/resume", {
      params: ofExperiment,
      headers: IdempotencyHeader,
      payload: Schema.NullOr(Wire.ExperimentResume),
      success: Wire.Experiment,
      error: [...unreadable, Conflict, ...errors]
    })
      .annotate(DeclaredBody, evalBodies.resume)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Go on with an experiment that was stopped or cancelled"),
    HttpApiEndpoint.get("listResults", "/evals/experiments/:experiment_id/results", {
      params: ofExperiment,
      query: {
        limit,
        cursor: Schema.optionalKey(IntegerWord.check(Schema.isGreaterThanOrEqualTo(0))),
        format: Schema.optionalKey(Schema.Literals(["json", "jsonl"]))
      },
      success: [Wire.ExperimentResults, ResultLines],
      error: errors
    })
      .annotate(NeedsScope, "read")
      .annotate(
        OpenApi.Summary,
        "The results of an experiment in order, page by page, or with `format=jsonl` all of them"
      ),
    HttpApiEndpoint.post("recordJudgeOutcome", "/evals/experiments/:experiment_id/results/:number/outcomes", {
      params: { ...ofExperiment, number: IntegerWord.check(Schema.isGreaterThanOrEqualTo(0)) },
      payload: Wire.JudgeOutcomeRequest,
      success: Wire.JudgeOutcomeResponse,
      error: [...unreadable, ...errors]
    })
      .annotate(DeclaredBody, evalBodies.judgeOutcome)
      .annotate(NeedsScope, "write")
      .annotate(
        OpenApi.Summary,
        "Tell what is true of an answer that a judge gave, for its calibration; a second outcome replaces the first"
      ),
    HttpApiEndpoint.get("summarizeExperiment", "/evals/experiments/:experiment_id/summary", {
      params: ofExperiment,
      success: Wire.ExperimentSummary,
      error: errors
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "What the results so far come to: pass rates, costs and times, the worst cases first"),
    HttpApiEndpoint.get("compareVariants", "/evals/experiments/:experiment_id/comparison", {
      params: ofExperiment,
      query: { a: Schema.String, b: Schema.String },
      success: Wire.ExperimentComparison,
      error: errors
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "Compare variant `b` with variant `a` on the cases that both have answered"),
    HttpApiEndpoint.delete("removeExperiment", "/evals/experiments/:experiment_id", {
      params: ofExperiment,
      success: Wire.ExperimentDeleted,
      error: errors
    })
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Delete an experiment with its results; one that runs is cancelled"),
    HttpApiEndpoint.post("giveFeedback", "/threads/:thread_id/messages/:message_id/feedback", {
      params: { thread_id: Uuid, message_id: Uuid },
      headers: IdempotencyHeader,
      payload: Wire.FeedbackRequest,
      success: Wire.Feedback,
      error: [...unreadable, Conflict, ...errors]
    })
      .annotate(DeclaredBody, evalBodies.feedback)
      .annotate(NeedsScope, "write")
      .annotate(OpenApi.Summary, "Say what a user thought of an answer, in the place of what was said before"),
    HttpApiEndpoint.get("copyTurn", "/threads/:thread_id/messages/:message_id/test", {
      params: { thread_id: Uuid, message_id: Uuid },
      success: TestFile,
      error: errors
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "Copy a stored turn as a test file for Vitest, which plays it without a network"),
    HttpApiEndpoint.get("listFeedback", "/evals/feedback", {
      query: {
        limit,
        cursor: Schema.optionalKey(Uuid),
        thread_id: Schema.optionalKey(Uuid),
        assistant_id: Schema.optionalKey(Uuid)
      },
      success: Wire.FeedbackList,
      error: [NotImplemented, ServiceUnavailable]
    })
      .annotate(NeedsScope, "read")
      .annotate(OpenApi.Summary, "List feedback, newest first"),
    HttpApiEndpoint.get("onlineReport", "/evals/online", {
      query: { from: Schema.optionalKey(Day), to: Schema.optionalKey(Day), assistant_id: Schema.optionalKey(Uuid) },
      success: Wire.OnlineReport,
      error: [NotImplemented, ServiceUnavailable]
    })
      .annotate(NeedsScope, "read")
      .annotate(
        OpenApi.Summary,
        "What the sampled turns scored, by day and by version of the assistant, and how far their judges can be believed"
      ),
    HttpApiEndpoint.get("listOnlineScores", "/evals/online/scores", {
      query: {
        limit,
        cursor: Schema.optionalKey(Uuid),
        assistant_id: Schema.optionalKey(Uuid),
        rated: Schema.optionalKey(Schema.Literals(["true", "false"]))
      },
      success: Wire.OnlineScoreList,
      error: [NotImplemented, ServiceUnavailable]
    })
      .annotate(NeedsScope, "read")
      .annotate(
        OpenApi.Summary,
        "List the sampled turns with their scores, newest first; with `rated`, those with feedback"
      )
  )
  .annotate(OpenApi.Title, "Evals")
  .annotate(
    OpenApi.Description,
    "Tests of answers: cases of real turns, what is expected of them, and experiments that answer them."
  )
