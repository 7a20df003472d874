/** The message endpoints: decode, begin the turn, deliver it. */
import {
  AssistantId,
  Assistants,
  type Principal,
  type StartedTurn,
  ThreadId,
  Threads,
  type TurnRequest,
  Turns
} from "@colloquy/core"
import { BlobId, DocumentId } from "@colloquy/core/adapters"
import { Documents, type ReceivedFile, startWithFiles } from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import { Api } from "../Api.ts"
import { compact, given, givenName } from "../wire/Fields.ts"
import type { MessageBody, StatelessMessageBody } from "../wire/MessageBody.ts"
import { messageBodies } from "../endpoints/MessagesApi.ts"
import { idempotencyOf } from "./Idempotency.ts"
import type { DecodedBody, RawBody } from "../bodies/RequestBody.ts"
import { Wings } from "../wings/Wings.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import type { UploadedFile } from "../bodies/UploadedFile.ts"
import { delivery } from "./Delivery.ts"
import {
  modelOptionsFromWire,
  jsonObjectOf,
  routingFromWire,
  sendToModel,
  thinkingFromWire,
  toolsFromWire
} from "./TurnOptions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "messages",
  Effect.fnUntraced(function* (handlers) {
    const read = yield* bodyReader
    const deliver = yield* delivery
    const start = yield* turnStarter
    const wings = yield* Wings

    /** The files of a message that is refused are deleted before the answer is sent. */
    const answer = <A extends MessageBody | StatelessMessageBody>(
      sent: Parameters<typeof idempotencyOf>[0],
      { discard, raw, value }: DecodedBody<A>,
      rest: Partial<TurnRequest>
    ) =>
      Effect.gen(function* () {
        const files = filesOf(raw)
        const request: TurnRequest = {
          ...commonOf(value),
          ...compact({ options: wings.options(value, raw), ignored: ignoredOf(wings, value) }),
          ...rest
        }
        const repeat = yield* idempotencyOf(sent, () => {
          const options = compact({ options: wings.options(value, { ...raw, files: raw.files.map(withoutIds) }) })
          return asked({ ...request, ...options }, files)
        })
        const started = start({ ...request, ...repeat }, files)
        return yield* deliver(
          raw.files.length === 0 ? started : Effect.onError(started, () => discard),
          value.stream === true
        )
      })

    return handlers
      .handleRaw("send", (raw) =>
        Effect.flatMap(read(messageBodies.send, raw), (body) => {
          const routing = compact({ routing: routingFromWire(body.value.router) })
          return answer(raw, body, { ...routing, threadId: ThreadId.make(raw.params.thread_id) })
        })
      )
      .handleRaw("sendStateless", (raw) =>
        Effect.flatMap(read(messageBodies.sendStateless, raw), (body) =>
          answer(raw, body, { ...placeOf(body.value), systemFallback: "description" })
        )
      )
  })
)

type Start = (
  request: TurnRequest,
  files: ReadonlyArray<ReceivedFile>
) => Effect.Effect<StartedTurn, Effect.Error<ReturnType<typeof startWithFiles>>, Principal>

/** Begins a turn; with files, those become documents of its thread first. */
const turnStarter = Effect.gen(function* () {
  const turns = yield* Turns
  const places = { assistants: yield* Assistants, threads: yield* Threads }
  const documents = Option.getOrNull(yield* Effect.serviceOption(Documents))
  const start: Start = (request, files) =>
    documents === null || files.length === 0
      ? turns.start(request)
      : startWithFiles({ ...places, documents, turns }, request, files)
  return start
})

/** Files are kept for the field `files` where the kernel has documents; other ones were refused. */
const filesOf = ({ files }: RawBody): ReadonlyArray<ReceivedFile> =>
  files.flatMap(({ field, outcome }) => (field === "files" && outcome._tag === "Kept" ? [outcome.file] : []))

/** The same recording has other ids when it is sent again. */
const withoutIds = (file: UploadedFile): UploadedFile =>
  file.outcome._tag === "Recorded"
    ? { ...file, outcome: { ...file.outcome, recorded: { ...file.outcome.recorded, ...noIds } } }
    : file

const noIds = { documentId: DocumentId.make("any"), blobId: BlobId.make("any") }

/** What a repeat is recognized by: files have other ids when they are sent again. */
const asked = (request: TurnRequest, files: ReadonlyArray<ReceivedFile>) =>
  files.length === 0 ? request : { ...request, files: files.map(({ filename, sha256 }) => ({ filename, sha256 })) }

const ignoredOf = (wings: typeof Wings.Service, body: MessageBody | StatelessMessageBody): TurnRequest["ignored"] => {
  const ignored = wings.ignored(body, !sendToModel(body.send_to_llm))
  return ignored.length === 0 ? undefined : ignored
}

const placeOf = ({ assistant_id, thread_id }: StatelessMessageBody) => ({
  ...(typeof thread_id === "string" ? { threadId: ThreadId.make(thread_id) } : {}),
  ...(typeof assistant_id === "string" ? { assistantId: AssistantId.make(assistant_id) } : {})
})

const commonOf = (body: MessageBody | StatelessMessageBody): TurnRequest => ({
  content: body.content ?? "",
  stream: body.stream === true,
  sendToModel: sendToModel(body.send_to_llm),
  ...compact({
    systemPrompt: given(body.system_prompt),
    provider: givenName(body.llm_provider),
    model: givenName(body.model_name),
    tools: toolsFromWire(body.tools),
    thinking: thinkingFromWire(body.thinking),
    modelOptions: modelOptionsFromWire(body.model_options),
    jsonOutput: given(body.json_output),
    metadata: jsonObjectOf(body.metadata),
    customTimestamp: given(body.custom_timestamp)
  })
})
