/** Threads over HTTP: decode, call the use case, encode. */
import { Assistants, ThreadId, Threads } from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import { threadBodies } from "../endpoints/ThreadsApi.ts"
import { readPage, writeTimestamp } from "../wire/Fields.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { Wings } from "../wings/Wings.ts"
import { threadToWire } from "../encoding/Encode.ts"
import { writeThread, writeThreads } from "../encoding/EncodeList.ts"
import { ThreadLists } from "./ThreadLists.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "threads",
  Effect.fnUntraced(function* (handlers) {
    const threads = yield* Threads
    const assistants = yield* Assistants
    const wings = yield* Wings
    const lists = yield* ThreadLists
    const read = yield* bodyReader
    return handlers
      .handle("list", ({ query: { include_messages = true, ...page } }) =>
        threads.showAll({ page: readPage(page), includeMessages: include_messages }).pipe(
          Effect.flatMap((found) => writeThreads(found, wings)),
          include_messages ? lists.inTurn : identity,
          Effect.mapError(toWireError)
        )
      )
      .handle("get", ({ params }) =>
        threads.show(ThreadId.make(params.thread_id)).pipe(
          Effect.flatMap((found) => writeThread(found, wings)),
          Effect.mapError(toWireError)
        )
      )
      .handleRaw(
        "update",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(threadBodies.update, raw)
          const id = ThreadId.make(raw.params.thread_id)
          const { assistant_version: version, metadata } = value
          const pinned =
            version === undefined ? null : yield* Effect.mapError(assistants.pinThread(id, version), toWireError)
          const updated =
            metadata === undefined ? pinned : yield* Effect.mapError(threads.update(id, metadata), toWireError)
          // The body has one of the two, or it was refused.
          const thread = updated ?? (yield* Effect.mapError(threads.update(id, {}), toWireError))
          return threadToWire({ thread, messages: [] }, wings)
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function* ({ params }) {
          yield* threads.remove(ThreadId.make(params.thread_id)).pipe(Effect.mapError(toWireError))
          const deleted_at = writeTimestamp(new Date(yield* Clock.currentTimeMillis))
          return { message: "The thread was deleted.", thread_id: params.thread_id, deleted_at }
        })
      )
  })
)
