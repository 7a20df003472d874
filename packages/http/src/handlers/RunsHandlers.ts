/** Runs over HTTP: tool outputs, approvals, cancel, the record, and the events again. A host that has not installed `Inspections.layer()` answers 501 for the inside of a run. */
import { type Run, RunId, ThreadId, type ToolOutputsRequest, Turns } from "@colloquy/core"
import { type CallDecision, isAtRest } from "@colloquy/core/adapters"
import { Inspections } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import { Api } from "../Api.ts"
import { HTTPValidationError, NotImplemented } from "../wire/Errors.ts"
import { compact, given } from "../wire/Fields.ts"
import { type CallDecisionBody, runBodies, type SubmitToolOutputsRequest } from "../endpoints/RunsApi.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { Wings } from "../wings/Wings.ts"
import { readIdempotency } from "./Idempotency.ts"
import { makeStreamSlot } from "../streams/OpenStreams.ts"
import { streamResponse } from "../streams/Sse.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import { delivery } from "./Delivery.ts"
import { cancelToWire, runToWire } from "../encoding/Encode.ts"
import { inspectionToWire } from "../encoding/EncodeInspection.ts"
import { thinkingFromWire, toolsFromWire } from "./TurnOptions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    const turns = yield* Turns
    const installed = yield* Effect.serviceOption(Inspections)
    const read = yield* bodyReader
    const deliver = yield* delivery
    const { heartbeat } = yield* HttpSettings
    const wings = yield* Wings
    const takeSlot = yield* makeStreamSlot

    return handlers
      .handleRaw(
        "submitToolOutputs",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(runBodies.submit, raw)
          const stream = raw.query.stream ?? value.stream === true
          const request = { ...readToolOutputs(value, stream), ...toRunIds(raw.params) }
          const repeat = yield* readIdempotency(raw, () => request)
          return yield* deliver(turns.submitToolOutputs({ ...request, ...repeat }), stream)
        })
      )
      .handleRaw(
        "submitToolOutputsToThread",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(runBodies.submitToThread, raw)
          const stream = value.stream === true
          const request = { ...readToolOutputs(value, stream), threadId: ThreadId.make(value.thread_id) }
          const repeat = yield* readIdempotency(raw, () => request)
          return yield* deliver(turns.submitToolOutputs({ ...request, ...repeat }), stream)
        })
      )
      .handleRaw(
        "decide",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(runBodies.decide, raw)
          const stream = raw.query.stream ?? value.stream === true
          const request = { decisions: value.approvals.map(decisionFromWire), stream, ...toRunIds(raw.params) }
          const repeat = yield* readIdempotency(raw, () => request)
          return yield* deliver(turns.decide({ ...request, ...repeat }), stream)
        })
      )
      .handle("cancel", ({ params }) => {
        const { runId, threadId } = toRunIds(params)
        return turns.cancel(threadId, runId).pipe(Effect.map(cancelToWire), Effect.mapError(toWireError))
      })
      .handle("list", ({ params, query: { cursor, limit = 20, ...filter } }) =>
        turns.list(ThreadId.make(params.thread_id), { limit, ...filter, ...compact({ after: cursor }) }).pipe(
          Effect.map(({ next, runs }) => ({
            runs: runs.map(runToWire),
            next_cursor: next === null ? null : `${next}`
          })),
          Effect.mapError(toWireError)
        )
      )
      .handle("get", ({ params }) => {
        const { runId, threadId } = toRunIds(params)
        return turns.report(threadId, runId).pipe(Effect.map(runToWire), Effect.mapError(toWireError))
      })
      .handle(
        "inspect",
        Effect.fnUntraced(function* ({ params }) {
          if (Option.isNone(installed)) return yield* new NotImplemented({ detail })
          const { runId, threadId } = toRunIds(params)
          const found = yield* Effect.mapError(installed.value.inspect(threadId, runId), toWireError)
          return inspectionToWire(runId, found)
        })
      )
      .handle(
        "events",
        Effect.fnUntraced(function* ({ headers, params, query }) {
          const { runId, threadId } = toRunIds(params)
          const after = yield* firstSequence(headers["last-event-id"], query.after, params.run_id)
          const { run } = yield* Effect.mapError(turns.report(threadId, runId), toWireError)
          if (isOver(run, after)) return HttpServerResponse.empty({ status: 204 })
          yield* takeSlot
          const events = yield* Effect.mapError(turns.follow(threadId, runId, after), toWireError)
          return yield* streamResponse({ threadId, runId, assistantId: run.assistantId }, events, { heartbeat, wings })
        })
      )
  })
)

const detail = "The inside of runs is not shown on this server: its host has not installed it."

const toRunIds = ({ run_id, thread_id }: { readonly run_id: string; readonly thread_id: string }) => ({
  threadId: ThreadId.make(thread_id),
  runId: RunId.make(run_id)
})

const readToolOutputs = (body: SubmitToolOutputsRequest, stream: boolean): Omit<ToolOutputsRequest, "threadId"> => ({
  outputs: body.tool_outputs.map(({ output, tool_call_id }) => ({
    toolCallId: tool_call_id,
    output: typeof output === "string" ? output : JSON.stringify(output)
  })),
  stream,
  ...compact({ tools: toolsFromWire(body.tools), thinking: thinkingFromWire(body.thinking) })
})

const decisionFromWire = ({ arguments: args, decision, reason, tool_call_id }: CallDecisionBody): CallDecision => ({
  toolCallId: tool_call_id,
  decision,
  ...compact({ arguments: given(args), reason: given(reason) })
})

/** Nothing is left to send, and nothing will come. */
const isOver = (run: Run, after: number): boolean => isAtRest(run.status) && after >= run.lastSequence

/** The header is what a reconnecting client adds to the address that it began with, so it is the newer of the two. */
const firstSequence = (
  lastEventId: string | undefined,
  after: number | undefined,
  runId: string
): Effect.Effect<number, HTTPValidationError> => {
  if (lastEventId === undefined) return Effect.succeed(after ?? 0)
  const colon = lastEventId.lastIndexOf(":")
  if (colon === -1 || lastEventId.slice(0, colon) === runId) return Effect.succeed(Number(lastEventId.slice(colon + 1)))
  const loc = ["header", "last-event-id"]
  return Effect.fail(
    new HTTPValidationError({ detail: [{ loc, msg: "This is an event of another run", type: "value_error" }] })
  )
}
