/**
 * `POST /ag-ui/{assistant_id}`: an assistant as an AG-UI agent, as a wing of the API: `webHandler({ …, wings: [agUi] })`. The run goes on when its
 * client disconnects; the same run sent again is told from its beginning.
 */
import type { Message } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Clock from "effect/Clock"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { DeclaredBody } from "../bodies/RequestBody.ts"
import { messageBodies, IdempotencyHeader, turnErrors } from "../endpoints/MessagesApi.ts"
import { sha256 } from "../handlers/Hash.ts"
import { wholeRequest } from "../handlers/MessageFields.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { inBytes, withHeartbeat } from "../streams/Heartbeat.ts"
import { makeStreamSlot } from "../streams/OpenStreams.ts"
import { streamHeaders } from "../streams/Sse.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { HTTPValidationError } from "../wire/Errors.ts"
import { Uuid } from "../wire/Fields.ts"
import { isRecord } from "../wire/Json.ts"
import { NeedsScope } from "../wire/Middleware.ts"
import { bodyContext, bodyReader } from "../wings/BodyReader.ts"
import type { Wing } from "../wings/Wing.ts"
import { served, wingApi } from "../wings/WingEndpoints.ts"
import { Wings } from "../wings/Wings.ts"
import { clientId, toAgUi } from "./Messages.ts"
import { type AgUiEvent, type Beginning, eventText, outcomeOfCalls, RunEvents, type Told } from "./RunEvents.ts"
import { forwardedFields, ownKey, readEnding, runBody, RunInput, sharedState } from "./RunInput.ts"
import { type ToldThread, makeAgUiTurns, openCalls, type Wanted } from "./Turn.ts"

const run = HttpApiEndpoint.post("run", "/ag-ui/:assistant_id", {
  params: { assistant_id: Uuid },
  headers: IdempotencyHeader,
  payload: RunInput,
  success: HttpApiSchema.StreamSse({ data: Schema.Json }),
  error: turnErrors
})
  .annotate(DeclaredBody, runBody)
  .annotate(NeedsScope, "write")
  .annotate(OpenApi.Summary, "Run an assistant as an AG-UI agent: its events as AG-UI 1.0 names them")

const api = wingApi(
  HttpApiGroup.make("ag-ui")
    .add(run)
    .annotate(OpenApi.Title, "AG-UI")
    .annotate(OpenApi.Description, "Assistants as AG-UI agents.")
)

const asStream = { contentType: "text/event-stream", headers: streamHeaders }

const runError = (code: string, message: string): AgUiEvent => ({ type: "RUN_ERROR", message, code })

/** A fault in the sense of the protocol is sent as its event `RUN_ERROR`. */
const refusal = ({ code, message }: { readonly code: string; readonly message: string }) =>
  HttpServerResponse.text(eventText(runError(code, message)), asStream)

const lost = runError("stream_lost", "The events broke off. The run goes on: send the same run again to follow it.")

const asTold = (event: AgUiEvent): Told => ({ _tag: "AgUiEvent", event })

const handlers = HttpApiBuilder.group(
  api,
  "ag-ui",
  Effect.fnUntraced(function* (group) {
    // The routes of a wing are built where the wings of the API are.
    const wings = Option.getOrThrow(yield* Effect.serviceOption(Wings))
    const read = yield* Effect.provideService(bodyReader, Wings, wings)
    const { parts } = yield* Effect.provideService(bodyContext, Wings, wings)
    const { answer } = yield* makeAgUiTurns
    const { heartbeat } = yield* HttpSettings
    const takeSlot = yield* makeStreamSlot

    /** The application may forward the fields of a message of the native API. */
    const wantedBy = (input: RunInput): Result.Result<Wanted, HTTPValidationError> => {
      const raw = { value: Object.assign({}, forwardedFields(input), { content: "-" }), files: [], problems: [] }
      return Result.mapBoth(messageBodies.send.decode(raw, parts()), {
        onFailure: (detail) => new HTTPValidationError({ detail: detail.map(forwarded) }),
        onSuccess: (value) => wholeRequest(wings, value, raw)
      })
    }

    const stream = (input: RunInput, sent: unknown, found: ToldThread) =>
      Effect.map(Clock.Clock, (clock) => {
        const { runId, threadId } = input
        const events = new RunEvents(beginning(input, messagesIn(sent), found), wings)
        const told: Stream.Stream<Told> =
          found._tag === "AtRest"
            ? Stream.make(begun, asTold({ type: "RUN_FINISHED", threadId, runId, outcome: outcomeAtRest(found) }))
            : Stream.concat(
                Stream.make(begun),
                Stream.catch(found.turn.events, () => Stream.make(asTold(lost)))
              )
        const bytes = withHeartbeat({ events: told, encode: inBytes(events.encode), interval: heartbeat, clock })
        return HttpServerResponse.stream(bytes, asStream)
      })

    return group.handleRaw(
      "run",
      Effect.fnUntraced(function* (raw) {
        const { raw: sent, value: input } = yield* read(runBody, raw)
        const wanted = yield* Effect.fromResult(wantedBy(input))
        yield* takeSlot
        // A client may answer an interrupt under the id of the run that asked.
        const asked = [raw.params.assistant_id, input.threadId, input.runId, ...(input.resume ?? [])]
        const fingerprint = yield* sha256(JSON.stringify(asked))
        const key = raw.headers["idempotency-key"] ?? `ag-ui:${fingerprint}`
        const found = answer(raw.params.assistant_id, input, wanted, { key, fingerprint })
        return yield* Effect.matchEffect(found, {
          onSuccess: (told) => stream(input, sent.value, told),
          onFailure: (error) =>
            error._tag === "AgUiRefusal"
              ? Effect.succeed(refusal(error))
              : Effect.fail(toWireError(error, wings.bodyPath))
        })
      })
    )
  })
)

const begun: Told = { _tag: "Begun" }

/** The client's messages, which go back as they came, with every field. */
const messagesIn = (sent: unknown): ReadonlyArray<unknown> =>
  isRecord(sent) && Array.isArray(sent["messages"]) ? sent["messages"] : []

const forwarded = ({ loc, ...problem }: HTTPValidationError["detail"][number]) => ({
  ...problem,
  loc: ["body", "forwardedProps", ownKey, ...loc.slice(1)]
})

/** The client has not seen all of the thread: another device has spoken, or the page was loaded again. */
const isBehind = (stored: ReadonlyArray<Message>, { messages }: RunInput): boolean => {
  const known = new Set(messages.map(({ id }) => id))
  return stored.some((message) =>
    message.role === "user"
      ? !known.has(clientId(message))
      : !known.has(message.id) && (message.content !== null || message.toolCalls.length > 0)
  )
}

const beginning = (input: RunInput, sent: ReadonlyArray<unknown>, found: ToldThread): Beginning => {
  const { messages, thread } = found
  const stored = messages.filter(({ status }) => status !== "IN_PROGRESS")
  const last = stored.at(-1)
  const isAgain = found._tag === "Leg" && found.isAgain
  const isShown = found._tag === "AtRest" || isBehind(stored, input)
  const [runId, status] =
    found._tag === "Leg"
      ? [found.turn.runId, "in_progress"]
      : [last?.runId ?? null, last?.status.toLowerCase() ?? "none"]
  const base = isShown || isAgain ? [...toAgUi(stored, input.messages), ...added(stored, input)] : sent
  return {
    threadId: input.threadId,
    runId: input.runId,
    isOldClient: typeof input.protocolVersion !== "string",
    base,
    isReordered: !isInOrder(base, sent),
    snapshot: isAgain ? "answer" : isShown ? "first" : "none",
    state: sharedState(input.state),
    own: { thread_id: thread.id, run_id: runId, status },
    results: isAgain ? [] : found.results
  }
}

/** Whether one of the two lists begins with the other. Thoughts and activities are not compared: they are the client's own. */
const isInOrder = (base: ReadonlyArray<unknown>, sent: ReadonlyArray<unknown>): boolean => {
  const [ours, theirs] = [idsIn(base), idsIn(sent)]
  return ours.every((id, index) => index >= theirs.length || theirs[index] === id)
}

const idsIn = (messages: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  messages.flatMap((message) =>
    isRecord(message) && message["role"] !== "reasoning" && message["role"] !== "activity" ? [message["id"]] : []
  )

/** The messages of the client that are not stored yet. */
const added = (stored: ReadonlyArray<Message>, { messages }: RunInput) => {
  const known = new Set(stored.map(clientId))
  const answered = new Set(stored.flatMap(({ toolResults }) => toolResults.map(({ toolCallId }) => toolCallId)))
  const { results, users } = readEnding(messages)
  return [...results.filter(({ toolCallId }) => !answered.has(toolCallId)), ...users.filter(({ id }) => !known.has(id))]
}

const outcomeAtRest = ({ messages }: ToldThread) => {
  const last = messages.at(-1)
  return last?.status === "REQUIRES_ACTION" ? outcomeOfCalls(openCalls(last)) : ({ type: "success" } as const)
}

/** The wing of AG-UI. No field of messages is for it. */
export const agUi: Wing = { part: "ag-ui", endpoints: served(api, handlers) }
