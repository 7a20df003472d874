/**
 * Whether spans carry what was said: prompts, answers, arguments and results of tools, queries. Null, because the people who read the
 * traces of a service are seldom meant to read its conversations. A host asks for it with `Layer.succeed(SpanContent, spanContent)`; `spanContent` stands in another entry, so that
 * no other host loads it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { ChatEvent } from "./ChatEvent.ts"
import type { ChatRequest } from "./ChatRequest.ts"

type Attributes = Readonly<Record<string, string>>

/** What the span of one model call says of its content. */
export interface ChatRecording {
  readonly asked: Attributes
  /** Gets every event, in order. */
  readonly hear: (event: ChatEvent) => void
  /** At the end of the call, however it ended. */
  readonly said: () => Attributes
}

export const SpanContent = Context.Reference<((request: ChatRequest) => ChatRecording) | null>(
  "@colloquy/core/SpanContent",
  { defaultValue: () => null }
)

/** Around a model call, inside its span. `call` gets what every event is to be told to as well; null: nothing is kept. */
export const withContent = <E>(
  request: ChatRequest,
  call: (noting: ChatRecording["hear"] | null) => Effect.Effect<void, E>
): Effect.Effect<void, E> =>
  Effect.withFiber((fiber) => {
    const record = fiber.cache.tracer === undefined ? null : fiber.getRef(SpanContent)
    if (record === null) return call(null)
    const { asked, hear, said } = record(request)
    return Effect.annotateCurrentSpan(asked).pipe(
      Effect.andThen(call(hear)),
      Effect.onExit(() => Effect.annotateCurrentSpan(said()))
    )
  })

/** Only where there is a tracer and the host has asked for content. */
export const annotateContent = (attributes: () => Attributes): Effect.Effect<void> =>
  Effect.withFiber((fiber) =>
    fiber.cache.tracer !== undefined && fiber.getRef(SpanContent) !== null
      ? Effect.annotateCurrentSpan(attributes())
      : Effect.void
  )
