/** The use cases of feedback. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { MessageId, ThreadId } from "../primitives/Ids.ts"
import { tracedFn } from "../primitives/Traced.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import { RunStore } from "../runs/RunStore.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { answeredBefore, firstAnswer, keptAnswer } from "../runs/AnsweredBefore.ts"
import { MessageNotFound } from "../turns/TurnErrors.ts"
import type { FeedbackCalls } from "./Evals.ts"
import { EvalStore, type FeedbackPage } from "./EvalStore.ts"
import { Feedback, FeedbackRefused, NewFeedback } from "./Feedback.ts"
import { readerFor } from "../primitives/ReadGiven.ts"

const codec = Schema.toCodecJson(Feedback)
const encode = Schema.encodeSync(codec)
const decode = Schema.decodeUnknownOption(codec)
const readNew = readerFor(Schema.toType(NewFeedback))

export const makeFeedbacks = Effect.gen(function* () {
  const store = yield* EvalStore
  const runs = yield* RunStore
  const threads = yield* ThreadStore

  const calls: FeedbackCalls = {
    giveFeedback: tracedFn("Evals.giveFeedback")(function* (
      { messageId, threadId }: { readonly threadId: ThreadId; readonly messageId: MessageId },
      given: NewFeedback,
      idempotency?: IdempotencyKey
    ) {
      const answered = yield* answeredBefore(runs, idempotency, decode)
      if (answered !== undefined) return answered
      const thread = Option.getOrUndefined(yield* threads.get(threadId))
      if (thread === undefined) return yield* new ThreadNotFound({ threadId })
      const message = Option.getOrUndefined(yield* runs.locate(threadId, messageId))?.message
      if (message === undefined) return yield* new MessageNotFound({ messageId })
      const read = readNew(given)
      const problems = Result.isFailure(read) ? [...read.failure] : []
      if (message.role !== "assistant")
        problems.push({ path: ["messageId"], message: "This is a question. Feedback is about an answer." })
      if (Result.isFailure(read) || problems.length > 0) return yield* new FeedbackRefused({ problems })
      const { comment = null, score, tags = [] } = read.success
      const feedback: Feedback = {
        threadId,
        messageId,
        runId: message.runId,
        assistantId: message.assistant?.id ?? thread.assistantId,
        assistantVersion: message.assistant?.version ?? null,
        model: message.model,
        score,
        comment,
        tags,
        createdAt: new Date(yield* Clock.currentTimeMillis)
      }
      const stored = yield* store.putFeedback(feedback, keptAnswer(idempotency, encode(feedback)))
      if (stored === "missing") return yield* new ThreadNotFound({ threadId })
      if (stored === "stored") return feedback
      return yield* firstAnswer(runs, idempotency, decode)
    }),
    listFeedback: tracedFn("Evals.listFeedback")(function* (page: FeedbackPage) {
      const found = yield* store.listFeedback({ ...page, limit: page.limit + 1 })
      const feedback = found.slice(0, page.limit)
      return { feedback, next: found.length > feedback.length ? (feedback.at(-1)?.messageId ?? null) : null }
    })
  }
  return calls
})
