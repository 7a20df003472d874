/**
 * Documents of assistants and threads: their records, bytes, chunks and addresses, and the search in them. All endpoints answer 501 on a
 * server whose host has not installed documents.
 */
import * as Context from "effect/Context"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import type { FileFields } from "../bodies/UploadedFile.ts"
import { jsonOrFormBody, type BodyRules, searchBody } from "../bodies/RequestBody.ts"
import {
  DocumentChunks,
  DocumentDeleteResponse,
  DocumentExcerpts,
  DocumentFields,
  DocumentRead,
  DocumentSearchRequest,
  DocumentStatusResponse,
  DocumentUpload,
  AddressesRevoked,
  DocumentUrl,
  DocumentUrlRequest
} from "../wire/DocumentRecords.ts"
import { NotFound, NotImplemented, RangeNotSatisfiable, ServiceUnavailable } from "../wire/Errors.ts"
import { page, Uuid } from "../wire/Fields.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

/** An annotation of endpoints: a signature in the query is taken in place of a key. */
export const TakesSignature = Context.Reference<boolean>("@colloquy/http/TakesSignature", {
  defaultValue: () => false
})

const upload: FileFields = { file: { as: "document", many: false, part: null } }

const needsFile: BodyRules = ({ files, value }) => {
  const isThere = files.some(({ field }) => field === "file") || (value instanceof Object && "file" in value)
  return isThere ? [] : [{ loc: ["body", "file"], msg: "Field required", type: "missing" }]
}

export const documentBodies = {
  upload: jsonOrFormBody(DocumentFields, needsFile, upload),
  search: searchBody(DocumentSearchRequest),
  url: jsonOrFormBody(Schema.NullOr(DocumentUrlRequest))
}

const errors = [NotFound, NotImplemented, ServiceUnavailable] as const
const bodyErrors = [...unreadable, ...errors] as const

const ofAssistant = { assistant_id: Uuid }
const ofThread = { thread_id: Uuid }
const params = { document_id: Schema.String }

const uploadForm = DocumentUpload.pipe(HttpApiSchema.asMultipart())
const text = Schema.optionalKey(Schema.String)

export const DocumentsApi = HttpApiGroup.make("documents")
  .add(
    HttpApiEndpoint.post("uploadToAssistant", "/assistants/:assistant_id/documents", {
      params: ofAssistant,
      payload: uploadForm,
      success: DocumentRead,
      error: bodyErrors
    }).annotateMerge(
      described(
        "write",
        "Upload a file for all threads of an assistant; its indexing begins at once",
        documentBodies.upload
      )
    ),
    HttpApiEndpoint.get("ofAssistant", "/assistants/:assistant_id/documents", {
      params: ofAssistant,
      success: Schema.Array(DocumentRead),
      error: errors
    }).annotateMerge(described("read", "List an assistant's documents, oldest first")),
    HttpApiEndpoint.post("searchAssistant", "/assistants/:assistant_id/documents/search", {
      params: ofAssistant,
      payload: DocumentSearchRequest,
      success: DocumentExcerpts,
      error: bodyErrors
    }).annotateMerge(described("read", "Find excerpts in an assistant's documents", documentBodies.search)),
    HttpApiEndpoint.post("uploadToThread", "/threads/:thread_id/documents", {
      params: ofThread,
      payload: uploadForm,
      success: DocumentRead,
      error: bodyErrors
    }).annotateMerge(
      described("write", "Upload a file for one thread; its indexing begins at once", documentBodies.upload)
    ),
    HttpApiEndpoint.get("ofThread", "/threads/:thread_id/documents", {
      params: ofThread,
      success: Schema.Array(DocumentRead),
      error: errors
    }).annotateMerge(described("read", "List a thread's documents and the files of its messages, oldest first")),
    HttpApiEndpoint.post("searchThread", "/threads/:thread_id/documents/search", {
      params: ofThread,
      payload: DocumentSearchRequest,
      success: DocumentExcerpts,
      error: bodyErrors
    }).annotateMerge(
      described("read", "Find excerpts in the documents of a thread and of its assistant", documentBodies.search)
    ),
    HttpApiEndpoint.delete("remove", "/documents/:document_id", {
      params,
      success: DocumentDeleteResponse,
      error: errors
    }).annotateMerge(described("write", "Delete a document of an assistant, a thread or a message, with its bytes")),
    HttpApiEndpoint.get("status", "/documents/:document_id/status", {
      params,
      success: DocumentStatusResponse,
      error: errors
    }).annotateMerge(described("read", "How far the indexing of a document has come")),
    HttpApiEndpoint.get("chunks", "/documents/:document_id/chunks", {
      params,
      query: page,
      success: DocumentChunks,
      error: errors
    }).annotateMerge(described("read", "The parts into which a document's text was cut")),
    HttpApiEndpoint.get("content", "/documents/:document_id/content", {
      params,
      query: { expires: text, signature: text },
      headers: { range: text, "if-range": text, "if-none-match": text },
      success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array()),
      error: [...errors, RangeNotSatisfiable]
    })
      .annotate(TakesSignature, true)
      .annotateMerge(described("read", "The bytes of a document, or a range of them; a signed address needs no key")),
    HttpApiEndpoint.post("url", "/documents/:document_id/url", {
      params,
      payload: Schema.NullOr(DocumentUrlRequest),
      success: DocumentUrl,
      error: bodyErrors
    }).annotateMerge(described("read", "An address of the bytes that needs no key, for a while", documentBodies.url)),
    HttpApiEndpoint.delete("revokeUrl", "/documents/:document_id/url", {
      params,
      success: AddressesRevoked,
      error: errors
    }).annotateMerge(described("admin", "Revoke all signed addresses of a document that were written until now")),
    HttpApiEndpoint.delete("revokeUrls", "/owners/me/urls", { success: AddressesRevoked, error: errors }).annotateMerge(
      described("admin", "Revoke all signed addresses of the owner's documents that were written until now")
    )
  )
  .annotate(OpenApi.Title, "Documents")
  .annotate(OpenApi.Description, "Files of assistants and threads, their bytes, and the search in their text.")
