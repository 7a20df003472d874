/**
 * Each assistant as a tool that takes a message and gives the answer. A call that needs an approval asks the person behind the client, if
 * the client can ask: the result contains the question, and the client repeats the call with the decision. Nothing of this is kept in this
 * process.
 */
import {
  type Assistant,
  AssistantId,
  Assistants,
  type Principal,
  RunId,
  type StartedTurn,
  ThreadId,
  Threads,
  type TurnReply,
  Turns
} from "@colloquy/core"
import type { CallDecision, IdempotencyKey, OpenCall } from "@colloquy/core/adapters"
import {
  type CallToolResult,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  isSpecType,
  type ServerContext,
  type Tool
} from "@modelcontextprotocol/server"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { toProblems } from "../bodies/Problems.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { isMade } from "../wire/MadeAssistant.ts"

export const pageSize = 100

/** The id ends the name, so that a name finds its assistant without a list. */
const toolName = ({ id, name }: Assistant): string => {
  const words = (name.normalize("NFKD").match(/[A-Za-z0-9]+/gu) ?? []).join("_").slice(0, 31)
  return `${words === "" ? "assistant" : words}_${id.replaceAll("-", "")}`
}

const idIn = (name: string): AssistantId | null => {
  const [, a, b, c, d, e] = /_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/u.exec(name) ?? []
  return a === undefined ? null : AssistantId.make([a, b, c, d, e].join("-"))
}

const inputSchema = {
  type: "object" as const,
  properties: {
    message: { type: "string", description: "What the assistant is told." },
    thread_id: { type: "string", description: "Goes on with that conversation. Absent or empty: a new one." }
  },
  required: ["message"]
}

const outputSchema = {
  type: "object" as const,
  properties: {
    thread_id: { type: "string" },
    run_id: { type: "string" },
    status: { type: "string", enum: ["COMPLETED", "REQUIRES_ACTION", "FAILED", "CANCELLED"] },
    answer: { type: "string" }
  },
  required: ["thread_id", "run_id", "status", "answer"]
}

const toTool = (assistant: Assistant): Tool => ({
  name: toolName(assistant),
  title: assistant.name,
  description: assistant.description ?? `Asks the assistant ${assistant.name}.`,
  inputSchema,
  outputSchema,
  annotations: { openWorldHint: true }
})

const Arguments = Schema.Struct({ message: Schema.String, thread_id: Schema.optionalKey(Schema.String) })
const readArguments = Schema.decodeUnknownResult(Arguments, { errors: "all", onExcessProperty: "error" })

/** `questions`: ids of calls in which a tool asks a person. The answer of the person goes to the tool as its arguments. */
const State = Schema.fromJsonString(
  Schema.Struct({ thread: ThreadId, run: RunId, questions: Schema.optionalKey(Schema.Array(Schema.String)) })
)
const readObject = Schema.decodeUnknownOption(Schema.JsonObject)
const readState = Schema.decodeUnknownOption(State)

export interface Asked {
  readonly name: string
  readonly args: unknown
  readonly context: ServerContext
  /** Whether a person behind the client can be asked for a decision. */
  readonly canAsk: boolean
  readonly idempotency: IdempotencyKey | null
}

type CallResult = CallToolResult | InputRequiredResult

export const makeAssistantTools = Effect.gen(function* () {
  const assistants = yield* Assistants
  const threads = yield* Threads
  const turns = yield* Turns

  const list = Effect.fnUntraced(function* (skip: number) {
    const found = yield* assistants.list({ skip, limit: pageSize })
    return {
      tools: found.filter((each) => !isMade(each)).map(toTool),
      ...(found.length < pageSize ? {} : { nextCursor: String(skip + pageSize) })
    }
  })

  /** Tools of a client are not offered: nobody is there to run them. */
  const start = Effect.fnUntraced(function* (assistant: Assistant, { args, idempotency }: Asked) {
    const read = readArguments(args)
    if (Result.isFailure(read)) return refused(toProblems(read.failure.issue, []).map(inWords).join(" "))
    const { message: content, thread_id } = read.success
    // Models write an empty text for a value that they do not have.
    const threadId = thread_id === undefined || thread_id === "" ? null : ThreadId.make(thread_id.toLowerCase())
    if (threadId !== null && (yield* threads.get(threadId)).thread.assistantId !== assistant.id)
      return refused("This conversation is with another assistant.")
    return yield* turns.start({
      content,
      stream: true,
      tools: (assistant.tools ?? []).filter(({ hosted }) => hosted === true),
      ...(threadId === null ? { assistantId: assistant.id } : { threadId }),
      ...(idempotency === null ? {} : { idempotency })
    })
  })

  /** Gives the decisions of the person to the run, which goes on. */
  const resume = Effect.fnUntraced(function* (
    { questions = [], run, thread }: typeof State.Type,
    context: ServerContext
  ) {
    const { inputResponses = {} } = context.mcpReq
    const decisions = Object.keys(inputResponses).flatMap((id) =>
      decisionIn(id, inputResponses, questions.includes(id))
    )
    return yield* turns.decide({ threadId: thread, runId: run, decisions, stream: true })
  })

  const call: (asked: Asked) => Effect.Effect<CallResult | null, never, Principal> = Effect.fnUntraced(
    function* (asked) {
      const id = idIn(asked.name)
      const found = id === null ? Effect.succeed(null) : assistants.get(id)
      const assistant = yield* Effect.catchTag(found, "AssistantNotFound", () => Effect.succeed(null))
      if (assistant === null) return null
      const state = Option.getOrNull(readState(asked.context.mcpReq.requestState()))
      const turn = state === null ? yield* start(assistant, asked) : yield* resume(state, asked.context)
      if ("content" in turn) return turn
      const reply = yield* tellProgress(turn, asked.context).pipe(
        Effect.andThen(turn.reply),
        Effect.onInterrupt(() => Effect.ignore(turns.cancel(turn.threadId, turn.runId)))
      )
      return toResult(reply, asked.canAsk)
    },
    Effect.catch((error) => {
      const { detail } = toWireError(error)
      return Effect.succeed(refused(typeof detail === "string" ? detail : detail.map(inWords).join(" ")))
    })
  )

  return { list, call }
})

/** Tells a client that has asked for progress what the assistant is doing. */
const tellProgress = ({ events }: StartedTurn, { mcpReq }: ServerContext) => {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return Effect.void
  let progress = 0
  const tell = (message: string) => {
    progress += 1
    const params = { progressToken, progress, message }
    return Effect.ignore(Effect.tryPromise(() => mcpReq.notify({ method: "notifications/progress", params })))
  }
  return Effect.ignore(
    Stream.runForEach(events, (event) => {
      if (event._tag === "StepStarted") return tell("The assistant reads.")
      return event._tag === "ToolCallReady" ? tell(`The assistant uses ${event.call.name}.`) : Effect.void
    })
  )
}

const text = (words: string) => ({ type: "text" as const, text: words })

const refused = (words: string): CallToolResult => ({ content: [text(words)], isError: true })

const inWords = ({ loc, msg }: { readonly loc: ReadonlyArray<string | number>; readonly msg: string }): string =>
  `${loc.join(".")}: ${msg}.`

const toResult = (reply: TurnReply, canAsk: boolean): CallResult => {
  const { content, fault, runId, status, threadId, toolCalls } = reply
  if (status === "REQUIRES_ACTION" && canAsk) return question(reply)
  const structuredContent = { thread_id: threadId, run_id: runId, status, answer: content }
  const waits = `A person must decide about ${toolCalls.map(({ name }) => name).join(", ")}, at /threads/${threadId}/runs/${runId}/approvals. The conversation goes on with the thread_id.`
  const words = fault === null ? (status === "REQUIRES_ACTION" ? waits : content) : fault.message
  return { content: [text(words)], structuredContent, ...(fault === null ? {} : { isError: true }) }
}

const question = ({ runId, threadId, toolCalls }: TurnReply): InputRequiredResult =>
  inputRequired({
    inputRequests: Object.fromEntries(toolCalls.map((call) => [call.id, elicitation(call)])),
    requestState: JSON.stringify({
      thread: threadId,
      run: runId,
      questions: toolCalls.filter((call) => readForm(call) !== null).map(({ id }) => id)
    })
  })

/** The question of a tool, if a client can show it as a form. */
const readForm = ({ approval }: OpenCall) => {
  if (approval?.question === undefined) return null
  const { message, schema: requestedSchema } = approval.question
  const form: unknown = { message, requestedSchema }
  return isSpecType.ElicitRequestFormParams(form) ? form : null
}

const elicitation = (call: OpenCall) => {
  const { arguments: args, name } = call
  const form = readForm(call)
  if (form !== null) return inputRequired.elicit(form)
  return inputRequired.elicit({
    message: `May the tool ${name} run with these arguments? ${args}`,
    requestedSchema: {
      type: "object",
      properties: {
        approved: { type: "boolean", title: "Approve" },
        reason: { type: "string", title: "Why not", description: "The assistant reads it." }
      },
      required: ["approved"]
    }
  })
}

/** To decline is to reject. An answer in another form decides nothing, and the client is asked again. */
const decisionIn = (
  toolCallId: string,
  responses: Record<string, unknown>,
  isAnswer: boolean
): ReadonlyArray<CallDecision> => {
  const view = inputResponse(responses, toolCallId)
  if (view.kind !== "elicit") return []
  const { approved, reason } = view.content ?? {}
  if (view.action !== "accept") return [{ toolCallId, decision: "reject" }]
  if (isAnswer)
    return [{ toolCallId, decision: "approve", arguments: Option.getOrElse(readObject(view.content), () => ({})) }]
  if (typeof approved !== "boolean") return []
  const why = typeof reason === "string" && reason !== "" ? { reason: reason.slice(0, 10_000) } : {}
  return [{ toolCallId, ...(approved ? { decision: "approve" } : { decision: "reject", ...why }) }]
}
