/** Outcomes and reports of typed answers over HTTP. A host that has not installed `Answers.layer()` answers 501. */
import { AssistantId, Assistants, MessageId, ThreadId } from "@colloquy/core"
import { Answers } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import { Api } from "../Api.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import { answersBodies } from "../endpoints/AnswersApi.ts"
import { NotImplemented } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { outcomesToWire, reportToWire } from "../encoding/EncodeAnswers.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "answers",
  Effect.fnUntraced(function* (handlers) {
    const assistants = yield* Assistants
    const installed = yield* Effect.serviceOption(Answers)
    const read = yield* bodyReader
    const answers = Option.match(installed, {
      onNone: () => Effect.fail(new NotImplemented({ detail })),
      onSome: (service) => Effect.succeed(service)
    })

    return handlers
      .handleRaw(
        "recordOutcome",
        Effect.fnUntraced(function* (raw) {
          const { recordOfTurn } = yield* answers
          const { outcome, question } = (yield* read(answersBodies.recordOutcome, raw)).value
          const { message_id, thread_id } = raw.params
          const ids = { threadId: ThreadId.make(thread_id), messageId: MessageId.make(message_id) }
          yield* Effect.mapError(recordOfTurn({ ...ids, question, outcome }), toWireError)
          return { message: "The outcome was recorded.", thread_id, message_id, question }
        })
      )
      .handle(
        "listOutcomes",
        Effect.fnUntraced(function* ({ params }) {
          const { outcomesOfThread } = yield* answers
          return outcomesToWire(yield* Effect.mapError(outcomesOfThread(ThreadId.make(params.thread_id)), toWireError))
        })
      )
      .handle(
        "report",
        Effect.fnUntraced(function* ({ params }) {
          const { report } = yield* answers
          const { id } = yield* Effect.mapError(assistants.get(AssistantId.make(params.assistant_id)), toWireError)
          return reportToWire(yield* Effect.mapError(report(id), toWireError))
        })
      )
  })
)

const detail = "Typed answers are not available on this server: its host has not installed them."
