/** Documents over HTTP: decode, call the use case, encode. A host that has not installed documents answers 501. */
import { AssistantId, Principal, ThreadId, TokenCounter } from "@colloquy/core"
import { DocumentId, maximumLimit } from "@colloquy/core/adapters"
import { type Document, type DocumentScopeId, Documents, type DocumentScope, ownText } from "@colloquy/core/wings"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Api } from "../Api.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import type { RawBody } from "../bodies/RequestBody.ts"
import { documentBodies } from "../endpoints/DocumentsApi.ts"
import { Links } from "../links/Links.ts"
import { NotImplemented } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { compact, given, readPage, writeTimestamp } from "../wire/Fields.ts"
import { contentResponse, type ContentRequest } from "./ContentResponse.ts"
import { writeList } from "../encoding/EncodeList.ts"
import { chunkToWire, documentToWire, excerptToWire, statusToWire } from "../encoding/EncodeDocuments.ts"
import { readMetadata } from "./TurnOptions.ts"

type Use = typeof Documents.Service

export const layer = HttpApiBuilder.group(
  Api,
  "documents",
  Effect.fnUntraced(function* (handlers) {
    const installed = yield* Effect.serviceOption(Documents)
    const { count } = yield* TokenCounter
    const links = yield* Links
    const read = yield* bodyReader
    const documents: Effect.Effect<Use, NotImplemented> = Option.match(installed, {
      onNone: () => Effect.fail(new NotImplemented({ detail })),
      onSome: (service) => Effect.succeed(service)
    })

    const upload = Effect.fnUntraced(function* (raw: Parameters<typeof read>[1], scope: DocumentScope) {
      const use = yield* documents
      yield* Effect.mapError(use.ensureScope(toScopeId(scope)), toWireError)
      const { raw: body, value } = yield* read(documentBodies.upload, raw)
      const metadata = readMetadata(value.metadata)
      return documentToWire(yield* Effect.mapError(use.attach(keptFile(body), scope, metadata), toWireError))
    })

    const list = Effect.fnUntraced(function* (scopeId: DocumentScopeId) {
      const { list: listPage } = yield* documents
      const all: Array<Document> = []
      for (let isMore = true; isMore;) {
        const found = yield* Effect.mapError(listPage(scopeId, { skip: all.length, limit: maximumLimit }), toWireError)
        all.push(...found)
        isMore = found.length === maximumLimit
      }
      return yield* writeList(all.map(documentToWire))
    })

    const search = Effect.fnUntraced(function* (raw: Parameters<typeof read>[1], scopeId: DocumentScopeId) {
      const use = yield* documents
      const { limit, query } = (yield* read(documentBodies.search, raw)).value
      const asked = { scopeId, query, ...compact({ limit: given(limit) }) }
      const { excerpts } = yield* Effect.mapError(use.search(asked), toWireError)
      return {
        excerpts: excerpts.map(excerptToWire),
        total_count: excerpts.length,
        ...compact({ note: given(use.noteOn(query)) })
      }
    })

    const found = Effect.fnUntraced(function* (id: string) {
      const { get } = yield* documents
      return yield* Effect.mapError(get(DocumentId.make(id)), toWireError)
    })

    const content = Effect.fnUntraced(function* (id: string, request: ContentRequest) {
      const use = yield* documents
      const document = yield* found(id)
      const response = contentResponse(document, request)
      if (response._tag === "NotModified") return HttpServerResponse.empty({ status: 304, headers: response.headers })
      if (response._tag === "NotSatisfiable") {
        const sentence = `The document has ${document.size} bytes; the range lies behind them.`
        return HttpServerResponse.jsonUnsafe({ detail: sentence }, { status: 416, headers: response.headers })
      }
      const { contentLength, contentType, headers, range, status } = response
      const { bytes } = yield* Effect.mapError(use.content(document.id, range ?? undefined), toWireError)
      const principal = yield* Principal
      const body = Stream.provideService(bytes, Principal, principal)
      return HttpServerResponse.stream(body, { status, headers, contentType, contentLength })
    })

    const revoke = Effect.fnUntraced(function* (id: DocumentId | null) {
      const { revokeAddresses } = yield* documents
      const at = yield* Effect.mapError(revokeAddresses(id), toWireError)
      links.revoked(at)
      return { revoked_at: writeTimestamp(at) }
    })

    return handlers
      .handleRaw("uploadToAssistant", (raw) => upload(raw, assistantScope(raw.params)))
      .handleRaw("uploadToThread", (raw) => upload(raw, threadScope(raw.params)))
      .handle("ofAssistant", ({ params }) => list(toScopeId(assistantScope(params))))
      .handle("ofThread", ({ params }) => list(toScopeId(threadScope(params))))
      .handleRaw("searchAssistant", (raw) => search(raw, toScopeId(assistantScope(raw.params))))
      .handleRaw("searchThread", (raw) => search(raw, toScopeId(threadScope(raw.params))))
      .handle("status", ({ params }) => Effect.map(found(params.document_id), statusToWire))
      .handle(
        "remove",
        Effect.fnUntraced(function* ({ params }) {
          const { remove } = yield* documents
          const { extension, filename, id } = yield* Effect.mapError(
            remove(DocumentId.make(params.document_id)),
            toWireError
          )
          const deleted_at = writeTimestamp(new Date(yield* Clock.currentTimeMillis))
          const message = "The document was deleted."
          return { message, document_id: id, filename, document_type: extension, deleted_at }
        })
      )
      .handle(
        "chunks",
        Effect.fnUntraced(function* ({ params, query }) {
          const use = yield* documents
          const page = use.chunks(DocumentId.make(params.document_id), readPage(query))
          const { chunks, total } = yield* Effect.mapError(page, toWireError)
          return { chunks: chunks.map((chunk) => chunkToWire(chunk, count(ownText(chunk)))), total }
        })
      )
      .handle("content", ({ headers, params }) =>
        content(
          params.document_id,
          compact({ range: headers.range, ifRange: headers["if-range"], ifNoneMatch: headers["if-none-match"] })
        )
      )
      .handle("revokeUrl", ({ params }) => revoke(DocumentId.make(params.document_id)))
      .handle("revokeUrls", () => revoke(null))
      .handleRaw(
        "url",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(documentBodies.url, raw)
          const { id } = yield* found(raw.params.document_id)
          const seconds = value?.expires_in
          const { expiresAt, url } = links.link(id, typeof seconds === "number" ? `${seconds} seconds` : undefined)
          return { url, expires_at: writeTimestamp(expiresAt) }
        })
      )
  })
)

const detail = "Documents are not available on this server: its host has not installed them."

const assistantScope = (params: { readonly assistant_id: string }): DocumentScope => ({
  _tag: "Assistant",
  assistantId: AssistantId.make(params.assistant_id)
})

const threadScope = (params: { readonly thread_id: string }): DocumentScope => ({
  _tag: "Thread",
  threadId: ThreadId.make(params.thread_id)
})

const toScopeId = (scope: DocumentScope): DocumentScopeId =>
  scope._tag === "Assistant" ? { assistantId: scope.assistantId } : { threadId: scope.threadId }

/** The rules of the body make sure that it has a file, and that the file is kept. */
const keptFile = ({ files }: RawBody) => {
  const kept = files.find(({ field, outcome }) => field === "file" && outcome._tag === "Kept")?.outcome
  if (kept?._tag !== "Kept") throw new Error("A body without a kept file has passed the check of uploads.")
  return kept.file
}
