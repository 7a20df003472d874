/** `GET`, `DELETE` and `/cancel` of a stored response. */
import { type Principal, Threads, Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
import { makeTakeSlot, streamAnswer } from "./Answering.ts"
import { withIgnored } from "./ChatCompletions.ts"
import { fromKernel, invalid, OpenAiError } from "./Errors.ts"
import { readResponseId } from "./Ids.ts"
import { makeMadeAssistants } from "./MadeAssistants.ts"
import { ResponseEvents } from "./ResponseEvents.ts"
import { readAskedOrEmpty, storedParts, responseRecord, toolsIn } from "./ResponseRecord.ts"
import { deletedKey, endLeg, isDeleted, isForgotten, answersInRun, questionInRun } from "./StoredTurns.ts"
import { keptTranscript } from "./TranscriptPart.ts"

const missing = (id: string) =>
  new OpenAiError({ status: 404, message: `Response with id '${id.slice(0, 100)}' not found.`, param: "response_id" })

export const makeStoredResponses = Effect.gen(function* () {
  const turns = yield* Turns
  const threads = yield* Threads
  const { removeThread } = yield* makeMadeAssistants
  const takeSlot = yield* makeTakeSlot

  const find = Effect.fnUntraced(function* (id: string) {
    const ids = readResponseId(id)
    if (ids === null) return yield* missing(id)
    const { threadId } = ids
    const found = yield* threads
      .get(threadId)
      .pipe(Effect.mapError((error) => (error._tag === "ThreadNotFound" ? missing(id) : fromKernel(error))))
    const { run } = yield* turns
      .report(threadId, ids.runId)
      .pipe(Effect.mapError((error) => (error._tag === "RunNotFound" ? missing(id) : fromKernel(error))))
    const question = questionInRun(found.messages, run.id)
    const asked = readAskedOrEmpty(question === undefined ? null : keptTranscript(question)?.asked)
    const answers = answersInRun(found.messages, run.id)
    const parts = storedParts(ids, run, asked, answers)
    if (parts === null || isDeleted(found.thread, ids)) return yield* missing(id)
    return { ...found, ids, run, asked, parts, isNewest: endLeg(answers, ids.leg, run.leg) === run.leg }
  })

  const get = Effect.fnUntraced(function* (
    id: string
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse, OpenAiError, Principal | HttpServerRequest | Scope.Scope> {
    const { asked, isNewest, parts, ids, run } = yield* find(id)
    const query = new URLSearchParams((yield* HttpServerRequest).url.split("?", 2)[1] ?? "")
    if (query.get("stream") !== "true") return HttpServerResponse.jsonUnsafe(responseRecord(parts))
    if (!isNewest) return yield* overtaken
    yield* takeSlot
    const { threadId, runId } = ids
    const events = yield* Effect.mapError(turns.follow(threadId, runId, run.legStart - 1), fromKernel)
    const encoder = new ResponseEvents({ ids, asked, isStored: true, tools: toolsIn(run) }, run.createdAt)
    const answer = yield* streamAnswer({ events }, encoder, Effect.void)
    return withIgnored(answer, query.has("starting_after") ? ["starting_after"] : [])
  })

  const remove = Effect.fnUntraced(function* (id: string) {
    const { ids, thread } = yield* find(id)
    const marked = yield* Effect.mapError(threads.update(ids.threadId, { [deletedKey(ids)]: true }), fromKernel)
    const { messages } = yield* Effect.mapError(threads.get(thread.id), fromKernel)
    const isConversation = marked.metadata?.["conversation"] !== undefined
    if (!isConversation && isForgotten({ thread: marked, messages }))
      yield* Effect.mapError(removeThread(thread.id), fromKernel)
    return HttpServerResponse.jsonUnsafe({ id, object: "response", deleted: true })
  })

  const cancel = Effect.fnUntraced(function* (id: string) {
    const { ids } = yield* find(id)
    yield* Effect.mapError(turns.cancel(ids.threadId, ids.runId), fromKernel)
    return HttpServerResponse.jsonUnsafe(responseRecord((yield* find(id)).parts))
  })

  return { get, remove, cancel }
})

const overtaken = invalid("This response has ended, and its run has gone on. Ask for it without stream.", "stream")
