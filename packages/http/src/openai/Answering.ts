/** Streams of OpenAI's forms: the events of a run as server-sent events, ended with the run, which is cancelled when its client disconnects. */
import { Principal, type StartedTurn, type TurnEvent } from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { HttpSettings } from "../HttpSettings.ts"
import { inBytes, withHeartbeat } from "../streams/Heartbeat.ts"
import { makeStreamSlot } from "../streams/OpenStreams.ts"
import { withoutLineEnds } from "../streams/LineEnds.ts"
import { streamHeaders } from "../streams/Sse.ts"
import { fromWire } from "./Errors.ts"

/** Turns the events of a run into events of OpenAI. */
export interface Encoder {
  readonly encode: (events: ReadonlyArray<TurnEvent>) => string
  readonly hasEnded: boolean
}

/** Made with a handler: takes a slot for a stream, before anything is stored. */
export const makeTakeSlot = Effect.map(makeStreamSlot, (taken) => Effect.mapError(taken, fromWire))

export const streamAnswer = Effect.fnUntraced(function* (
  { events }: Pick<StartedTurn, "events">,
  encoder: Encoder,
  /** Run when the client disconnects before the end. */
  abandoned: Effect.Effect<void, never, Principal>
) {
  const { heartbeat } = yield* HttpSettings
  const clock = yield* Clock.Clock
  const principal = yield* Principal
  const leave = Effect.suspend(() => (encoder.hasEnded ? Effect.void : abandoned))
  const encode = inBytes((batch: ReadonlyArray<TurnEvent>) => withoutLineEnds(encoder.encode(batch)))
  const bytes = withHeartbeat({ events, encode, interval: heartbeat, clock })
  return HttpServerResponse.stream(Stream.ensuring(bytes, Effect.provideService(leave, Principal, principal)), {
    contentType: "text/event-stream",
    headers: streamHeaders
  })
})
