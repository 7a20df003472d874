/** `/v1/conversations`: a conversation is a thread, with the client's own metadata (pairs of text). It is kept until the client deletes it. */
import { AssistantId, Assistants, type Principal, type Thread, type ThreadId, Threads } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Schema from "effect/Schema"
import { isRecord } from "../wire/Json.ts"
import { maybe } from "../wire/Fields.ts"
import { makeStart } from "./AskedTurn.ts"
import { fromKernel, invalid, OpenAiError } from "./Errors.ts"
import { writeConversationId, isUuid, readConversationId } from "./Ids.ts"
import { makeMadeAssistants } from "./MadeAssistants.ts"
import { makeDecoder, readFields, readRequest } from "./Request.ts"
import { conversationIn, InputItems } from "./ResponseBody.ts"
import { noConversation } from "./Responses.ts"
import { checkCalls } from "./Transcript.ts"

const pairs = Schema.Record(Schema.String, Schema.String)
const decodeNew = makeDecoder(Schema.Struct({ items: maybe(InputItems), metadata: maybe(pairs) }))
const decodeChange = makeDecoder(Schema.Struct({ metadata: maybe(pairs) }))

/** The entry in a thread's metadata that makes the thread a conversation. */
const entry = "conversation"

const conversationRecord = ({ createdAt, id, metadata }: Thread) => {
  const own = metadata?.[entry]
  return {
    id: writeConversationId(id),
    object: "conversation",
    created_at: Math.floor(createdAt.getTime() / 1000),
    metadata: isRecord(own) ? own : {}
  }
}

const toResponse = (thread: Thread) => HttpServerResponse.jsonUnsafe(conversationRecord(thread))

export const makeConversations = Effect.gen(function* () {
  const threads = yield* Threads
  const assistants = yield* Assistants
  const { start } = yield* makeStart
  const { make, removeThread } = yield* makeMadeAssistants

  const assistantFor = Effect.fnUntraced(function* (named: string | undefined) {
    if (named === undefined) return yield* make
    return isUuid(named) ? AssistantId.make(named.toLowerCase()) : yield* noAssistant
  })

  /** Items are kept with a message, and no model is asked. */
  const create = Effect.gen(function* () {
    const { fields, media } = yield* readRequest
    const { items, metadata } = yield* decodeNew(fields)
    const given = yield* Effect.fromResult(conversationIn(items, media, "items"))
    const checked = yield* Effect.fromResult(checkCalls(given.items))
    const assistantId = yield* Effect.mapError(assistantFor(metadata?.["assistant_id"]), toOpenAi)
    const thread = yield* Effect.mapError(assistants.createThread(assistantId, { [entry]: { ...metadata } }), (error) =>
      error._tag === "AssistantNotFound" ? noAssistant : fromKernel(error)
    )
    if (checked.length + given.developer.length === 0) return toResponse(thread)
    const keep = start({
      threadId: thread.id,
      isTemporary: false,
      system: null,
      instructions: [],
      developerBefore: [],
      developer: given.developer,
      items: checked,
      media,
      format: { type: "text" },
      stream: false,
      asked: null,
      isOnlySaved: true
    })
    yield* keep.pipe(
      Effect.flatMap((turn) => turn.reply),
      Effect.mapError(toOpenAi),
      Effect.onError(() => Effect.ignore(removeThread(thread.id)))
    )
    return toResponse(thread)
  })

  const find = Effect.fnUntraced(function* (id: string): Effect.fn.Return<ThreadId, OpenAiError> {
    return readConversationId(id) ?? (yield* noConversation(id))
  })

  const notFound = (id: string) => (error: Parameters<typeof fromKernel>[0]) =>
    error._tag === "ThreadNotFound" ? noConversation(id) : fromKernel(error)

  const get = Effect.fnUntraced(function* (
    id: string
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse, OpenAiError, Principal> {
    const { thread } = yield* Effect.mapError(threads.get(yield* find(id)), notFound(id))
    return toResponse(thread)
  })

  const update = Effect.fnUntraced(function* (id: string) {
    const { metadata } = yield* Effect.flatMap(readFields, decodeChange)
    const threadId = yield* find(id)
    return toResponse(yield* Effect.mapError(threads.update(threadId, { [entry]: { ...metadata } }), notFound(id)))
  })

  const remove = Effect.fnUntraced(function* (id: string) {
    yield* Effect.mapError(removeThread(yield* find(id)), notFound(id))
    return HttpServerResponse.jsonUnsafe({ id, object: "conversation.deleted", deleted: true })
  })

  return { create, get, update, remove }
})

const toOpenAi = (error: OpenAiError | Parameters<typeof fromKernel>[0]): OpenAiError =>
  error instanceof OpenAiError ? error : fromKernel(error)

const noAssistant = invalid("There is no such assistant.", "metadata.assistant_id")
