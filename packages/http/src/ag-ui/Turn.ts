/**
 * A run of AG-UI as the kernel's work: a new message, outputs of the client's tools, decisions about approvals, the same run again, or only a
 * look at the thread. A fault in the sense of the protocol is an `AgUiRefusal`, which is sent as the event `RUN_ERROR`.
 */
import {
  type Assistant,
  AssistantId,
  Assistants,
  type Message,
  type StartedTurn,
  ThreadId,
  Threads,
  type ToolDefinition,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import { type CallDecision, isAtRest, type OpenCall, type ThreadWithMessages } from "@colloquy/core/adapters"
import { Documents, makeStartWithFiles } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { inlineName } from "../bodies/InlineFile.ts"
import { decodeInPieces } from "../bodies/LiftedMedia.ts"
import { clientId, idField } from "./Messages.ts"
import {
  type Ending,
  instructionsIn,
  mediaIn,
  type Medium,
  outputIn,
  readEnding,
  type Resume,
  type RunInput,
  textIn
} from "./RunInput.ts"

class AgUiRefusal extends Schema.TaggedError<AgUiRefusal>()("AgUiRefusal", {
  code: Schema.String,
  message: Schema.String
}) {}

const refuse = (code: string, message: string) => new AgUiRefusal({ code, message })

/** Fields of the application's message, as the native API takes them. */
export type Wanted = Omit<TurnRequest, "content" | "threadId" | "assistantId">

type Key = NonNullable<TurnRequest["idempotency"]>

export interface AgentThread extends ThreadWithMessages {
  readonly assistant: Assistant
}

type Told = Pick<StartedTurn, "runId" | "events" | "open">

/** The content of the answer: a leg from its beginning, or the present thread with the leg that is under way. */
export type ToldThread = AgentThread & {
  /** The results of calls that this run decided itself. */
  readonly results: ReadonlyArray<{ readonly toolCallId: string; readonly content: string }>
} & ({ readonly _tag: "Leg"; readonly turn: Told; readonly isAgain: boolean } | { readonly _tag: "AtRest" })

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu

export const makeAgUiTurns = Effect.gen(function* () {
  const assistants = yield* Assistants
  const threads = yield* Threads
  const turns = yield* Turns
  const startWithFiles = yield* makeStartWithFiles
  const documents = Option.getOrNull(yield* Effect.serviceOption(Documents))

  /** Finds a thread by its id in the API, or by the id that this client has for the conversation. */
  const findThread = Effect.fnUntraced(function* (assistant: Assistant, id: string) {
    const missing = refuse("assistant_removed", "The assistant was removed.")
    const known = uuid.test(id) ? threads.get(ThreadId.make(id.toLowerCase())) : Effect.succeed(null)
    const found = yield* Effect.catchTag(known, "ThreadNotFound", () => Effect.succeed(null))
    if (found !== null) return found
    const named = yield* threads.named(assistant.id, id)
    if (Option.isNone(named)) return yield* missing
    return yield* Effect.catchTag(threads.get(named.value.id), "ThreadNotFound", () => missing)
  })

  const findAgentThread = Effect.fnUntraced(function* (assistantId: string, threadId: string) {
    const assistant = yield* assistants.get(AssistantId.make(assistantId))
    const found = yield* findThread(assistant, threadId)
    if (found.thread.assistantId !== assistant.id)
      return yield* refuse(
        "other_assistant",
        "This thread belongs to another assistant. Run that one, or begin a new thread."
      )
    return { ...found, assistant }
  })

  const receive = Effect.fnUntraced(function* ({ source }: Medium, index: number) {
    if (documents === null) return yield* refuse("invalid_media", "This server keeps no files.")
    if (source.type !== "data") return yield* refuse("invalid_media", "Send the bytes of files, as data.")
    const mimeType = source.mimeType ?? "application/octet-stream"
    const bytes = yield* decodeInPieces(source.value)
    if (bytes === null) return yield* refuse("invalid_media", "The value of a source is no base64.")
    const filename = inlineName(mimeType, index)
    const file = documents.receive({ filename, bytes: Stream.fromIterable(bytes), purpose: "attachment" })
    return yield* Effect.mapError(file, (error) =>
      error._tag === "StoreUnavailable" ? error : refuse("invalid_media", error.message)
    )
  })

  /** The instructions of the client stand behind those of the assistant. */
  const systemPrompt = (assistant: Assistant, input: RunInput, wanted: Wanted) => {
    const more = instructionsIn(input)
    const own = wanted.systemPrompt ?? assistant.systemPrompt ?? ""
    return more.length === 0 ? {} : { systemPrompt: [own, ...more].filter((text) => text !== "").join("\n\n") }
  }

  /** `again`: a question of the thread that is asked once more, in its own place. */
  const start = Effect.fnUntraced(function* (
    at: AgentThread,
    input: RunInput,
    wanted: Wanted,
    idempotency: Key,
    again: Message | null
  ) {
    const request = { ...wanted, threadId: at.thread.id, stream: true, idempotency }
    if (again !== null)
      return yield* turns.start({ ...request, content: "", instead: { messageId: again.id, in: "place" } })
    const ending = withoutKnown(readEnding(input.messages), at.messages)
    const media = ending.users.flatMap(({ content }) => mediaIn(content))
    const files = yield* Effect.forEach(media, receive)
    const id = ending.users.at(-1)?.id
    const message: TurnRequest = {
      ...request,
      ...systemPrompt(at.assistant, input, wanted),
      ...clientTools(at.assistant, input),
      content: ending.users.map(({ content }) => textIn(content)).join("\n\n"),
      metadata: { ...wanted.metadata, ...(id === undefined ? {} : { [idField]: id }) }
    }
    return yield* startWithFiles(message, files)
  }, Effect.scoped)

  /** Decisions first: the run goes on with the last answer to its open calls. */
  const resume = Effect.fnUntraced(function* (at: AgentThread, input: RunInput, idempotency: Key) {
    const entries = input.resume ?? []
    const asking = at.messages.findLast(({ toolCalls }) =>
      toolCalls.some(({ approval, id }) => approval !== undefined && id === entries[0]?.interruptId)
    )
    if (asking === undefined || asking.runId === null) return yield* unknownInterrupt(entries[0]?.interruptId ?? "")
    const open = openCalls(asking)
    const unanswered = open.filter(
      ({ approval, id }) => approval !== undefined && entries.every(({ interruptId }) => interruptId !== id)
    )
    if (unanswered.length > 0) return yield* openInterrupts(unanswered)
    const outputs = outputsFor(open, input)
    yield* ensureOutputs(open, outputs)
    const decisions = yield* Effect.forEach(entries, readDecision)
    const request = { threadId: at.thread.id, runId: asking.runId, stream: true }
    const decided = yield* turns.decide({ ...request, decisions, ...(outputs.length > 0 ? {} : { idempotency }) }).pipe(
      Effect.catchTag("AlreadyDecided", (error) =>
        // A client that cancels a call which has expired meanwhile gets the run as it is.
        entries.every(({ status }) => status === "cancelled") ? Effect.succeed(null) : Effect.fail(error)
      )
    )
    const turn = outputs.length > 0 ? yield* turns.submitToolOutputs({ ...request, outputs, idempotency }) : decided
    return { turn, results: decisions.flatMap(rejection), isAgain: asking.status !== "REQUIRES_ACTION" }
  })

  const follow = Effect.fnUntraced(function* (at: AgentThread) {
    const [newest] = (yield* turns.list(at.thread.id, { limit: 1 })).runs
    if (newest === undefined || isAtRest(newest.run.status)) return null
    const { id: runId, legStart } = newest.run
    return { runId, events: yield* turns.follow(at.thread.id, runId, Math.max(0, legStart - 1)) }
  })

  const answer = Effect.fnUntraced(function* (assistantId: string, input: RunInput, wanted: Wanted, idempotency: Key) {
    const at = yield* findAgentThread(assistantId, input.threadId)
    const leg = (turn: Told | null, results: ToldThread["results"] = [], isAgain = false): ToldThread =>
      turn === null || turn.open !== undefined
        ? { ...at, _tag: "AtRest", results }
        : { ...at, _tag: "Leg", turn, isAgain, results }
    const repeated = yield* turns.repeated(idempotency, { stream: true })
    if (Option.isSome(repeated)) return leg(repeated.value, [], true)
    if ((input.resume ?? []).length > 0) {
      const { isAgain, results, turn } = yield* resume(at, input, idempotency)
      return leg(turn, results, isAgain)
    }
    const waiting = at.messages.findLast(({ role }) => role === "assistant")
    const open = waiting?.status === "REQUIRES_ACTION" ? openCalls(waiting) : []
    const approvals = open.filter(({ approval }) => approval !== undefined)
    const outputs = outputsFor(open, input)
    const isNew = withoutKnown(readEnding(input.messages), at.messages).users.length > 0
    if (approvals.length > 0 && (isNew || outputs.length > 0)) return yield* openInterrupts(approvals)
    if (outputs.length > 0 && (!isNew || outputs.length === open.length)) {
      yield* ensureOutputs(open, outputs)
      const request = { threadId: at.thread.id, outputs, stream: true, ...clientTools(at.assistant, input) }
      if (!isNew) return leg(yield* turns.submitToolOutputs({ ...request, idempotency }))
      // The run that waited answers first, and the message comes after it.
      yield* (yield* turns.submitToolOutputs(request)).reply
    }
    const asked = isNew ? null : failedQuestion(at, input)
    if (isNew || asked !== null) return leg(yield* start(at, input, wanted, idempotency, asked))
    return leg(yield* follow(at), [], true)
  })

  return { answer }
})

/** The calls of a message that nobody has answered yet. */
export const openCalls = ({ toolCalls, toolResults }: Message): ReadonlyArray<OpenCall> =>
  toolCalls.filter(({ id }) => toolResults.every(({ toolCallId }) => toolCallId !== id))

/** Messages that the thread has already are not sent again. */
const withoutKnown = (ending: Ending, messages: ReadonlyArray<Message>): Ending => {
  const known = new Set(messages.flatMap((message) => (message.role === "user" ? [message.id, clientId(message)] : [])))
  return { ...ending, users: ending.users.filter(({ id }) => !known.has(id)) }
}

/** The last question, if its answer failed or was cancelled: a run with nothing new asks it once more. */
const failedQuestion = ({ messages }: AgentThread, input: RunInput): Message | null => {
  const last = readEnding(input.messages).users.at(-1)
  const question = messages.findLast(({ role }) => role === "user")
  if (last === undefined || question === undefined || ![question.id, clientId(question)].includes(last.id)) return null
  const answer = messages.at(-1)
  return answer?.status === "FAILED" || answer?.status === "CANCELLED" ? question : null
}

const outputsFor = (open: ReadonlyArray<OpenCall>, { messages }: RunInput) =>
  readEnding(messages).results.flatMap((result) =>
    open.some(({ approval, id }) => approval === undefined && id === result.toolCallId)
      ? [{ toolCallId: result.toolCallId, output: outputIn(result) }]
      : []
  )

const ensureOutputs = (open: ReadonlyArray<OpenCall>, outputs: ReadonlyArray<{ readonly toolCallId: string }>) => {
  const missing = open.filter(
    ({ approval, id }) => approval === undefined && outputs.every(({ toolCallId }) => toolCallId !== id)
  )
  return missing.length === 0
    ? Effect.void
    : refuse(
        "tool_results_missing",
        `The run waits for the results of all its calls. Add a tool message for ${names(missing)}.`
      )
}

const names = (calls: ReadonlyArray<OpenCall>): string => calls.map(({ id, name }) => `${name} (${id})`).join(", ")

const openInterrupts = (calls: ReadonlyArray<OpenCall>) =>
  refuse(
    "interrupts_open",
    `The thread waits for decisions. Send a resume entry for each of these calls: ${names(calls)}.`
  )

const unknownInterrupt = (id: string) =>
  refuse("unknown_interrupt", `No call of this thread has asked for a decision as ${id}.`)

const Payload = Schema.Struct({
  approved: Schema.Boolean,
  editedArgs: Schema.optionalKey(Schema.NullOr(Schema.JsonObject)),
  reason: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(10_000))))
})
const readPayload = Schema.decodeUnknownOption(Payload)

const readDecision = ({ interruptId, payload, status }: Resume): Effect.Effect<CallDecision, AgUiRefusal> => {
  if (status === "cancelled") return Effect.succeed({ toolCallId: interruptId, decision: "reject" })
  const given = Option.getOrNull(readPayload(typeof payload === "boolean" ? { approved: payload } : payload))
  if (given === null)
    return refuse(
      "invalid_resume",
      `The payload of ${interruptId} must be {"approved": boolean, "editedArgs"?: object, "reason"?: string}.`
    )
  const { approved, editedArgs, reason } = given
  return Effect.succeed({
    toolCallId: interruptId,
    decision: approved ? "approve" : "reject",
    ...(typeof editedArgs === "object" && editedArgs !== null ? { arguments: editedArgs } : {}),
    ...(typeof reason === "string" ? { reason } : {})
  })
}

const rejection = ({ decision, reason, toolCallId }: CallDecision) =>
  decision === "reject" ? [{ toolCallId, content: reason === undefined ? "Rejected." : `Rejected: ${reason}` }] : []

/** The tools of the assistant and of the client. If two have the same name, the client's is used. */
const clientTools = ({ tools }: Assistant, input: RunInput) => {
  const given = (input.tools ?? []).map(({ description, name, parameters }): ToolDefinition => ({
    name,
    description: description ?? null,
    parameters: parameters ?? null
  }))
  if (given.length === 0) return {}
  return { tools: [...(tools ?? []).filter(({ name }) => given.every((each) => each.name !== name)), ...given] }
}
