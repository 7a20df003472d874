/** A turn that has begun becomes an answer: the stream of its events, or its reply as one record. Used by messages, tool outputs and approvals. */
import { type Principal, type StartedTurn, Turns } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { type KernelError, toWireError } from "../wire/ErrorStatus.ts"
import type { RunAccepted } from "../wire/InboxRecords.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { makeStreamSlot } from "../streams/OpenStreams.ts"
import { streamResponse } from "../streams/Sse.ts"
import { replyToWire, writeRecord } from "../encoding/Encode.ts"
import { Wings } from "../wings/Wings.ts"

/**
 * The kernel begins a turn whole or not at all, and goes on with it whatever becomes of the reader. A stream has its slot before the turn begins;
 * `discard` runs when the turn does not begin.
 */
export const delivery = Effect.map(
  Effect.all([HttpSettings, Wings, makeStreamSlot]),
  ([{ heartbeat }, wings, takeSlot]) =>
    <E extends KernelError>(
      start: Effect.Effect<StartedTurn, E, Principal>,
      stream: boolean,
      discard: Effect.Effect<void> = Effect.void
    ) => {
      const begun = Effect.mapError(start, (error) => toWireError(error, wings.bodyPath))
      return Effect.flatMap(
        Effect.onError(stream ? Effect.andThen(takeSlot, begun) : begun, () => discard),
        (turn) => {
          if (turn.open !== undefined)
            return Effect.succeed(HttpServerResponse.jsonUnsafe({ open: turn.open }, { status: 202 }))
          return stream
            ? streamResponse(turn, turn.events, { heartbeat, wings })
            : Effect.map(Effect.mapError(turn.reply, toWireError), (reply) => writeRecord(replyToWire(reply, wings)))
        }
      )
    }
)

/**
 * A turn whose caller does not wait: the run, and its state at this moment. A repeat is accepted as the first request was, also when the run
 * has been deleted since.
 */
export const acceptance = Effect.gen(function* () {
  const turns = yield* Turns
  const wings = yield* Wings
  return Effect.fnUntraced(function* <E extends KernelError>(start: Effect.Effect<StartedTurn, E, Principal>) {
    const begun = yield* Effect.result(start)
    if (Result.isFailure(begun)) {
      const first = acceptedBefore(begun.failure)
      return first === null ? yield* Effect.fail(toWireError(begun.failure, wings.bodyPath)) : accepted(first)
    }
    const { runId, threadId } = begun.success
    const { run } = yield* Effect.mapError(turns.report(threadId, runId), toWireError)
    return accepted({ thread_id: threadId, run_id: runId, status: run.status })
  })
})

/** Nothing of this answer is a text of the deleted conversation. */
const acceptedBefore = (error: KernelError): RunAccepted | null =>
  error._tag === "FirstAnswerGone" && error.threadId !== null
    ? { thread_id: error.threadId, run_id: error.runId, status: "IN_PROGRESS" }
    : null

const accepted = (run: RunAccepted): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(run, { status: 202 })
