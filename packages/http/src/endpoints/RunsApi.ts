/** Runs: tool outputs on both endpoints, approvals, cancel, the record, and the events again. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { jsonOrFormBody } from "../bodies/RequestBody.ts"
import { toolRules } from "../wings/ToolRules.ts"
import { NotFound, NotImplemented, ServiceUnavailable } from "../wire/Errors.ts"
import { BooleanWord, cursorPage, IntegerWord, maybe, maybeOr, Uuid } from "../wire/Fields.ts"
import { Thinking } from "../wire/MessageBody.ts"
import { EventStream, IdempotencyHeader, turnErrors } from "./MessagesApi.ts"
import { RunInspection } from "../wire/InspectionRecords.ts"
import {
  CallsOpen,
  CancelResponse,
  MessageResponse,
  Run,
  RunList,
  RunStatus,
  ToolOutputsResponse
} from "../wire/Records.ts"
import { Tool } from "../wire/Tools.ts"
import { described } from "./Described.ts"

const outputs = {
  /** A text goes to the model unchanged, any other value as JSON. */
  tool_outputs: Schema.Array(Schema.Struct({ tool_call_id: Schema.String, output: Schema.Json })),
  /** Absent: the tools of the run. */
  tools: maybe(Schema.Array(Tool)),
  thinking: maybe(Thinking),
  stream: maybeOr(Schema.Boolean, false)
}

export const SubmitToolOutputsRequest = Schema.Struct(outputs).annotate({ identifier: "SubmitToolOutputsRequest" })
export type SubmitToolOutputsRequest = typeof SubmitToolOutputsRequest.Type

const ThreadToolOutputsRequest = Schema.Struct({ thread_id: Uuid, ...outputs }).annotate({
  identifier: "ThreadToolOutputsRequest"
})

const CallDecisionBody = Schema.Struct({
  tool_call_id: Schema.String,
  decision: Schema.Literals(["approve", "reject"]),
  /** With `approve`: the call runs with these arguments instead of the model's. */
  arguments: maybe(Schema.JsonObject),
  /** The model reads why a call was rejected. */
  reason: maybe(Schema.String.check(Schema.isMaxLength(10_000)))
}).annotate({ identifier: "CallDecision" })
export type CallDecisionBody = typeof CallDecisionBody.Type

export const ApprovalsRequest = Schema.Struct({
  approvals: Schema.Array(CallDecisionBody).check(Schema.isMinLength(1), Schema.isMaxLength(1000)),
  stream: maybeOr(Schema.Boolean, false)
}).annotate({ identifier: "ApprovalsRequest" })
export type ApprovalsRequest = typeof ApprovalsRequest.Type

export const runBodies = {
  decide: jsonOrFormBody(ApprovalsRequest),
  submit: jsonOrFormBody(SubmitToolOutputsRequest, toolRules),
  submitToThread: jsonOrFormBody(ThreadToolOutputsRequest, toolRules)
}

const params = { thread_id: Uuid, run_id: Schema.String }

/** The position after which a stream continues: the id of the last event that arrived, or its sequence number alone. */
export const LastEventId = Schema.String.check(
  Schema.isPattern(/^(?:.{1,200}:)?\d{1,15}$/u, { expected: "the id of an event" })
)

export const RunsApi = HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.post("submitToolOutputsToThread", "/threads/tool-outputs", {
      headers: IdempotencyHeader,
      payload: ThreadToolOutputsRequest,
      success: [ToolOutputsResponse, CallsOpen, EventStream],
      error: turnErrors
    }).annotateMerge(
      described("write", "Submit tool outputs to the run of a thread that waits for them", runBodies.submitToThread)
    ),
    HttpApiEndpoint.post("submitToolOutputs", "/threads/:thread_id/runs/:run_id/submit-tool-outputs", {
      params,
      headers: IdempotencyHeader,
      query: { stream: Schema.optionalKey(BooleanWord) },
      payload: SubmitToolOutputsRequest,
      success: [ToolOutputsResponse, CallsOpen, EventStream],
      error: turnErrors
    }).annotateMerge(described("write", "Submit tool outputs to a run", runBodies.submit)),
    HttpApiEndpoint.post("decide", "/threads/:thread_id/runs/:run_id/approvals", {
      params,
      headers: IdempotencyHeader,
      query: { stream: Schema.optionalKey(BooleanWord) },
      payload: ApprovalsRequest,
      success: [MessageResponse, CallsOpen, EventStream],
      error: turnErrors
    }).annotateMerge(
      described(
        "write",
        "Approve or reject calls for which a run waits. The first decision about a call stands",
        runBodies.decide
      )
    ),
    HttpApiEndpoint.post("cancel", "/threads/:thread_id/runs/:run_id/cancel", {
      params,
      success: CancelResponse,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("write", "Cancel a run; what was said is kept. Idempotent")),
    HttpApiEndpoint.get("list", "/threads/:thread_id/runs", {
      params: { thread_id: Uuid },
      query: { ...cursorPage, status: Schema.optionalKey(RunStatus) },
      success: RunList,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(
      described("read", "List the runs of a thread, newest first; those that wait for their turn come first")
    ),
    HttpApiEndpoint.get("get", "/threads/:thread_id/runs/:run_id", {
      params,
      success: Run,
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("read", "Look at a run")),
    HttpApiEndpoint.get("inspect", "/threads/:thread_id/runs/:run_id/inspection", {
      params,
      success: RunInspection,
      error: [NotFound, NotImplemented, ServiceUnavailable]
    }).annotateMerge(
      described("read", "What happened inside a run, step by step with times, and the prompt as the model read it")
    ),
    HttpApiEndpoint.get("events", "/threads/:thread_id/runs/:run_id/events", {
      params,
      query: { after: Schema.optionalKey(IntegerWord.check(Schema.isGreaterThanOrEqualTo(0))) },
      headers: { "last-event-id": Schema.optionalKey(LastEventId) },
      success: [EventStream, HttpApiSchema.NoContent],
      error: [NotFound, ServiceUnavailable]
    }).annotateMerge(described("read", "The events of a run after a given one, and then live; 204 when none is left"))
  )
  .annotate(OpenApi.Title, "Runs")
  .annotate(OpenApi.Description, "The work on one message: continue it with tool outputs, follow it again, cancel it.")
