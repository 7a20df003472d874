/** Tickets over HTTP. A host that has not installed voice sessions answers 501. */
import { Tickets } from "@colloquy/core/wings"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Api } from "../Api.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import { realtimeBodies } from "../endpoints/RealtimeApi.ts"
import { NotImplemented } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "realtime",
  Effect.fnUntraced(function* (handlers) {
    const installed = yield* Effect.serviceOption(Tickets)
    const read = yield* bodyReader

    return handlers.handleRaw(
      "issueTicket",
      Effect.fnUntraced(function* (raw) {
        if (Option.isNone(installed)) return yield* new NotImplemented({ detail: realtimeAbsent })
        const wanted = (yield* read(realtimeBodies.issueTicket, raw)).value
        const issued = yield* installed.value
          .issue({
            threadId: lowerCaseId(wanted?.chat_thread_id ?? wanted?.thread_id),
            assistantId: lowerCaseId(wanted?.assistant_id),
            origin: raw.request.headers["origin"] ?? null
          })
          .pipe(Effect.mapError(toWireError))
        return {
          ticket: Redacted.value(issued.ticket),
          expires_in: Duration.toSeconds(issued.expiresIn),
          websocket_path: "/threads/realtime",
          thread_id: issued.threadId,
          assistant_id: issued.assistantId
        }
      })
    )
  })
)

/** UUIDs are read in any case. One that is malformed is unknown like any other. */
const lowerCaseId = (text: string | null | undefined): string | null => text?.toLowerCase() ?? null

export const realtimeAbsent = "Realtime sessions are not available on this server: its host has not installed them."
