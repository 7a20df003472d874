/**
 * Runs one model step and adds what the kernel promises for every driver:
 *
 * - It is retried only before the first event, only when `isRetryable`, a bounded number of times, and not when the provider asks for a
 *   longer pause than the policy permits.
 * - It fails when nothing arrives in time: a long wait for the first event, a shorter one between events.
 * - It ends with `Finished`, whether or not the driver closes its stream. An end without `Finished` is the error `cut_off`, and so is an
 *   answer longer than `maxOutputCharacters`.
 * - An interruption takes effect at once, without waiting for the driver's cleanup; later events are ignored.
 * - Each step has one client span and the metrics of the OpenTelemetry GenAI conventions, without any content.
 *
 * Used by `ModelLoop`. Events are passed to a plain function, array by array, because a stream stage costs more than a delta.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { genAi } from "../primitives/GenAi.ts"
import { traced } from "../primitives/Traced.ts"
import { type DeadlinesPort, makeDeadlines } from "../primitives/Deadlines.ts"
import type { Usage } from "../primitives/Usage.ts"
import type { ChatDriver } from "./ChatDriver.ts"
import type { ChatEvent } from "./ChatEvent.ts"
import type { ChatRequest } from "./ChatRequest.ts"
import { isRefusedRequest, ModelError } from "./ModelError.ts"
import { metricAttributes, measured, type ModelOperation, recordFirstChunk, recordTokens } from "./ModelMetrics.ts"
import { pauseBeforeRetry } from "./RetryPause.ts"
import { withContent } from "./SpanContent.ts"

/** How long a model may be silent, and how often a failed request is repeated. */
export interface ChatPolicy {
  readonly retries: number
  /** If a provider asks for a longer pause than this, the step fails instead of waiting. */
  readonly longestRetryPause: Duration.Input
  readonly firstEventTimeout: Duration.Input
  readonly idleTimeout: Duration.Input
  /** The limit of a whole step, however many events arrive. */
  readonly stepTimeout: Duration.Input
  readonly maxOutputCharacters: number
  /** The maximum of tool calls in one step. */
  readonly maxToolCalls: number
}

/** The policy of a host that changes none. */
export const defaultChatPolicy: ChatPolicy = {
  retries: 2,
  longestRetryPause: "60 seconds",
  firstEventTimeout: "2 minutes",
  idleTimeout: "1 minute",
  stepTimeout: "30 minutes",
  maxOutputCharacters: 4_000_000,
  maxToolCalls: 128
}

/** Receives the events. The functions must be quick and must not throw. */
export interface Listener {
  /** Gets every event, in order. */
  readonly hear: (event: ChatEvent) => void
  /** Called after each array of events, before the next one is awaited. */
  readonly pause: () => void
  /** Called after `pause`. When it is not null, the next events wait for it; false ends the step, as if the provider had finished. */
  readonly hold?: () => Effect.Effect<boolean> | null
  /** Called when the provider has refused the request before it ran the model, and `again` when it is asked once more after that. */
  readonly refused?: (at: number) => void
  readonly again?: (at: number) => void
}

/** One model call, with the listener of its events. */
export interface ModelStep {
  readonly chat: ChatDriver
  readonly request: ChatRequest
  readonly policy: ChatPolicy
  readonly listener: Listener
}

/** Runs one step and passes every event on; succeeds when the provider has finished. */
export const converse = (
  chat: ChatDriver,
  request: ChatRequest,
  policy: ChatPolicy,
  listener: Listener
): Effect.Effect<void, ModelError> =>
  Effect.scoped(
    Effect.flatMap(makeDeadlines, (deadlines) => converseWithin(deadlines, { chat, request, policy, listener }))
  )

/** Like `converse`, with deadlines that many steps share. */
export const converseWithin = (deadlines: DeadlinesPort, step: ModelStep): Effect.Effect<void, ModelError> =>
  withContent(step.request, (noting) =>
    attempt(deadlines, noting === null ? step : { ...step, listener: notingListener(step.listener, noting) }, 0)
  ).pipe(
    measured(chatOperation(step.request)),
    Effect.tapError((error) => Effect.annotateCurrentSpan(genAi.errorType, error.reason)),
    traced(`chat ${step.request.model}`, {
      kind: "client",
      attributes: {
        ...metricAttributes(chatOperation(step.request)),
        ...requestAttributes(step.request)
      }
    })
  )

const notingListener = (listener: Listener, noting: (event: ChatEvent) => void): Listener => ({
  hear: (event) => {
    noting(event)
    listener.hear(event)
  },
  pause: () => listener.pause(),
  hold: () => listener.hold?.() ?? null,
  refused: (at) => listener.refused?.(at),
  again: (at) => listener.again?.(at)
})

const attempt = (deadlines: DeadlinesPort, step: ModelStep, failures: number): Effect.Effect<void, ModelError> =>
  Effect.withFiber((fiber) => {
    const { context } = fiber
    const clock = fiber.getRef(Clock.Clock)
    const heard: Heard = {
      events: 0,
      characters: 0,
      begun: 0,
      ready: 0,
      usage: null,
      over: false,
      isHeld: false,
      lastAt: clock.currentTimeMillisUnsafe()
    }
    return listen(deadlines, step, heard, { clock, context }).pipe(
      Effect.catch((error) => {
        const { listener } = step
        const isRefused = heard.events === 0 && isRefusedRequest(error)
        if (isRefused) listener.refused?.(clock.currentTimeMillisUnsafe())
        return Effect.flatMap(pauseBeforeRetry(error, step.policy, failures), (pause) =>
          heard.events > 0 || pause === null
            ? Effect.fail(error)
            : Effect.flatMap(Effect.sleep(pause), () => {
                if (isRefused) listener.again?.(clock.currentTimeMillisUnsafe())
                return attempt(deadlines, step, failures + 1)
              })
        )
      })
    )
  })

interface Heard {
  events: number
  characters: number
  /** Calls that have begun, and calls that are complete. */
  begun: number
  ready: number
  usage: Usage | null
  /** True: later events are ignored, because the step has finished or failed. */
  over: boolean
  /** The listener holds the events. */
  isHeld: boolean
  lastAt: number
}

/** Ends the reading of a stream after its `Finished` event. */
class Finished extends Schema.TaggedError<Finished>()("Finished", {}) {}

/** Made once, because every step ends with it and making an error captures the stack. */
const finished = Effect.fail(new Finished())

const listen = (
  deadlines: DeadlinesPort,
  { chat, listener, policy, request }: ModelStep,
  heard: Heard,
  { clock, context }: { readonly clock: Clock.Clock; readonly context: Context.Context<never> }
): Effect.Effect<void, ModelError> => {
  const startedAt = heard.lastAt
  const hear = (events: ReadonlyArray<ChatEvent>): Effect.Effect<void, ModelError | Finished> => {
    if (heard.over) return Effect.void
    heard.lastAt = clock.currentTimeMillisUnsafe()
    const wasSilent = heard.events === 0
    for (const event of events) take(event, listener, heard, policy)
    listener.pause()
    if (wasSilent && heard.events > 0) noteFirstChunk(request, heard.lastAt - startedAt, context)
    if (Math.max(heard.begun, heard.ready) > policy.maxToolCalls) return tooManyCalls(request)
    if (!heard.over && heard.characters > policy.maxOutputCharacters) return failure(request, "cut_off", false)
    if (heard.over) {
      noteStep(request, events, heard.usage, context)
      return finished
    }
    const held = listener.hold?.() ?? null
    return held === null
      ? Effect.void
      : Effect.flatMap(whileHeld(heard, clock, held), (goesOn) => (goesOn ? Effect.void : finished))
  }
  const heardAll = deadlines.limit(
    Stream.runForEachArray(chat(request), hear),
    // The step fails when no event comes for too long, or when the whole step takes too long.
    () =>
      Math.min(
        (heard.isHeld ? clock.currentTimeMillisUnsafe() : heard.lastAt) +
          Duration.toMillis(heard.events === 0 ? policy.firstEventTimeout : policy.idleTimeout),
        startedAt + Duration.toMillis(policy.stepTimeout)
      ),
    () =>
      failure(
        request,
        "timeout",
        undefined,
        exceededTimeout(heard, clock.currentTimeMillisUnsafe() - startedAt, policy)
      )
  )
  const ended = Effect.onExitPrimitive(heardAll, () => {
    heard.over = true
    return undefined
  })
  return Effect.matchEffect(ended, {
    onSuccess: () => failure(request, "cut_off"),
    onFailure: (error) => (error._tag === "Finished" ? Effect.void : Effect.fail(error))
  })
}

/** While the listener holds the events, the provider is not silent: only the limit of the whole step applies. */
const whileHeld = (heard: Heard, clock: Clock.Clock, held: Effect.Effect<boolean>): Effect.Effect<boolean> => {
  heard.isHeld = true
  return Effect.map(held, (goesOn) => {
    heard.isHeld = false
    heard.lastAt = clock.currentTimeMillisUnsafe()
    return goesOn
  })
}

/** Events after the end are not part of the answer. */
const take = (event: ChatEvent, listener: Listener, state: Heard, policy: ChatPolicy): void => {
  if (state.over || event._tag === "KeepAlive") return
  state.events++
  if (event._tag === "ToolCallStart") state.begun++
  else if (event._tag === "ToolCallReady") state.ready++
  if (Math.max(state.begun, state.ready) > policy.maxToolCalls) return
  if (event._tag === "TextDelta" || event._tag === "ReasoningDelta") state.characters += event.text.length
  else if (event._tag === "ToolCallDelta") state.characters += event.arguments.length
  else if (event._tag === "Usage") state.usage = event.usage
  else if (event._tag === "Finished") state.over = true
  listener.hear(event)
}

const failure = (
  { model, provider }: ChatRequest,
  reason: "timeout" | "cut_off",
  shouldRetry?: boolean,
  code?: string
): Effect.Effect<never, ModelError> =>
  Effect.suspend(() =>
    Effect.fail(
      new ModelError({
        reason,
        provider,
        model,
        ...(shouldRetry === undefined ? {} : { shouldRetry }),
        ...(code === undefined ? {} : { code })
      })
    )
  )

/** The setting of `ChatPolicy` that has ended the step. */
const exceededTimeout = ({ events }: Heard, elapsed: number, { stepTimeout }: ChatPolicy): keyof ChatPolicy => {
  if (elapsed >= Duration.toMillis(stepTimeout)) return "stepTimeout"
  return events === 0 ? "firstEventTimeout" : "idleTimeout"
}

/** Not retried: the provider would repeat the error. */
const tooManyCalls = ({ model, provider }: ChatRequest): Effect.Effect<never, ModelError> =>
  Effect.suspend(() =>
    Effect.fail(
      new ModelError({ reason: "malformed", provider, model, code: "too_many_tool_calls", shouldRetry: false })
    )
  )

const chatOperation = ({ model, provider }: ChatRequest): ModelOperation => ({ operation: "chat", provider, model })

/** Adds the time of the first event to the metrics, and to the span of the call. */
const noteFirstChunk = (request: ChatRequest, millis: number, context: Context.Context<never>): void => {
  recordFirstChunk(chatOperation(request), millis, context)
  annotateSpan(context, () => ({ [genAi.timeToFirstChunk]: millis / 1000 }))
}

const requestAttributes = ({ conversationId, jsonOutput, maxOutputTokens, output, sampling = {} }: ChatRequest) => {
  const { seed, stop, temperature, topP } = sampling
  return {
    [genAi.conversation]: conversationId,
    [genAi.stream]: true,
    ...(jsonOutput || output !== undefined ? { [genAi.outputType]: "json" } : {}),
    ...(maxOutputTokens === null ? {} : { [genAi.maxTokens]: maxOutputTokens }),
    ...(seed === undefined ? {} : { [genAi.seed]: seed }),
    ...(stop === undefined ? {} : { [genAi.stopSequences]: stop }),
    ...(temperature === undefined ? {} : { [genAi.temperature]: temperature }),
    ...(topP === undefined ? {} : { [genAi.topP]: topP })
  }
}

/** What a finished step used and how it ended, for its metrics and its span. */
const noteStep = (
  request: ChatRequest,
  events: ReadonlyArray<ChatEvent>,
  usage: Usage | null,
  context: Context.Context<never>
): void => {
  if (usage !== null) recordTokens(chatOperation(request), usage, context)
  const end = events.findLast((event) => event._tag === "Finished")
  annotateSpan(context, () => ({
    ...(end === undefined ? {} : { [genAi.finishReasons]: [end.reason] }),
    ...(end === undefined || end.model === null ? {} : { [genAi.responseModel]: end.model }),
    ...(usage === null
      ? {}
      : {
          [genAi.inputTokens]: usage.inputTokens,
          [genAi.outputTokens]: usage.outputTokens,
          [genAi.cachedTokens]: usage.cachedInputTokens,
          [genAi.reasoningTokens]: usage.reasoningTokens
        })
  }))
}

const annotateSpan = (
  context: Context.Context<never>,
  attributes: () => { readonly [name: string]: unknown }
): void => {
  const span = Context.getOrUndefined(context, Tracer.ParentSpan)
  if (span?._tag === "Span") for (const [name, value] of Object.entries(attributes())) span.attribute(name, value)
}
