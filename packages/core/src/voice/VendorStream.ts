/**
 * A provider's answer in pieces, with retries and time limits: it is retried while no piece has come and a retry may help, and it fails
 * when the provider is silent for too long. It does not know costs or storage. Used by both directions of voice.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { ModelError } from "../models/ModelError.ts"
import { pauseBeforeRetry } from "../models/RetryPause.ts"
import type { VoiceSettings } from "./VoiceSettings.ts"

export interface Asked {
  readonly provider: string
  readonly model: string
}

export const withRetries = <A>(
  answer: Stream.Stream<A, ModelError>,
  asked: Asked,
  settings: Pick<VoiceSettings, "retries" | "longestRetryPause" | "silence">,
  failures = 0
): Stream.Stream<A, ModelError> =>
  Stream.suspend(() => {
    let hasSpoken = false
    return answer.pipe(
      Stream.timeoutOrElse({
        duration: settings.silence,
        orElse: () => Stream.fail(timedOut(asked))
      }),
      Stream.tap(() =>
        Effect.sync(() => {
          hasSpoken = true
        })
      ),
      Stream.catch((error) =>
        Stream.unwrap(
          Effect.map(pauseBeforeRetry(error, settings, failures), (pause) =>
            hasSpoken || pause === null
              ? Stream.fail(error)
              : Stream.unwrap(Effect.as(Effect.sleep(pause), withRetries(answer, asked, settings, failures + 1)))
          )
        )
      )
    )
  })

export const timedOut = ({ model, provider }: Asked): ModelError =>
  new ModelError({ reason: "timeout", provider, model })
