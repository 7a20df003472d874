/**
 * One model step, made dependable: what the kernel promises for every driver is added here once.
 *
 * - Retried only before the first event was heard, only when `isRetryable`, a bounded number of times, and not when the provider asks
 *   for a longer pause than the policy allows.
 * - Cut off when nothing arrives in time: a long wait for the first event, a shorter one between events.
 * - A stream that ends without `Finished` is the error `cut_off`; one that never ends is cut at `maxOutputCharacters`.
 * - One client span and the metrics of the OpenTelemetry GenAI conventions for each step, without any content.
 *
 * Used by the turn's ModelLoop. It hands events to a plain function, array by array, because a stream stage costs more than a delta.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import type { ChatDriver } from "./ChatDriver.ts"
import type { ChatEvent } from "./ChatEvent.ts"
import type { ChatRequest } from "./ChatRequest.ts"
import { ModelError } from "./ModelError.ts"

export interface ChatPolicy {
  readonly retries: number
  /** A provider that asks for a longer pause than this is reported instead of awaited. */
  readonly longestRetryPause: Duration.Input
  readonly firstEventTimeout: Duration.Input
  readonly idleTimeout: Duration.Input
  /** For a whole step, however lively the provider is. */
  readonly stepTimeout: Duration.Input
  readonly maxOutputCharacters: number
}

export const defaultChatPolicy: ChatPolicy = {
  retries: 2,
  longestRetryPause: "60 seconds",
  firstEventTimeout: "2 minutes",
  idleTimeout: "1 minute",
  stepTimeout: "30 minutes",
  maxOutputCharacters: 4_000_000
}

/** Who listens. Both functions must be quick and must not throw. */
export interface Listener {
  /** Gets every event, in order. */
  readonly hear: (event: ChatEvent) => void
  /** Called after each array of events, before more are awaited. */
  readonly pause: () => void
}

/** Runs one step and hands over every event; succeeds when the provider finished. */
export const converse = (
  chat: ChatDriver,
  request: ChatRequest,
  policy: ChatPolicy,
  listener: Listener
): Effect.Effect<void, ModelError> =>
  attempt(chat, request, policy, listener, 0).pipe(
    Effect.withSpan(`chat ${request.model}`, {
      kind: "client",
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": request.provider,
        "gen_ai.request.model": request.model,
        "gen_ai.conversation.id": request.conversationId
      }
    })
  )

const attempt = (
  chat: ChatDriver,
  request: ChatRequest,
  policy: ChatPolicy,
  listener: Listener,
  failures: number
): Effect.Effect<void, ModelError> =>
  Effect.suspend(() => {
    const state: Heard = { events: 0, characters: 0, finished: false, lastAt: 0 }
    return listen(chat, request, policy, listener, state).pipe(
      Effect.catch((error) =>
        Effect.flatMap(pauseBeforeRetry(error, policy, failures), (pause) =>
          state.events > 0 || pause === null
            ? Effect.fail(error)
            : Effect.andThen(Effect.sleep(pause), attempt(chat, request, policy, listener, failures + 1))
        )
      )
    )
  })

interface Heard {
  events: number
  characters: number
  finished: boolean
  lastAt: number
}

const listen = (chat: ChatDriver, request: ChatRequest, policy: ChatPolicy, listener: Listener, state: Heard) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const startedAt = clock.currentTimeMillisUnsafe()
    state.lastAt = startedAt
    const consume = Stream.runForEachArray(chat(request), (events) =>
      Effect.suspend(() => {
        state.lastAt = clock.currentTimeMillisUnsafe()
        const isFirst = state.events === 0
        for (const event of events) take(event, listener, state)
        listener.pause()
        if (state.characters > policy.maxOutputCharacters) return Effect.fail(failure(request, "cut_off", false))
        return isFirst
          ? Effect.andThen(timeToFirstEvent(request, state.lastAt - startedAt), annotate(events))
          : annotate(events)
      })
    )
    yield* Effect.raceFirst(consume, watch(clock, request, policy, state))
    if (!state.finished) return yield* failure(request, "cut_off")
  })

/** What comes after the end is not part of the answer. */
const take = (event: ChatEvent, listener: Listener, state: Heard): void => {
  if (state.finished || event._tag === "KeepAlive") return
  state.events++
  if (event._tag === "TextDelta" || event._tag === "ReasoningDelta") state.characters += event.text.length
  else if (event._tag === "ToolCallDelta") state.characters += event.arguments.length
  else if (event._tag === "Finished") state.finished = true
  listener.hear(event)
}

/** Fails when nothing was heard for too long. One timer for each quiet period, not one for each event. */
const watch = Effect.fnUntraced(function* (
  clock: Clock.Clock,
  request: ChatRequest,
  policy: ChatPolicy,
  state: Heard
): Effect.fn.Return<never, ModelError> {
  const first = Duration.toMillis(policy.firstEventTimeout)
  const idle = Duration.toMillis(policy.idleTimeout)
  const end = state.lastAt + Duration.toMillis(policy.stepTimeout)
  while (true) {
    const allowed = state.events === 0 ? first : idle
    const now = clock.currentTimeMillisUnsafe()
    const quiet = now - state.lastAt
    if (quiet >= allowed || now >= end) return yield* failure(request, "timeout")
    yield* Effect.sleep(Math.min(allowed - quiet, idle, end - now))
  }
})

const failure = (request: ChatRequest, reason: "timeout" | "cut_off", shouldRetry?: boolean) =>
  new ModelError({
    reason,
    provider: request.provider,
    model: request.model,
    ...(shouldRetry === undefined ? {} : { shouldRetry })
  })

/** Null: do not try again. The provider's own word on the pause comes first, then 0.5 s doubling to 8 s, with jitter. */
const pauseBeforeRetry = (error: ModelError, policy: ChatPolicy, failures: number) =>
  Effect.map(Random.next, (jitter) => {
    if (!error.isRetryable || failures >= policy.retries) return null
    if (error.retryAfterMillis === undefined) return Math.min(8000, 500 * 2 ** failures) * (0.75 + jitter / 2)
    return error.retryAfterMillis > Duration.toMillis(policy.longestRetryPause) ? null : error.retryAfterMillis
  })

const firstEventSeconds = Metric.histogram("gen_ai.client.operation.time_to_first_chunk", {
  description: "Seconds from the request to the first streamed event",
  boundaries: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
})

const timeToFirstEvent = (request: ChatRequest, millis: number) =>
  Metric.update(
    Metric.withAttributes(firstEventSeconds, {
      "gen_ai.provider.name": request.provider,
      "gen_ai.request.model": request.model
    }),
    millis / 1000
  )

/** A step's usage and end stand at the end of what was heard: a delta costs one comparison here. */
const annotate = (events: ReadonlyArray<ChatEvent>): Effect.Effect<void> =>
  events.at(-1)?._tag === "Finished"
    ? Effect.annotateCurrentSpan(Object.assign({}, ...events.map(attributesOf)))
    : Effect.void

const attributesOf = (event: ChatEvent): Record<string, unknown> => {
  if (event._tag === "Finished") {
    const model = event.model === null ? {} : { "gen_ai.response.model": event.model }
    return { "gen_ai.response.finish_reasons": [event.reason], ...model }
  }
  if (event._tag !== "Usage") return {}
  return {
    "gen_ai.usage.input_tokens": event.usage.inputTokens,
    "gen_ai.usage.output_tokens": event.usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": event.usage.cachedInputTokens
  }
}
