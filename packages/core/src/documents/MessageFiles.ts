/**
 * A message with files: if necessary, a thread is created first; the files become its documents, and the turn begins with them as its
 * attachments. If the turn is refused, all of that is removed, with one exception: while a document is being processed, everything is kept,
 * so that the same message can be sent again with the ids of its files instead of their bytes.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { Assistants } from "../assistants/Assistants.ts"
import { type AssistantId, DocumentId, ThreadId } from "../primitives/Ids.ts"
import type { Threads } from "../threads/Threads.ts"
import type { StartedTurn } from "../turns/StartedTurn.ts"
import type { TurnRefused } from "../turns/TurnErrors.ts"
import type { TurnRequest } from "../turns/TurnRequest.ts"
import type { StartError, Turns } from "../turns/TurnUseCases.ts"
import type { Document } from "./Document.ts"
import type { Documents } from "./Documents.ts"
import { documentsPartName } from "./DocumentWork.ts"
import type { ReceivedFile } from "./ReceivedFile.ts"

/** The files were kept, but the turn has not begun, because a document of its scope is still being processed. */
export class FilesNotReady extends Schema.TaggedError<FilesNotReady>()("FilesNotReady", {
  threadId: ThreadId,
  /** The documents of this message. */
  documentIds: Schema.Array(DocumentId),
  /** Which documents are being processed. */
  reason: Schema.String
}) {
  override get message() {
    return `${this.reason} The files of this message were kept: name their ids as attachments of the message instead of sending them again.`
  }
}

export interface FileServices {
  readonly assistants: typeof Assistants.Service
  readonly documents: typeof Documents.Service
  readonly threads: typeof Threads.Service
  readonly turns: typeof Turns.Service
}

/** The thread of the turn, and what was created for it so far. */
interface Place {
  readonly threadId: ThreadId
  readonly made: { readonly assistantId: AssistantId } | { readonly threadId: ThreadId } | null
  documents: ReadonlyArray<Document>
}

/** The request to the kernel, with these documents as attachments. */
const withAttachments = (request: TurnRequest, ids: ReadonlyArray<DocumentId>): TurnRequest => {
  const asked = request.options?.[documentsPartName]
  const { attachments = [] } = Option.getOrElse(readAttachments(asked), (): typeof Attached.Type => ({}))
  const all = { attachments: [...attachments, ...ids] }
  return { ...request, options: Object.assign({}, request.options, { [documentsPartName]: all }) }
}

const Attached = Schema.Struct({ attachments: Schema.optionalKey(Schema.Array(Schema.String)) })
const readAttachments = Schema.decodeUnknownOption(Attached)

/** Begins the turn; the files become documents of its thread. A repeat of a turn that has begun creates nothing. */
export const startWithFiles = Effect.fnUntraced(function* (
  services: FileServices,
  request: TurnRequest,
  files: ReadonlyArray<ReceivedFile>
): Effect.fn.Return<StartedTurn, StartError | FilesNotReady, Principal> {
  if (request.idempotency !== undefined) {
    const repeated = yield* services.turns.repeated(request.idempotency)
    if (Option.isSome(repeated)) return repeated.value
  }
  return yield* Effect.acquireUseRelease(
    makePlace(services, request),
    (place) => startIn(services, place, request, files),
    (place, exit) => (keeps(place, exit) ? Effect.void : undo(services, place))
  )
})

const makePlace = Effect.fnUntraced(function* ({ assistants }: FileServices, request: TurnRequest) {
  const { assistantId, threadId } = request
  if (threadId !== undefined) return placeAt(threadId, null)
  const owner = assistantId ?? (yield* assistants.create({ name: "Assistant" })).id
  const thread = yield* assistants.createThread(owner, null)
  const made = assistantId === undefined ? { assistantId: owner } : { threadId: thread.id }
  return placeAt(thread.id, made)
})

const placeAt = (threadId: ThreadId, made: Place["made"]): Place => ({ threadId, made, documents: [] })

const startIn = Effect.fnUntraced(function* (
  { documents, turns }: FileServices,
  place: Place,
  { assistantId: _, ...request }: TurnRequest,
  files: ReadonlyArray<ReceivedFile>
) {
  const { threadId } = place
  for (const file of files) {
    const document = yield* documents.attach(file, { _tag: "Thread", threadId })
    place.documents = [...place.documents, document]
  }
  const documentIds = place.documents.map(({ id }) => id)
  return yield* turns
    .start(withAttachments({ ...request, threadId }, documentIds))
    .pipe(
      Effect.catchTag("TurnRefused", (refusal): Effect.Effect<never, FilesNotReady | TurnRefused> =>
        refusal.part === documentsPartName && refusal.reason === "not_ready"
          ? Effect.fail(new FilesNotReady({ threadId, documentIds, reason: refusal.message }))
          : Effect.fail(refusal)
      )
    )
})

/**
 * Keeps the place while its documents are processed. Removes it if a turn on another thread began at the same moment with the same
 * idempotency key.
 */
const keeps = (place: Place, exit: Exit.Exit<StartedTurn, StartError | FilesNotReady>): boolean =>
  Exit.isSuccess(exit)
    ? exit.value.threadId === place.threadId
    : Option.exists(Cause.findErrorOption(exit.cause), ({ _tag }) => _tag === "FilesNotReady")

/** Removes the thread with its documents. What cannot be removed stays visible, and the user can delete it. */
const undo = ({ assistants, documents, threads }: FileServices, { documents: attached, made }: Place) => {
  if (made === null) return Effect.forEach(attached, ({ id }) => Effect.ignore(documents.remove(id)), { discard: true })
  return Effect.ignore("assistantId" in made ? assistants.remove(made.assistantId) : threads.remove(made.threadId))
}
