/** All runs of the owner over HTTP. */
import { AssistantId, Inbox, RunId, ThreadId } from "@colloquy/core"
import { type RunChange, summaryRecord } from "@colloquy/core/adapters"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import { HttpSettings } from "../HttpSettings.ts"
import { inBytes, withHeartbeat } from "../streams/Heartbeat.ts"
import { withoutLineEnds } from "../streams/LineEnds.ts"
import { makeStreamSlot } from "../streams/OpenStreams.ts"
import { streamHeaders } from "../streams/Sse.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { compact, readInstant } from "../wire/Fields.ts"
import type { RunUpdated } from "../wire/InboxRecords.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "inbox",
  Effect.fnUntraced(function* (handlers) {
    const inbox = yield* Inbox
    const takeSlot = yield* makeStreamSlot
    const { heartbeat } = yield* HttpSettings
    return handlers
      .handle("list", ({ query: { assistant_id, cursor, limit = 20, since, status, thread_id } }) =>
        inbox
          .list({
            limit,
            ...compact({
              status,
              assistantId: assistant_id === undefined ? undefined : AssistantId.make(assistant_id),
              threadId: thread_id === undefined ? undefined : ThreadId.make(thread_id),
              since: since === undefined ? undefined : readInstant(since),
              after: cursor === undefined ? undefined : readCursor(cursor)
            })
          })
          .pipe(
            Effect.map(({ next, runs }) => ({
              runs: runs.map(summaryRecord),
              next_cursor: next === null ? null : `${next.createdAt.getTime()}-${next.id}`
            })),
            Effect.mapError(toWireError)
          )
      )
      .handle(
        "events",
        Effect.fnUntraced(function* ({ headers }) {
          yield* takeSlot
          const last = headers["last-event-id"]
          const events = yield* Effect.mapError(inbox.events(last === undefined ? null : Number(last)), toWireError)
          const clock = yield* Clock.Clock
          return HttpServerResponse.stream(
            withHeartbeat({ events, encode: inBytes(encode), interval: heartbeat, clock }),
            {
              contentType: "text/event-stream",
              headers: streamHeaders
            }
          )
        })
      )
  })
)

const readCursor = (cursor: string) => {
  const dash = cursor.indexOf("-")
  return { createdAt: new Date(Number(cursor.slice(0, dash))), id: RunId.make(cursor.slice(dash + 1)) }
}

const encode = (changes: ReadonlyArray<RunChange>): string =>
  withoutLineEnds(
    changes
      .map(({ mark, run }) => {
        const data: RunUpdated = { type: "run_updated", run: summaryRecord(run) }
        return `id: ${mark}\ndata: ${JSON.stringify(data)}\n\n`
      })
      .join("")
  )
