/**
 * Runs one request for typed answers: chooses the driver of a provider and adds what is promised for all drivers. Requests are retried if
 * that may help, limited in time, and traced without any content. `readAnswers` checks the reply before it is used.
 */
import * as Effect from "effect/Effect"
import { genAi } from "../primitives/GenAi.ts"
import { inTime } from "../primitives/Deadlines.ts"
import { traced } from "../primitives/Traced.ts"
import type { AnswerDriver, AnswerReply, AnswerRequest } from "../models/AnswerDriver.ts"
import { ModelError } from "../models/ModelError.ts"
import type { Provider } from "../models/Provider.ts"
import { pauseBeforeRetry } from "../models/RetryPause.ts"
import type { AnswerPolicy } from "./AnswerSettings.ts"
import { labelDriver } from "./LabelAnswers.ts"
import { Refusals } from "./Refusals.ts"
import { sampledDriver } from "./SampledAnswers.ts"
import { statedDriver } from "./StatedAnswers.ts"

/** The most exact way in which a provider can answer; undefined if it has neither answers nor conversations. */
export const findDriver = (
  provider: Provider,
  settings: AnswerPolicy,
  refusals = new Refusals()
): AnswerDriver | undefined => {
  const { answers, chat, nextToken } = provider
  if (answers !== undefined) return (request) => withRetries(answers(request), request, settings)
  const wordDriver =
    chat &&
    (settings.withoutLogProbabilities === "sampled" ? sampledDriver(chat, settings) : statedDriver(chat, settings))
  if (nextToken === undefined) return wordDriver
  return labelDriver((request) => withRetries(nextToken(request), request, settings), wordDriver, settings, refusals)
}

/** Makes one request, with one client span. */
export const ask = (driver: AnswerDriver, request: AnswerRequest): Effect.Effect<AnswerReply, ModelError> =>
  driver(request).pipe(
    Effect.tap(({ method, model, usage }) =>
      Effect.annotateCurrentSpan({
        "colloquy.answers.method": method,
        ...(model === null ? {} : { [genAi.responseModel]: model }),
        ...(usage === null ? {} : { [genAi.inputTokens]: usage.inputTokens, [genAi.outputTokens]: usage.outputTokens })
      })
    ),
    Effect.tapError((error) => Effect.annotateCurrentSpan(genAi.errorType, error.reason)),
    traced(`answer ${request.model}`, {
      kind: "client",
      attributes: {
        [genAi.operation]: "answer",
        [genAi.provider]: request.provider,
        [genAi.requestModel]: request.model,
        "colloquy.answers.questions": Object.keys(request.questions).length
      }
    })
  )

type Target = Pick<AnswerRequest, "provider" | "model">

/** Adds the time limit and the retries to a request. */
const withRetries = <A>(
  request: Effect.Effect<A, ModelError>,
  { provider, model }: Target,
  settings: AnswerPolicy,
  failures = 0
): Effect.Effect<A, ModelError> =>
  request.pipe(
    inTime(settings.timeout, () => Effect.fail(new ModelError({ reason: "timeout", provider, model }))),
    Effect.catch((error) =>
      Effect.flatMap(pauseBeforeRetry(error, settings, failures), (pause) =>
        pause === null
          ? Effect.fail(error)
          : Effect.andThen(Effect.sleep(pause), withRetries(request, { provider, model }, settings, failures + 1))
      )
    )
  )
