/** A turn that has begun becomes an answer: the stream of its events, or its reply as one record. Used by messages and tool outputs. */
import type { Principal, StartedTurn } from "@colloquy/core"
import * as Effect from "effect/Effect"
import { type KernelError, toWireError } from "../wire/ErrorStatus.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { streamResponse } from "../streams/Sse.ts"
import { replyToWire, writeRecord } from "../encoding/Encode.ts"
import { Wings } from "../wings/Wings.ts"

/** The kernel begins a turn whole or not at all, and goes on with it whatever becomes of the reader. */
export const delivery = Effect.map(
  Effect.all([HttpSettings, Wings]),
  ([{ heartbeat }, wings]) =>
    <E extends KernelError>(start: Effect.Effect<StartedTurn, E, Principal>, stream: boolean) =>
      Effect.flatMap(
        Effect.mapError(start, (error) => toWireError(error, wings.placeOf)),
        (turn) =>
          stream
            ? streamResponse(turn, turn.events, { heartbeat, wings })
            : Effect.map(Effect.mapError(turn.reply, toWireError), (reply) => writeRecord(replyToWire(reply, wings)))
      )
)
