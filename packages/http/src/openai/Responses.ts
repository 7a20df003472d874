/**
 * `POST /v1/responses`. A stored response is a leg of a run of a thread: the next one continues the thread, by `previous_response_id` or by
 * `conversation`. A response that is not the last of its thread is continued on a new thread, which begins with what was said up to there.
 * With `store: false` the thread is removed when the answer is complete.
 */
import {
  type Assistant,
  Assistants,
  type Message,
  type Principal,
  type StartedTurn,
  type Thread,
  Threads,
  Turns
} from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { isRecord } from "../wire/Json.ts"
import { compact } from "../wire/Fields.ts"
import { makeTakeSlot, streamAnswer } from "./Answering.ts"
import { type AskedTurn, makeStart } from "./AskedTurn.ts"
import { newConversationTarget, withIgnored } from "./ChatCompletions.ts"
import { fromFault, fromKernel, invalid, OpenAiError } from "./Errors.ts"
import { readConversationId, readResponseId, type ResponseIds } from "./Ids.ts"
import { makeModelNames, type Target } from "./ModelNames.ts"
import {
  ignoredOptions,
  readModelOptions,
  refuseOptions,
  responseSettings,
  settingsWithoutEffect,
  readThinking
} from "./Options.ts"
import { makeDecoder, type Fields, type Media, readRequest } from "./Request.ts"
import { conversationIn, ResponseBody } from "./ResponseBody.ts"
import { ResponseEvents } from "./ResponseEvents.ts"
import {
  type Asked,
  readAskedOrEmpty,
  begun,
  type Beginning,
  repliedParts,
  responseIds,
  responseRecord
} from "./ResponseRecord.ts"
import { developerIn, isDeleted, isLast, transcriptItems, questionInRun, upTo, waitingIn } from "./StoredTurns.ts"
import { type AskedTools, askedTools } from "./Tools.ts"
import { checkCalls, type Conversation } from "./Transcript.ts"
import { keptTranscript } from "./TranscriptPart.ts"
import { makeWingFields, type WingFields } from "./WingFields.ts"

const decode = makeDecoder(ResponseBody)

/** The conversation that a response continues. */
interface Before {
  readonly thread: Thread
  readonly assistant: Assistant
  readonly messages: ReadonlyArray<Message>
  /** The thread itself is not continued: a new one begins with these messages. */
  readonly isCopied: boolean
}

interface Wanted {
  readonly fields: Fields
  readonly body: ResponseBody
  readonly conversation: Conversation
  readonly media: Media
  readonly tools: AskedTools | undefined
  readonly before: Before | null
  readonly target: Target | null
  readonly own: WingFields
}

export const makeResponses = Effect.gen(function* () {
  const turns = yield* Turns
  const threads = yield* Threads
  const assistants = yield* Assistants
  const { cancel, start } = yield* makeStart
  const findModel = yield* makeModelNames
  const takeSlot = yield* makeTakeSlot
  const wingFields = yield* makeWingFields

  const load = Effect.fnUntraced(function* (ids: Pick<ResponseIds, "threadId">, missing: OpenAiError) {
    const found = yield* threads
      .get(ids.threadId)
      .pipe(Effect.mapError((error) => (error._tag === "ThreadNotFound" ? missing : fromKernel(error))))
    const assistant = yield* Effect.mapError(assistants.get(found.thread.assistantId), fromKernel)
    return { ...found, assistant }
  })

  const findBefore = Effect.fnUntraced(function* (
    body: ResponseBody
  ): Effect.fn.Return<Before | null, OpenAiError, Principal> {
    const { conversation, previous_response_id: previous } = body
    const isStored = body.store !== false
    if (typeof previous === "string") {
      if (conversation !== null && conversation !== undefined) return yield* bothNamed
      const ids = readResponseId(previous)
      const missing = noPrevious(previous)
      if (ids === null) return yield* missing
      const found = yield* load(ids, missing)
      if (isDeleted(found.thread, ids) || questionInRun(found.messages, ids.runId) === undefined) return yield* missing
      const isCopied = !isStored || !isLast(found.messages, ids)
      return { ...found, messages: isCopied ? upTo(found.messages, ids) : found.messages, isCopied }
    }
    if (conversation === null || conversation === undefined) return null
    const id = typeof conversation === "string" ? conversation : conversation.id
    const threadId = readConversationId(id)
    const missing = noConversation(id)
    if (threadId === null) return yield* missing
    return { ...(yield* load({ threadId }, missing)), isCopied: !isStored }
  })

  const findTarget = Effect.fnUntraced(function* (
    { model }: ResponseBody,
    before: Before | null
  ): Effect.fn.Return<Target | null, OpenAiError, Principal> {
    if (typeof model !== "string") return before === null ? yield* noModel : null
    const target = yield* findModel(model)
    if (before !== null && target._tag === "Assistant" && target.assistant.id !== before.assistant.id)
      return yield* otherAssistant
    return target
  })

  const newTurn = Effect.fnUntraced(function* (wanted: Wanted, asked: Asked) {
    const { before, body, conversation } = wanted
    const copied = before?.isCopied === true ? transcriptItems(before.messages) : []
    const items = yield* Effect.fromResult(checkCalls([...copied, ...conversation.items]))
    const turn: AskedTurn = {
      ...turnTarget(wanted),
      isTemporary: body.store === false,
      instructions: typeof body.instructions === "string" ? [body.instructions] : [],
      developerBefore: before === null ? [] : developerIn(before.messages),
      developer: conversation.developer,
      items,
      media: wanted.media,
      format: readFormat(body),
      stream: body.stream === true,
      asked: { ...asked },
      wingOptions: wanted.own.options,
      ...compact({
        tools: wanted.tools,
        thinking: readThinking(body.reasoning?.effort),
        modelOptions: readModelOptions(body),
        metadata: body.metadata ?? undefined,
        background: body.background ?? undefined
      })
    }
    return yield* Effect.mapError(start(turn), wingFields.refusal)
  })

  const nextLeg = (wanted: Wanted, { runId, threadId }: ResponseIds) => {
    const outputs = wanted.conversation.items.flatMap(({ item }) =>
      item.role === "tool" ? [{ toolCallId: item.toolCallId, output: item.output }] : []
    )
    const more = compact({ tools: wanted.tools?.tools, thinking: readThinking(wanted.body.reasoning?.effort) })
    const request = { threadId, runId, outputs, stream: wanted.body.stream === true, ...more }
    return Effect.mapError(turns.submitToolOutputs(request), fromKernel)
  }

  const answer = Effect.fnUntraced(function* (
    turn: StartedTurn,
    beginning: Beginning,
    body: ResponseBody,
    ignored: ReadonlyArray<string>
  ) {
    const { isStored } = beginning
    const isBackground = body.background === true
    if (body.stream === true) {
      const abandoned = isBackground ? Effect.void : cancel(turn)
      const events = new ResponseEvents(beginning, new Date(yield* Clock.currentTimeMillis))
      return withIgnored(yield* streamAnswer(turn, events, abandoned), ignored)
    }
    if (isBackground) {
      const { run } = yield* Effect.mapError(turns.report(turn.threadId, turn.runId), fromKernel)
      const status = run.status === "QUEUED" ? "queued" : "in_progress"
      const record = begun(beginning, `${run.provider}/${run.model}`, run.createdAt, status)
      return withIgnored(HttpServerResponse.jsonUnsafe(responseRecord(record)), ignored)
    }
    const reply = yield* turn.reply.pipe(
      Effect.mapError(fromKernel),
      Effect.onInterrupt(() => cancel(turn))
    )
    if (reply.fault !== null) return yield* fromFault(reply.fault, isStored)
    return withIgnored(HttpServerResponse.jsonUnsafe(responseRecord(repliedParts(beginning, reply))), ignored)
  })

  return Effect.gen(function* () {
    const { fields, media } = yield* readRequest
    yield* Effect.fromResult(refuseOptions(fields))
    const body = yield* decode(fields)
    if (body.background === true && body.store === false) return yield* backgroundUnstored
    const own = yield* Effect.fromResult(wingFields.read(fields, ResponseBody.fields))
    const conversation = yield* Effect.fromResult(conversationIn(body.input, media))
    const tools = yield* Effect.fromResult(askedTools(body.tools ?? []))
    const before = yield* findBefore(body)
    const target = yield* findTarget(body, before)
    const given = (body.tools ?? null) === null ? undefined : tools
    const wanted = {
      fields,
      body,
      conversation,
      media,
      before,
      target,
      own,
      tools: body.tool_choice === "none" ? none : given
    }

    const waiting = before === null || before.isCopied ? null : waitingIn(before.messages)
    const outputs = conversation.items.filter(({ item }) => item.role === "tool")
    const isStored = body.store !== false
    if (body.stream === true) yield* takeSlot
    if (before !== null && waiting !== null && outputs.length > 0) {
      if (outputs.length < conversation.items.length || conversation.developer.length > 0) return yield* outputsAlone
      const question = questionInRun(before.messages, waiting.runId)
      const asked = readAskedOrEmpty(question === undefined ? null : keptTranscript(question)?.asked)
      const turn = yield* nextLeg(wanted, waiting)
      const beginning = { ids: responseIds(turn, waiting.leg), asked, isStored, tools: tools.tools }
      const ignored = [...ignoredOptions(fields, ResponseBody.fields), ...changedFieldsOfRun(wanted, asked)]
      return yield* answer(turn, beginning, body, ignored)
    }
    const asked = askedBy(body)
    const turn = yield* newTurn(wanted, asked)
    const beginning = { ids: responseIds(turn, 0), asked, isStored, tools: tools.tools }
    const known = { ...ResponseBody.fields, ...own.sent }
    const ignored = [...ignoredOptions(fields, known), ...settingsWithoutEffect(turn.ignored, body)]
    return yield* answer(turn, beginning, body, ignored)
  })
})

const none: AskedTools = { tools: [], webSearch: false }

const turnTarget = ({ before, target }: Wanted) => {
  if (before === null) return target === null ? { system: null } : newConversationTarget(target)
  const model = target?._tag === "Model" ? { provider: target.provider, model: target.model } : {}
  const conversation = before.isCopied ? { assistantId: before.assistant.id } : { threadId: before.thread.id }
  return { ...conversation, ...model, system: before.assistant.systemPrompt }
}

const readFormat = ({ text }: ResponseBody): AskedTurn["format"] => text?.format ?? { type: "text" }

const askedBy = (body: ResponseBody): Asked => ({
  instructions: body.instructions ?? null,
  previous: body.previous_response_id ?? null,
  isConversation: body.conversation !== null && body.conversation !== undefined,
  isBackground: body.background === true,
  format: isRecord(body.text?.format) ? { ...body.text.format } : { type: "text" },
  metadata: { ...body.metadata },
  ...sentSettings(body)
})

const isJson = Schema.is(Schema.Json)

/** The settings that the client has sent, as they were sent. */
const sentSettings = (body: ResponseBody): Pick<Asked, "settings"> => {
  const sent = Object.keys(responseSettings).flatMap((name) => {
    const value: unknown = Object.entries(body).find(([field]) => field === name)?.[1]
    return value !== null && value !== undefined && isJson(value) ? [[name, value] as const] : []
  })
  return sent.length === 0 ? {} : { settings: Object.fromEntries(sent) }
}

/** The settings of the run, which do not change when outputs of its tools arrive. */
const changedFieldsOfRun = ({ before, body, target }: Wanted, asked: Asked): ReadonlyArray<string> => {
  const last = before?.messages.at(-1)
  const isOther = target?._tag === "Model" && (target.model !== last?.model || target.provider !== last.provider)
  return [
    ...(typeof body.instructions === "string" && body.instructions !== asked.instructions ? ["instructions"] : []),
    ...(isOther ? ["model"] : [])
  ]
}

const bothNamed = invalid("Name either previous_response_id or conversation.", "previous_response_id")

const noModel = invalid("Missing required parameter: 'model'.", "model", "missing_required_parameter")

const otherAssistant = invalid(
  "This conversation belongs to another assistant. Name that one or a model, or begin a new conversation.",
  "model"
)

const outputsAlone = invalid(
  "The conversation waits for the outputs of its tools. Send them alone, and what else there is to say with the next request.",
  "input"
)

const backgroundUnstored = invalid("A response in the background must be stored.", "background")

const noPrevious = (id: string) =>
  invalid(
    `Previous response with id '${id.slice(0, 100)}' not found.`,
    "previous_response_id",
    "previous_response_not_found"
  )

export const noConversation = (id: string) =>
  new OpenAiError({
    status: 404,
    message: `Conversation with id '${id.slice(0, 100)}' not found.`,
    param: "conversation"
  })
