/** The room of files: `documents()`. It adds `colloquy.documents`, `attachments` and `files` of messages, and `retrieved` of replies. */
import { FileExtractor } from "@colloquy/adapters/files"
import { AssistantId, type Page, ThreadId, type Turns } from "@colloquy/core"
import { DocumentId } from "@colloquy/core/adapters"
import {
  type Document,
  type DocumentScopeId,
  Documents,
  documentsPartName,
  type DocumentSettings,
  type FoundExcerpt,
  makeStartWithFiles,
  retrievedIn,
  type RetrievedExcerpt
} from "@colloquy/core/documents"
import {
  type CallOptions,
  readCount,
  readId,
  readPage,
  type Room,
  room,
  type RoomFunctions,
  type RoomTypes,
  type RunCall,
  withOptions
} from "@colloquy/core/promises"
import { Reranker, type RerankerPort } from "@colloquy/core/retrieval"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { DeepPartial } from "@colloquy/core/adapters"
import type { RoomNeeds } from "../Store.ts"
import { incomingFile, type NamedFile } from "./FileInput.ts"
import { cited, type CitedReply } from "./Cited.ts"
import { awaited } from "./Waiting.ts"

export type { Citation } from "@colloquy/core"
export { type Document, retrievedIn, type RetrievedExcerpt } from "@colloquy/core/documents"
export { type FileInput, FileUnreadable, type NamedFile } from "./FileInput.ts"

/** The settings of documents, words of pictures and a reranker. */
export interface DocumentsOptions extends DeepPartial<DocumentSettings> {
  /** True: text in pictures is recognised on this machine (`npm install tesseract.js @tesseract.js-data/eng`). */
  readonly ocr?: boolean
  /** True: pictures are scaled to what models take (`npm install sharp`). */
  readonly pictures?: boolean
  /** Orders what was found before the model reads it: `documents({ reranker, reranked: 50 })`. */
  readonly reranker?: RerankerPort
}

/** Where a document is attached: to an assistant, for all its threads, or to one thread. */
export type DocumentScope = { readonly assistantId: string } | { readonly threadId: string }

/** A file, and the assistant, thread or message that it belongs to. */
export type NewDocument = NamedFile & DocumentScope & { readonly metadata?: Document["metadata"] | undefined }

/** Options of a call that waits until a document is indexed. */
export interface IndexedOptions extends CallOptions {
  /** Called with the record after each step of the indexing; `statusMessage` says how far it is. */
  readonly onProgress?: ((document: Document) => void) | undefined
}

/** Files of an owner: `colloquy.documents`. */
export interface DocumentCalls {
  /** Stores the file and returns its record at once. The indexing begins afterwards; `indexed` waits for it. */
  readonly upload: (document: NewDocument, options?: CallOptions) => Promise<Document>
  /** Waits until the text of the document can be found. Rejects with `IndexingFailed` if the file cannot be read. */
  readonly indexed: (id: string, options?: IndexedOptions) => Promise<Document>
  readonly get: (id: string, options?: CallOptions) => Promise<Document>
  /** Oldest first. Without an assistant or a thread, all documents of the owner. */
  readonly list: (
    filter?: Partial<Page> & ({ readonly assistantId?: string } | { readonly threadId?: string }),
    options?: CallOptions
  ) => Promise<ReadonlyArray<Document>>
  /** The best excerpts, best first. A search in a thread includes the documents of its assistant. */
  readonly search: (
    search: DocumentScope & { readonly query: string; readonly limit?: number },
    options?: CallOptions
  ) => Promise<ReadonlyArray<FoundExcerpt>>
  /** The bytes as they were uploaded. */
  readonly content: (id: string, options?: CallOptions) => Promise<Uint8Array<ArrayBuffer>>
  readonly remove: (id: string, options?: CallOptions) => Promise<Document>
}

interface DocumentsTypes extends RoomTypes {
  readonly calls: { readonly documents: DocumentCalls }
  readonly request: {
    /** Ids of documents of the thread or its assistant that the message is about. */
    readonly attachments?: ReadonlyArray<string>
    /** Files that become documents of the thread with this message. */
    readonly files?: ReadonlyArray<NamedFile>
  }
  /** The excerpts that the model was given with the message, and what of them the answer cites. */
  readonly reply: CitedReply & { readonly retrieved: ReadonlyArray<RetrievedExcerpt> }
  readonly event: never
}

/** What `documents()` gives. */
export type DocumentsRoom = Room<DocumentsTypes, RoomNeeds>

/** A document that was waited for could not be indexed. The reason says why. */
export class IndexingFailed extends Schema.TaggedError<IndexingFailed>()("IndexingFailed", {
  documentId: DocumentId,
  filename: Schema.String,
  /** What the record says, a sentence for people. */
  reason: Schema.String
}) {
  override get message() {
    return `"${this.filename}" could not be indexed: ${this.reason}`
  }
}

export const documents = ({
  ocr = false,
  pictures = false,
  reranker,
  ...given
}: DocumentsOptions = {}): DocumentsRoom =>
  room<DocumentsTypes>()(
    Layer.provide(Documents.layer(given), [
      Layer.provide(FileExtractor.layer(), ocr ? imageReader : Layer.empty),
      pictures ? pictureConverter : Layer.empty,
      reranker === undefined ? Layer.empty : Layer.succeed(Reranker, reranker)
    ]),
    functions
  )

const imageReader = Layer.unwrap(
  Effect.promise(async () => (await import("@colloquy/adapters/tesseract")).TesseractReader.layer())
)
const pictureConverter = Layer.unwrap(
  Effect.promise(async () => (await import("@colloquy/adapters/sharp")).SharpPictures.layer)
)

const functions = Effect.gen(function* () {
  const service = yield* Documents
  const startWithFiles = yield* makeStartWithFiles

  const calls = (run: RunCall): DocumentCalls => ({
    upload: ({ file, filename, metadata, ...scope }, options) =>
      run(() => {
        const upload = { ...incomingFile({ file, filename }), scope: toScope(readScopeId(scope)) }
        return service.upload(metadata == null ? upload : { ...upload, metadata })
      }, options),
    indexed: (id, { onProgress, ...options } = {}) => run(() => indexed(readId(DocumentId, id), onProgress), options),
    get: (id, options) => run(() => service.get(readId(DocumentId, id)), options),
    list: ({ limit, skip, ...scope } = {}, options) =>
      run(() => {
        const [page, scopeId] = [readPage({ limit, skip }), givenScopeId(scope)]
        return scopeId === null ? service.listAll(page) : service.list(scopeId, page)
      }, options),
    search: ({ limit, query, ...scope }, options) =>
      run(() => {
        const wanted = limit === undefined ? {} : { limit: readCount("limit", limit) }
        const search = { scopeId: readScopeId(scope), query, ...wanted }
        return Effect.map(service.search(search), ({ excerpts }) => excerpts)
      }, options),
    content: (id, options) =>
      run(() => Effect.flatMap(service.content(readId(DocumentId, id)), ({ bytes }) => collected(bytes)), options),
    remove: (id, options) => run(() => service.remove(readId(DocumentId, id)), options)
  })

  const indexed = (id: DocumentId, onProgress: IndexedOptions["onProgress"]) => {
    let seen = ""
    return awaited(
      Effect.flatMap(service.get(id), (document) => {
        const { filename, status, statusMessage, updatedAt } = document
        const now = `${updatedAt.getTime()} ${status} ${statusMessage}`
        if (now !== seen) onProgress?.(document)
        seen = now
        if (status === "processing") return Effect.succeed(null)
        return status === "completed"
          ? Effect.succeed(document)
          : Effect.fail(
              new IndexingFailed({ documentId: id, filename, reason: statusMessage ?? "It is not known why." })
            )
      })
    )
  }

  const joined: RoomFunctions<DocumentsTypes> = {
    name: "documents",
    fields: ["attachments", "files"],
    calls: (run) => ({ documents: calls(run) }),
    begin: ({ attachments, files = [] }, request, next) => {
      const asked = attachments === undefined ? request : withOptions(request, documentsPartName, { attachments })
      if (files.length === 0) return next(asked)
      const incoming = files.map(incomingFile)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- other rooms may fail with errors of their own, which pass through
      const begin = next as typeof Turns.Service.start
      return Effect.scoped(
        Effect.flatMap(Effect.forEach(incoming, service.receive), (received) => startWithFiles(asked, received, begin))
      )
    },
    reply: ({ supplements }) => Effect.succeed({ retrieved: retrievedIn(supplements), ...cited(supplements) })
  }
  return joined
})

const collected = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>) =>
  Effect.map(Stream.runCollect(bytes), (pieces) => {
    const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
    let end = 0
    for (const piece of pieces) {
      all.set(piece, end)
      end += piece.length
    }
    return all
  })

interface MaybeScope {
  readonly assistantId?: string
  readonly threadId?: string
}

const givenScopeId = ({ assistantId, threadId }: MaybeScope): DocumentScopeId | null => {
  if (threadId !== undefined) return { threadId: readId(ThreadId, threadId) }
  return assistantId === undefined ? null : { assistantId: readId(AssistantId, assistantId) }
}

const readScopeId = (scope: MaybeScope): DocumentScopeId => {
  const found = givenScopeId(scope)
  if (found === null)
    throw new TypeError("A document belongs to an assistant or a thread: give `assistantId` or `threadId`.")
  return found
}

const toScope = (scopeId: DocumentScopeId): Document["scope"] =>
  "threadId" in scopeId ? { _tag: "Thread", ...scopeId } : { _tag: "Assistant", ...scopeId }
