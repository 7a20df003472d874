/** Import, fork, rewind, regenerate and edit over HTTP: decode, call the use case, encode. */
import {
  AssistantId,
  Conversations,
  MessageId,
  type Thread,
  ThreadId,
  Threads,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import { runYielding } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import type { RawBody } from "../bodies/RequestBody.ts"
import { conversationBodies } from "../endpoints/ConversationsApi.ts"
import { writeThread } from "../encoding/EncodeList.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import { Wings } from "../wings/Wings.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { compact, given } from "../wire/Fields.ts"
import type { MessageBody } from "../wire/MessageBody.ts"
import { acceptance, delivery } from "./Delivery.ts"
import { readIdempotency, textOfList } from "./Idempotency.ts"
import { wholeRequest } from "./MessageFields.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const conversations = yield* Conversations
    const threads = yield* Threads
    const turns = yield* Turns
    const wings = yield* Wings
    const read = yield* bodyReader
    const deliver = yield* delivery
    const accept = yield* acceptance

    /** Answers with the thread and its messages; without messages if the thread was deleted since an earlier answer to the same request. */
    const written = (thread: Thread, status: 200 | 201, fields: object = {}) =>
      threads.show(thread.id).pipe(
        Effect.map(({ messages }) => ({ thread, messages })),
        Effect.catchTag("ThreadNotFound", () => Effect.succeed({ thread, messages: [] })),
        Effect.flatMap((found) => writeThread(found, wings, fields, status)),
        Effect.mapError(toWireError)
      )

    const sendAgain = Effect.fnUntraced(function* (
      sent: Parameters<typeof readIdempotency>[0],
      params: { readonly thread_id: string; readonly message_id: string },
      {
        raw,
        value
      }: { readonly raw: RawBody; readonly value: (MessageBody & { readonly in?: "place" | "fork" | null }) | null },
      edited?: string
    ) {
      const body = value ?? {}
      const request: TurnRequest = {
        ...wholeRequest(wings, body, raw),
        threadId: ThreadId.make(params.thread_id),
        instead: {
          messageId: MessageId.make(params.message_id),
          in: body.in ?? "place",
          without: wings.named(raw.value),
          ...compact({ edited })
        }
      }
      const repeat = yield* readIdempotency(sent, () =>
        body.background === true ? { ...request, background: true } : request
      )
      const background = body.background === true
      const started = turns.start({ ...request, ...repeat, background })
      return background ? yield* accept(started) : yield* deliver(started, body.stream === true)
    })

    return handlers
      .handleRaw(
        "import",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(conversationBodies.import, raw)
          const messages = yield* runYielding(value.messages())
          const { metadata, scratch } = value
          const fields = { ...(metadata === null ? {} : { metadata }), ...(scratch ? { scratch } : {}) }
          const said = yield* textOfList(raw, messages)
          const repeat = yield* readIdempotency(raw, () => ({ said, metadata, ...fields }))
          const assistantId = AssistantId.make(raw.params.assistant_id)
          const made = conversations.import({ assistantId, messages, ...fields, ...repeat })
          return yield* written(yield* Effect.mapError(made, toWireError), 201)
        })
      )
      .handleRaw(
        "fork",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(conversationBodies.fork, raw)
          const asked = compact({ messageId: messageIdOrNone(value?.message_id), metadata: given(value?.metadata) })
          const repeat = yield* readIdempotency(raw, () => asked)
          const fork = conversations.fork({ threadId: ThreadId.make(raw.params.thread_id), ...asked, ...repeat })
          return yield* written(yield* Effect.mapError(fork, toWireError), 201)
        })
      )
      .handleRaw(
        "rewind",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(conversationBodies.rewind, raw)
          const { forget, keep, message_id } = value
          const asked = { messageId: MessageId.make(message_id), keep: keep !== false, forget: forget === true }
          const repeat = yield* readIdempotency(raw, () => asked)
          const rewind = conversations.rewind({ threadId: ThreadId.make(raw.params.thread_id), ...asked, ...repeat })
          const { keptAs, thread } = yield* Effect.mapError(rewind, toWireError)
          return yield* written(thread, 200, { kept_as: keptAs })
        })
      )
      .handleRaw("regenerate", (raw) =>
        Effect.flatMap(read(conversationBodies.regenerate, raw), (body) => sendAgain(raw, raw.params, body))
      )
      .handleRaw("edit", (raw) =>
        Effect.flatMap(read(conversationBodies.edit, raw), (body) =>
          sendAgain(raw, raw.params, body, body.value.content)
        )
      )
  })
)

const messageIdOrNone = (id: string | null | undefined): MessageId | undefined =>
  typeof id === "string" ? MessageId.make(id) : undefined
