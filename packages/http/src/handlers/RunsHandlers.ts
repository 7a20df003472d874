/** Runs over HTTP: tool outputs, cancel, the record, and the events again. */
import { type Run, RunId, ThreadId, type ToolOutputsRequest, Turns } from "@colloquy/core"
import { isAtRest } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import { HTTPValidationError } from "../wire/Errors.ts"
import { compact } from "../wire/Fields.ts"
import { runBodies, type SubmitToolOutputsRequest } from "../endpoints/RunsApi.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { Wings } from "../wings/Wings.ts"
import { idempotencyOf } from "./Idempotency.ts"
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
    const read = yield* bodyReader
    const deliver = yield* delivery
    const { heartbeat } = yield* HttpSettings
    const wings = yield* Wings

    return handlers
      .handleRaw("submitToolOutputs", (raw) =>
        Effect.gen(function* () {
          const { value } = yield* read(runBodies.submit, raw)
          const stream = raw.query.stream ?? value.stream === true
          const request = { ...outputsOf(value, stream), ...placeOf(raw.params) }
          const repeat = yield* idempotencyOf(raw, () => request)
          return yield* deliver(turns.submitToolOutputs({ ...request, ...repeat }), stream)
        })
      )
      .handleRaw("submitToolOutputsToThread", (raw) =>
        Effect.gen(function* () {
          const { value } = yield* read(runBodies.submitToThread, raw)
          const stream = value.stream === true
          const request = { ...outputsOf(value, stream), threadId: ThreadId.make(value.thread_id) }
          const repeat = yield* idempotencyOf(raw, () => request)
          return yield* deliver(turns.submitToolOutputs({ ...request, ...repeat }), stream)
        })
      )
      .handle("cancel", ({ params }) => {
        const { runId, threadId } = placeOf(params)
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
        const { runId, threadId } = placeOf(params)
        return turns.report(threadId, runId).pipe(Effect.map(runToWire), Effect.mapError(toWireError))
      })
      .handle("inspect", ({ params }) => {
        const { runId, threadId } = placeOf(params)
        return turns.inspect(threadId, runId).pipe(
          Effect.map((found) => inspectionToWire(runId, found)),
          Effect.mapError(toWireError)
        )
      })
      .handle("events", ({ headers, params, query }) =>
        Effect.gen(function* () {
          const { runId, threadId } = placeOf(params)
          const after = yield* startOf(headers["last-event-id"], query.after, params.run_id)
          const { run } = yield* Effect.mapError(turns.report(threadId, runId), toWireError)
          if (isOver(run, after)) return HttpServerResponse.empty({ status: 204 })
          const events = yield* Effect.mapError(turns.follow(threadId, runId, after), toWireError)
          return yield* streamResponse({ threadId, runId, assistantId: run.assistantId }, events, { heartbeat, wings })
        })
      )
  })
)

/** An empty id is what the router makes of a missing one; no run has it. */
const placeOf = ({ run_id, thread_id }: { readonly run_id: string; readonly thread_id: string }) => ({
  threadId: ThreadId.make(thread_id),
  runId: RunId.make(run_id)
})

const outputsOf = (body: SubmitToolOutputsRequest, stream: boolean): Omit<ToolOutputsRequest, "threadId"> => ({
  outputs: body.tool_outputs.map(({ output, tool_call_id }) => ({
    toolCallId: tool_call_id,
    output: typeof output === "string" ? output : JSON.stringify(output)
  })),
  stream,
  ...compact({ tools: toolsFromWire(body.tools), thinking: thinkingFromWire(body.thinking) })
})

/** Nothing is left to send, and nothing will come. */
const isOver = (run: Run, after: number): boolean => isAtRest(run.status) && after >= run.lastSequence

/** The header is what a reconnecting client adds to the address that it began with, so it is the newer of the two. */
const startOf = (
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
