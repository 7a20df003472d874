/**
 * One ask, made dependable: which driver of a provider answers, and what is promised for all of them. Requests are tried again while that
 * may help, bounded in time, and traced without any content. The reply is checked by `readAnswers` before anybody sees it.
 */
import * as Effect from "effect/Effect"
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

/** The most exact way in which a provider can answer; undefined when it has neither answers nor conversations. */
export const driverOf = (
  provider: Provider,
  settings: AnswerPolicy,
  refusals = new Refusals()
): AnswerDriver | undefined => {
  const { answers, chat, nextToken } = provider
  if (answers !== undefined) return (request) => dependable(answers(request), request, settings)
  const inWords =
    chat &&
    (settings.withoutLogProbabilities === "sampled" ? sampledDriver(chat, settings) : statedDriver(chat, settings))
  if (nextToken === undefined) return inWords
  return labelDriver((request) => dependable(nextToken(request), request, settings), inWords, settings, refusals)
}

/** Asks once, with one client span. */
export const ask = (driver: AnswerDriver, request: AnswerRequest): Effect.Effect<AnswerReply, ModelError> =>
  driver(request).pipe(
    Effect.tap(({ method, model, usage }) =>
      Effect.annotateCurrentSpan({
        "colloquy.answers.method": method,
        ...(model === null ? {} : { "gen_ai.response.model": model }),
        ...(usage === null
          ? {}
          : { "gen_ai.usage.input_tokens": usage.inputTokens, "gen_ai.usage.output_tokens": usage.outputTokens })
      })
    ),
    Effect.tapError((error) => Effect.annotateCurrentSpan("error.type", error.reason)),
    traced(`answer ${request.model}`, {
      kind: "client",
      attributes: {
        "gen_ai.operation.name": "answer",
        "gen_ai.provider.name": request.provider,
        "gen_ai.request.model": request.model,
        "colloquy.answers.questions": Object.keys(request.questions).length
      }
    })
  )

type Blamed = Pick<AnswerRequest, "provider" | "model">

/** Bounds a request in time and tries it again where that may help. */
const dependable = <A>(
  request: Effect.Effect<A, ModelError>,
  { provider, model }: Blamed,
  settings: AnswerPolicy,
  failures = 0
): Effect.Effect<A, ModelError> =>
  request.pipe(
    inTime(settings.timeout, () => Effect.fail(new ModelError({ reason: "timeout", provider, model }))),
    Effect.catch((error) =>
      Effect.flatMap(pauseBeforeRetry(error, settings, failures), (pause) =>
        pause === null
          ? Effect.fail(error)
          : Effect.andThen(Effect.sleep(pause), dependable(request, { provider, model }, settings, failures + 1))
      )
    )
  )
