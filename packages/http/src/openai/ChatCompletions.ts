/**
 * `POST /v1/chat/completions`: the client carries the conversation, so each request is a turn on a thread of its own, which is removed when
 * the turn has ended. Tools of the server, documents and memory of an assistant join it as they join every turn.
 */
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Metadata } from "@colloquy/core/adapters"
import { compact } from "../wire/Fields.ts"
import { makeTakeSlot, streamAnswer } from "./Answering.ts"
import { type AskedTurn, makeStart } from "./AskedTurn.ts"
import { ChatBody, readConversation } from "./ChatBody.ts"
import { cancelled, ChatChunks, chatReply, needsApproval } from "./ChatReply.ts"
import { fromFault, fromKernel } from "./Errors.ts"
import { makeModelNames, type Target } from "./ModelNames.ts"
import {
  ignoredHeader,
  ignoredOptions,
  readModelOptions,
  refuseOptions,
  settingsWithoutEffect,
  readThinking
} from "./Options.ts"
import { makeDecoder, readRequest } from "./Request.ts"
import { askedTools } from "./Tools.ts"
import { makeWingFields } from "./WingFields.ts"
import { checkCalls } from "./Transcript.ts"

const decode = makeDecoder(ChatBody)

export const makeChatCompletions = Effect.gen(function* () {
  const { cancel, start } = yield* makeStart
  const findModel = yield* makeModelNames
  const takeSlot = yield* makeTakeSlot
  const wingFields = yield* makeWingFields

  return Effect.gen(function* () {
    const { fields, media } = yield* readRequest
    yield* Effect.fromResult(refuseOptions(fields))
    const body = yield* decode(fields)
    const own = yield* Effect.fromResult(wingFields.read(fields, ChatBody.fields))
    const conversation = yield* Effect.fromResult(readConversation(body, media))
    const items = yield* Effect.fromResult(checkCalls(conversation.items))
    const tools = yield* Effect.fromResult(askedTools(body.tools ?? []))
    const asked: AskedTurn = {
      ...newConversationTarget(yield* findModel(body.model)),
      isTemporary: true,
      instructions: [],
      developerBefore: [],
      developer: conversation.developer,
      items,
      media,
      format: readFormat(body),
      stream: body.stream === true,
      asked: null,
      wingOptions: own.options,
      ...compact({
        tools: body.tool_choice === "none" ? none : (body.tools ?? null) === null ? undefined : tools,
        thinking: readThinking(body.reasoning_effort),
        modelOptions: readModelOptions(body),
        metadata: readMetadata(body.metadata)
      })
    }
    if (asked.stream) yield* takeSlot
    const turn = yield* Effect.mapError(start(asked), wingFields.refusal)
    const known = { ...ChatBody.fields, ...own.sent }
    const ignored = [...ignoredOptions(fields, known), ...settingsWithoutEffect(turn.ignored, body)]
    if (asked.stream) {
      const chunks = new ChatChunks(turn.runId, body.stream_options?.include_usage === true)
      return withIgnored(yield* streamAnswer(turn, chunks, cancel(turn)), ignored)
    }
    const reply = yield* turn.reply.pipe(
      Effect.mapError(fromKernel),
      Effect.onInterrupt(() => cancel(turn))
    )
    if (reply.fault !== null) return yield* fromFault(reply.fault, false)
    if (reply.status === "CANCELLED") return yield* cancelled
    const refused = needsApproval(reply.toolCalls)
    if (refused !== null) return yield* refused
    return withIgnored(HttpServerResponse.jsonUnsafe(chatReply(reply)), ignored)
  })
})

const none = { tools: [], webSearch: false }

const readMetadata = (metadata: Metadata | null | undefined): Metadata | undefined => metadata ?? undefined

const readFormat = ({ response_format }: ChatBody): AskedTurn["format"] => {
  if (response_format === null || response_format === undefined) return { type: "text" }
  return "json_schema" in response_format
    ? { type: response_format.type, ...response_format.json_schema }
    : { type: response_format.type }
}

/** The assistant or the model that gets a new conversation under this name. */
export const newConversationTarget = (target: Target) =>
  target._tag === "Model"
    ? { provider: target.provider, model: target.model, system: null }
    : { assistantId: target.assistant.id, system: target.assistant.systemPrompt }

export const withIgnored = (response: HttpServerResponse.HttpServerResponse, ignored: ReadonlyArray<string>) =>
  ignored.length === 0 ? response : HttpServerResponse.setHeader(response, ignoredHeader, ignored.join(", "))
