/**
 * A message with files: if necessary, a thread is created first; the files become its documents, and the turn begins with them as its
 * attachments. If the turn is refused, all of that is removed, with one exception: while a document of the message is being processed,
 * everything is kept, so that the same message can be sent again with the ids of its files instead of their bytes. A repeat that brings the
 * bytes again finds what was kept: by its idempotency key, or in its thread by name and content. A message that has to wait for other
 * documents is refused before anything is made for it.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { Assistants } from "../assistants/Assistants.ts"
import { type AssistantId, DocumentId, ThreadId } from "../primitives/Ids.ts"
import { maximumLimit } from "../primitives/Page.ts"
import { keyedId } from "../primitives/KeyedId.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { Threads } from "../threads/Threads.ts"
import type { StartedTurn } from "../turns/StartedTurn.ts"
import type { TurnRefused } from "../turns/TurnErrors.ts"
import { IdempotencyConflict } from "../runs/AnsweredBefore.ts"
import type { TurnRequest } from "../turns/TurnRequest.ts"
import { type StartError, Turns } from "../turns/TurnUseCases.ts"
import type { Document } from "./Document.ts"
import { type DocumentScopeId, Documents, type ScopeNotFound } from "./Documents.ts"
import { documentsPartName } from "./DocumentWork.ts"
import { notReady } from "./NotReady.ts"
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

type BeginTurn = typeof Turns.Service.start

/** Begins a turn; the files become documents of its thread. A repeat of a turn that has begun creates nothing. */
export type StartWithFiles = (
  request: TurnRequest,
  files: ReadonlyArray<ReceivedFile>,
  /** Begins the turn when its files are documents; usually `Turns.start`. */
  begin?: BeginTurn
) => Effect.Effect<StartedTurn, StartError | FilesNotReady, Principal>

/** Another request with the same key has attached the file at the same moment; this one begins again and finds it. */
class AttachedMeanwhile extends Schema.TaggedError<AttachedMeanwhile>()("AttachedMeanwhile", {}) {}

/** In a kernel without documents, files are left out: a transport refuses them before. */
export const makeStartWithFiles = Effect.gen(function* () {
  const turns = yield* Turns
  const served = yield* Effect.serviceOption(Documents)
  if (Option.isNone(served)) {
    const withoutFiles: StartWithFiles = (request, _files, begin = turns.start) => begin(request)
    return withoutFiles
  }
  const documents = served.value
  const assistants = yield* Assistants
  const threads = yield* Threads

  const findAll = (
    threadId: ThreadId,
    skip = 0
  ): Effect.Effect<ReadonlyArray<Document>, ScopeNotFound | StoreUnavailable, Principal> =>
    Effect.flatMap(documents.list({ threadId }, { skip, limit: maximumLimit }), (page) =>
      page.length < maximumLimit
        ? Effect.succeed(page)
        : Effect.map(findAll(threadId, skip + maximumLimit), (rest) => [...page, ...rest])
    )

  const findKept = Effect.fnUntraced(function* (
    { idempotency, threadId }: TurnRequest,
    files: ReadonlyArray<ReceivedFile>
  ) {
    if (idempotency !== undefined) {
      const ids = yield* Effect.forEach(files, (_, index) => idOfFile(idempotency.key, index))
      const found = yield* Effect.forEach(ids, (id) =>
        Effect.catchTag(documents.get(id), "DocumentNotFound", () => Effect.succeed(undefined))
      )
      const [first] = found.flatMap((document) => document ?? [])
      const isSame = found.every(
        (document, index) => document === undefined || (isSameFile(document, files[index]) && isIn(document, threadId))
      )
      if (!isSame) return yield* new IdempotencyConflict()
      const firstThreadId = first === undefined || first.scope._tag === "Assistant" ? undefined : first.scope.threadId
      const kept: Kept = { threadId: threadId ?? firstThreadId, ids, documents: found }
      return kept
    }
    const ofThread = threadId === undefined ? [] : yield* findAll(threadId)
    const kept: Kept = {
      threadId,
      ids: [],
      documents: files.map((file) =>
        ofThread.findLast((document) => document.status !== "error" && isSameFile(document, file))
      )
    }
    return kept
  })

  /** Whether the message need not wait for documents of others. Its own may still be processed. */
  const ensureReady = Effect.fnUntraced(function* (request: TurnRequest, kept: Kept) {
    const scopeId = askedScopeId(request, kept)
    if (scopeId === null) return
    const own = new Set(kept.documents.map((document) => document?.id))
    const others = (yield* documents.unready(scopeId)).filter(({ id }) => !own.has(id))
    if (others.length > 0) return yield* notReady(others)
  })

  const prepareThread = Effect.fnUntraced(function* ({
    assistantId,
    threadId
  }: {
    readonly assistantId?: AssistantId | undefined
    readonly threadId: ThreadId | undefined
  }) {
    if (threadId !== undefined) return preparedThread(threadId, null)
    const owner =
      assistantId ??
      (yield* Effect.catchTag(assistants.create({ name: "Assistant" }), "ColleagueNotFound", Effect.die)).id
    const thread = yield* assistants.createThread(owner, null)
    const made = assistantId === undefined ? { assistantId: owner } : { threadId: thread.id }
    return preparedThread(thread.id, made)
  })

  const attachOne = (file: ReceivedFile, threadId: ThreadId, id: DocumentId | undefined) =>
    Effect.catchDefect(documents.attach(file, { _tag: "Thread", threadId }, undefined, id), (defect) =>
      id === undefined
        ? Effect.die(defect)
        : Effect.matchEffect(documents.get(id), {
            onFailure: () => Effect.die(defect),
            onSuccess: () => Effect.fail(new AttachedMeanwhile())
          })
    )

  const startIn = Effect.fnUntraced(function* (
    prepared: PreparedThread,
    { assistantId: _, ...request }: TurnRequest,
    files: ReadonlyArray<ReceivedFile>,
    kept: Kept,
    begin: BeginTurn
  ) {
    const { threadId } = prepared
    const documentIds: Array<DocumentId> = []
    for (const [index, file] of files.entries()) {
      const found = kept.documents[index]
      const document = found ?? (yield* attachOne(file, threadId, kept.ids[index]))
      if (found === undefined) prepared.documents = [...prepared.documents, document]
      documentIds.push(document.id)
    }
    return yield* begin(withAttachments({ ...request, threadId }, documentIds)).pipe(
      Effect.catchTag("TurnRefused", (refusal): Effect.Effect<never, FilesNotReady | TurnRefused> =>
        refusal.part === documentsPartName && refusal.reason === "not_ready"
          ? Effect.fail(new FilesNotReady({ threadId, documentIds, reason: refusal.message }))
          : Effect.fail(refusal)
      )
    )
  })

  /** Removes the thread with its documents. What cannot be removed stays visible, and the user can delete it. */
  const undo = ({ documents: attached, made }: PreparedThread) => {
    if (made === null)
      return Effect.forEach(attached, ({ id }) => Effect.ignore(documents.remove(id)), { discard: true })
    return Effect.ignore("assistantId" in made ? assistants.remove(made.assistantId) : threads.remove(made.threadId))
  }

  const startOnce = Effect.fnUntraced(function* (
    request: TurnRequest,
    files: ReadonlyArray<ReceivedFile>,
    begin: BeginTurn
  ): Effect.fn.Return<StartedTurn, StartError | FilesNotReady | AttachedMeanwhile, Principal> {
    if (request.idempotency !== undefined) {
      const repeated = yield* turns.repeated(request.idempotency, request)
      if (Option.isSome(repeated)) return repeated.value
    }
    const kept = yield* findKept(request, files)
    yield* ensureReady(request, kept)
    return yield* Effect.acquireUseRelease(
      prepareThread({ ...request, threadId: kept.threadId }),
      (prepared) => startIn(prepared, request, files, kept, begin),
      (prepared, exit) => (keeps(prepared, exit) ? Effect.void : undo(prepared))
    )
  })

  const start: StartWithFiles = (request, files, begin = turns.start) =>
    files.length === 0
      ? begin(request)
      : Effect.catchTag(startOnce(request, files, begin), "AttachedMeanwhile", () => start(request, files, begin))
  return start
})

/** The thread of the turn, and what was created for it by this request so far. */
interface PreparedThread {
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

/** What an earlier request with these files has kept. The documents stand where their files do. */
interface Kept {
  readonly threadId: ThreadId | undefined
  readonly ids: ReadonlyArray<DocumentId | undefined>
  readonly documents: ReadonlyArray<Document | undefined>
}

const isIn = ({ scope }: Document, threadId: ThreadId | undefined): boolean =>
  threadId === undefined || (scope._tag === "Thread" && scope.threadId === threadId)

const isSameFile = (document: Document, file: ReceivedFile | undefined): boolean =>
  document.filename === file?.filename && document.sha256 === file.sha256

/** The id of a file of a keyed message is made of the key, so that each repeat finds it. */
const idOfFile = (key: string, index: number) =>
  Principal.use(({ ownerId }) => keyedId(DocumentId, [ownerId, key, index]))

const askedScopeId = ({ assistantId }: TurnRequest, { threadId }: Kept): DocumentScopeId | null => {
  if (threadId !== undefined) return { threadId }
  return assistantId === undefined ? null : { assistantId }
}

const preparedThread = (threadId: ThreadId, made: PreparedThread["made"]): PreparedThread => ({
  threadId,
  made,
  documents: []
})

/**
 * Keeps the thread while its documents are processed. Removes it if a turn on another thread began at the same moment with the same
 * idempotency key.
 */
const keeps = (
  prepared: PreparedThread,
  exit: Exit.Exit<StartedTurn, StartError | FilesNotReady | AttachedMeanwhile>
): boolean =>
  Exit.isSuccess(exit)
    ? exit.value.threadId === prepared.threadId
    : Option.exists(Cause.findErrorOption(exit.cause), ({ _tag }) => _tag === "FilesNotReady")
