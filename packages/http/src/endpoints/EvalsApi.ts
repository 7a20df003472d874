/** Cases and experiments of evals. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { caseBody, casesBody } from "../bodies/CasesBody.ts"
import { exactBody } from "../bodies/RequestBody.ts"
import { Conflict, NotFound, NotImplemented, ServiceUnavailable } from "../wire/Errors.ts"
import * as Wire from "../wire/EvalRecords.ts"
import { Day, IntegerWord, Uuid } from "../wire/Fields.ts"
import { IdempotencyHeader } from "./MessagesApi.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

const CaseLines = Schema.String.annotate({ description: "One case as JSON on each line" }).pipe(
  HttpApiSchema.asText({ contentType: "application/x-ndjson" })
)

const ofCase = { case_id: Uuid }
const ofExperiment = { experiment_id: Uuid }
const ofResult = { ...ofExperiment, number: IntegerWord.check(Schema.isGreaterThanOrEqualTo(0)) }
const limit = Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 })))
const ResultLines = Schema.String.annotate({ description: "All results so far, one as JSON on each line" }).pipe(
  HttpApiSchema.asText({ contentType: "application/x-ndjson" })
)
const TestFile = Schema.String.annotate({ description: "A file for Vitest" }).pipe(
  HttpApiSchema.asText({ contentType: "text/plain" })
)
const errors = [NotFound, NotImplemented, ServiceUnavailable] as const

/** Unknown fields are refused: a misspelled one would make a test weaker, or an experiment dearer, in silence. */
export const evalBodies = {
  create: caseBody,
  import: casesBody,
  update: exactBody(Wire.EvalCaseUpdate),
  experiment: exactBody(Wire.ExperimentRequest),
  resume: exactBody(Schema.NullOr(Wire.ExperimentResume)),
  feedback: exactBody(Wire.FeedbackRequest),
  judged: exactBody(Wire.JudgeOutcomeRequest)
}

export const EvalsApi = HttpApiGroup.make("evals")
  .add(
    HttpApiEndpoint.post("createCase", "/evals/cases", {
      headers: IdempotencyHeader,
      payload: Wire.EvalCaseRequest,
      success: Wire.EvalCaseCreated,
      error: [...unreadable, Conflict, ...errors]
    }).annotateMerge(described("write", "Make a case of a stored turn, or by hand", evalBodies.create)),
    HttpApiEndpoint.post("importCases", "/evals/cases/import", {
      headers: IdempotencyHeader,
      payload: [Wire.EvalCasesImport, CaseLines],
      success: Wire.EvalCasesImported,
      error: [...unreadable, Conflict, ...errors]
    }).annotateMerge(
      described("write", "Make cases of a list or of JSON lines; nothing when one is wrong", evalBodies.import)
    ),
    HttpApiEndpoint.get("listCases", "/evals/cases", {
      query: {
        limit,
        cursor: Schema.optionalKey(Uuid),
        tag: Schema.optionalKey(Schema.String)
      },
      success: Wire.EvalCaseList,
      error: [NotImplemented, ServiceUnavailable]
    }).annotateMerge(described("read", "List cases, newest first; with `tag`, those that have it")),
    HttpApiEndpoint.get("getCase", "/evals/cases/:case_id", {
      params: ofCase,
      success: Wire.EvalCase,
      error: errors
    }).annotateMerge(described("read", "Look at a case")),
    HttpApiEndpoint.put("updateCase", "/evals/cases/:case_id", {
      params: ofCase,
      payload: Wire.EvalCaseUpdate,
      success: Wire.EvalCase,
      error: [...unreadable, ...errors]
    }).annotateMerge(described("write", "Change the name, the expectations or the tags of a case", evalBodies.update)),
    HttpApiEndpoint.delete("removeCase", "/evals/cases/:case_id", {
      params: ofCase,
      success: Wire.EvalCaseDeleted,
      error: errors
    }).annotateMerge(described("write", "Delete a case")),
    HttpApiEndpoint.post("createExperiment", "/evals/experiments", {
      headers: IdempotencyHeader,
      payload: Wire.ExperimentRequest,
      success: Wire.ExperimentCreated,
      error: [...unreadable, Conflict, ...errors]
    }).annotateMerge(
      described("write", "Answer cases by each variant and score the answers, in the background", evalBodies.experiment)
    ),
    HttpApiEndpoint.get("listExperiments", "/evals/experiments", {
      query: { limit, cursor: Schema.optionalKey(Uuid) },
      success: Wire.ExperimentList,
      error: [NotImplemented, ServiceUnavailable]
    }).annotateMerge(described("read", "List experiments, newest first")),
    HttpApiEndpoint.get("getExperiment", "/evals/experiments/:experiment_id", {
      params: ofExperiment,
      success: Wire.Experiment,
      error: errors
    }).annotateMerge(described("read", "Look at an experiment and how far it is")),
    HttpApiEndpoint.post("cancelExperiment", "/evals/experiments/:experiment_id/cancel", {
      params: ofExperiment,
      success: Wire.Experiment,
      error: errors
    }).annotateMerge(described("write", "Cancel an experiment; its results so far stay")),
    HttpApiEndpoint.post("resumeExperiment", "/evals/experiments/:experiment_id/resume", {
      params: ofExperiment,
      headers: IdempotencyHeader,
      payload: Schema.NullOr(Wire.ExperimentResume),
      success: Wire.Experiment,
      error: [...unreadable, Conflict, ...errors]
    }).annotateMerge(described("write", "Go on with an experiment that was stopped or cancelled", evalBodies.resume)),
    HttpApiEndpoint.get("listResults", "/evals/experiments/:experiment_id/results", {
      params: ofExperiment,
      query: {
        limit,
        cursor: Schema.optionalKey(IntegerWord.check(Schema.isGreaterThanOrEqualTo(0))),
        format: Schema.optionalKey(Schema.Literals(["json", "jsonl"]))
      },
      success: [Wire.ExperimentResults, ResultLines],
      error: errors
    }).annotateMerge(
      described("read", "The results of an experiment in order, page by page, or with `format=jsonl` all of them")
    ),
    HttpApiEndpoint.get("summarizeExperiment", "/evals/experiments/:experiment_id/summary", {
      params: ofExperiment,
      success: Wire.ExperimentSummary,
      error: errors
    }).annotateMerge(
      described("read", "What the results so far come to: pass rates, costs and times, the worst cases first")
    ),
    HttpApiEndpoint.get("compareVariants", "/evals/experiments/:experiment_id/comparison", {
      params: ofExperiment,
      query: { a: Schema.String, b: Schema.String },
      success: Wire.ExperimentComparison,
      error: errors
    }).annotateMerge(described("read", "Compare variant `b` with variant `a` on the cases that both have answered")),
    HttpApiEndpoint.delete("removeExperiment", "/evals/experiments/:experiment_id", {
      params: ofExperiment,
      success: Wire.ExperimentDeleted,
      error: errors
    }).annotateMerge(described("write", "Delete an experiment with its results; one that runs is cancelled")),
    HttpApiEndpoint.post("giveFeedback", "/threads/:thread_id/messages/:message_id/feedback", {
      params: { thread_id: Uuid, message_id: Uuid },
      headers: IdempotencyHeader,
      payload: Wire.FeedbackRequest,
      success: Wire.Feedback,
      error: [...unreadable, Conflict, ...errors]
    }).annotateMerge(
      described(
        "write",
        "Say what a user thought of an answer, in the place of what was said before",
        evalBodies.feedback
      )
    ),
    HttpApiEndpoint.get("copyTurn", "/threads/:thread_id/messages/:message_id/test", {
      params: { thread_id: Uuid, message_id: Uuid },
      success: TestFile,
      error: errors
    }).annotateMerge(
      described("read", "Copy a stored turn as a test file for Vitest, which plays it without a network")
    ),
    HttpApiEndpoint.get("listFeedback", "/evals/feedback", {
      query: {
        limit,
        cursor: Schema.optionalKey(Uuid),
        thread_id: Schema.optionalKey(Uuid),
        assistant_id: Schema.optionalKey(Uuid)
      },
      success: Wire.FeedbackList,
      error: [NotImplemented, ServiceUnavailable]
    }).annotateMerge(described("read", "List feedback, newest first")),
    HttpApiEndpoint.post("recordResultOutcome", "/evals/experiments/:experiment_id/results/:number/outcomes", {
      params: ofResult,
      payload: Wire.JudgeOutcomeRequest,
      success: Wire.JudgeOutcome,
      error: [...unreadable, ...errors]
    }).annotateMerge(
      described(
        "write",
        "Say what is true of a judge's answer about a result; a second outcome replaces the first",
        evalBodies.judged
      )
    ),
    HttpApiEndpoint.get("listResultOutcomes", "/evals/experiments/:experiment_id/results/:number/outcomes", {
      params: ofResult,
      success: Wire.JudgeOutcomeList,
      error: errors
    }).annotateMerge(described("read", "What was said is true of the judges' answers about a result")),
    HttpApiEndpoint.get("listScoreOutcomes", "/evals/online/scores/:run_id/outcomes", {
      params: { run_id: Uuid },
      success: Wire.JudgeOutcomeList,
      error: errors
    }).annotateMerge(described("read", "What was said is true of the judges' answers about a sampled turn")),
    HttpApiEndpoint.post("recordScoreOutcome", "/evals/online/scores/:run_id/outcomes", {
      params: { run_id: Uuid },
      payload: Wire.JudgeOutcomeRequest,
      success: Wire.JudgeOutcome,
      error: [...unreadable, ...errors]
    }).annotateMerge(
      described("write", "Say what is true of a judge's answer about a sampled turn", evalBodies.judged)
    ),
    HttpApiEndpoint.get("onlineReport", "/evals/online", {
      query: { from: Schema.optionalKey(Day), to: Schema.optionalKey(Day), assistant_id: Schema.optionalKey(Uuid) },
      success: Wire.OnlineReport,
      error: [NotImplemented, ServiceUnavailable]
    }).annotateMerge(
      described(
        "read",
        "What the sampled turns scored, by day and by version of the assistant, and how far their judges can be believed"
      )
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
    }).annotateMerge(
      described("read", "List the sampled turns with their scores, newest first; with `rated`, those with feedback")
    )
  )
  .annotate(OpenApi.Title, "Evals")
  .annotate(
    OpenApi.Description,
    "Tests of answers: cases of real turns, what is expected of them, and experiments that answer them."
  )
