/** The message endpoints: decode, begin the turn, deliver it. */
import { AssistantId, ThreadId, type TurnRequest } from "@colloquy/core"
import { BlobId, DocumentId } from "@colloquy/core/adapters"
import { makeStartWithFiles, type ReceivedFile } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import { compact } from "../wire/Fields.ts"
import type { MessageBody, StatelessMessageBody } from "../wire/MessageBody.ts"
import { messageBodies } from "../endpoints/MessagesApi.ts"
import { readIdempotency } from "./Idempotency.ts"
import type { DecodedBody, RawBody } from "../bodies/RequestBody.ts"
import { Wings } from "../wings/Wings.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import type { UploadedFile } from "../bodies/UploadedFile.ts"
import { acceptance, delivery } from "./Delivery.ts"
import { commonRequest, findIgnored } from "./MessageFields.ts"
import { routingFromWire } from "./TurnOptions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "messages",
  Effect.fnUntraced(function* (handlers) {
    const read = yield* bodyReader
    const deliver = yield* delivery
    const accept = yield* acceptance
    const start = yield* makeStartWithFiles
    const wings = yield* Wings

    /** The files of a message that is refused are deleted before the answer is sent. */
    const answer = (
      sent: Parameters<typeof readIdempotency>[0],
      { discard, raw, value }: DecodedBody<MessageBody | StatelessMessageBody>,
      rest: Partial<TurnRequest>
    ) => {
      const files = receivedFiles(raw)
      const request: TurnRequest = {
        ...commonRequest(value),
        ...compact({ options: wings.options(value, raw), ignored: findIgnored(wings, value) }),
        ...rest
      }
      const repeat = readIdempotency(sent, () => {
        const options = compact({ options: wings.options(value, { ...raw, files: raw.files.map(withoutIds) }) })
        return comparedValue({ ...request, ...options }, files, value.background === true)
      })
      return Effect.flatMapEager(repeat, (idempotency) => {
        const background = value.background === true
        const started = start({ ...request, ...idempotency, background }, files)
        return background
          ? accept(Effect.onError(started, () => discard))
          : deliver(started, value.stream === true, discard)
      })
    }

    return handlers
      .handleRaw("send", (raw) =>
        Effect.flatMap(read(messageBodies.send, raw), (body) => {
          const routing = compact({ routing: routingFromWire(body.value.router) })
          return answer(raw, body, { ...routing, threadId: ThreadId.make(raw.params.thread_id) })
        })
      )
      .handleRaw("sendStateless", (raw) =>
        Effect.flatMap(read(messageBodies.sendStateless, raw), (body) =>
          answer(raw, body, { ...statelessTarget(body.value), systemFallback: "description" })
        )
      )
  })
)

/** Files are kept for the field `files` where the kernel has documents; other ones were refused. */
const receivedFiles = ({ files }: RawBody): ReadonlyArray<ReceivedFile> =>
  files.flatMap(({ field, outcome }) => (field === "files" && outcome._tag === "Kept" ? [outcome.file] : []))

/** The same recording has other ids when it is sent again. */
const withoutIds = (file: UploadedFile): UploadedFile =>
  file.outcome._tag === "Recorded"
    ? { ...file, outcome: { ...file.outcome, recorded: { ...file.outcome.recorded, ...noIds } } }
    : file

const noIds = { documentId: DocumentId.make("any"), blobId: BlobId.make("any") }

/** The value by which a repeat is recognized, without the ids of files: they are others when the files are sent again. */
const comparedValue = (request: TurnRequest, files: ReadonlyArray<ReceivedFile>, background: boolean) => ({
  ...request,
  ...(background ? { background } : {}),
  ...(files.length === 0 ? {} : { files: files.map(({ filename, sha256 }) => ({ filename, sha256 })) })
})

const statelessTarget = ({ assistant_id, thread_id }: StatelessMessageBody) => ({
  ...(typeof thread_id === "string" ? { threadId: ThreadId.make(thread_id) } : {}),
  ...(typeof assistant_id === "string" ? { assistantId: AssistantId.make(assistant_id) } : {})
})
