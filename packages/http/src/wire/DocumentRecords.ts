/** Documents as the wire shows them. */
import { DocumentStatus } from "@colloquy/core/wings"
import * as Schema from "effect/Schema"
import { isJsonObject } from "./Json.ts"
import { maybe, Timestamp } from "./Fields.ts"

const text = Schema.NullOr(Schema.String)
const integer = Schema.NullOr(Schema.Int)
const Id = Schema.String.annotate({ format: "uuid" })

const document = {
  document_id: Id,
  filename: Schema.String,
  status: DocumentStatus,
  /** The progress of the indexing, or the reason of its failure, in words for a person. */
  status_message: text,
  summary: text,
  /** Where it is attached: one of the two. */
  assistant_id: Schema.NullOr(Id),
  thread_id: Schema.NullOr(Id),
  created_at: Timestamp,
  updated_at: Timestamp,
  metadata_: Schema.NullOr(Schema.JsonObject)
}

export const DocumentRead = Schema.Struct(document).annotate({ identifier: "DocumentRead" })
export type DocumentRead = typeof DocumentRead.Type

export const DocumentStatusResponse = Schema.Struct({
  ...document,
  /** The extension of its type, without a dot. */
  document_type: Schema.String,
  file_size_bytes: Schema.Int,
  total_tokens: integer,
  chunk_count: integer,
  processing_started_at: Schema.NullOr(Timestamp),
  processing_completed_at: Schema.NullOr(Timestamp)
}).annotate({ identifier: "DocumentStatusResponse" })
export type DocumentStatusResponse = typeof DocumentStatusResponse.Type

export const DocumentDeleteResponse = Schema.Struct({
  message: Schema.String,
  document_id: Id,
  filename: Schema.String,
  document_type: Schema.String,
  deleted_at: Timestamp
}).annotate({ identifier: "DocumentDeleteResponse" })

/** Where in its file a text stands; null: the file has no such positions. */
const position = { heading: text, page: integer, slide: integer, sheet: text }

export const DocumentChunks = Schema.Struct({
  chunks: Schema.Array(
    Schema.Struct({ ordinal: Schema.Int, text: Schema.String, ...position, row: integer, token_count: Schema.Int })
  ),
  total: Schema.Int
}).annotate({ identifier: "DocumentChunks" })
export type DocumentChunks = typeof DocumentChunks.Type

export const DocumentSearchRequest = Schema.Struct({
  query: Schema.String.check(Schema.isPattern(/\S/u, { expected: "some words" })),
  /** Default: the assistant's `tok_k`. */
  limit: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 })))
}).annotate({ identifier: "DocumentSearchRequest" })
export type DocumentSearchRequest = typeof DocumentSearchRequest.Type

export const DocumentExcerpts = Schema.Struct({
  /** Best first. */
  excerpts: Schema.Array(
    Schema.Struct({
      document_id: Id,
      filename: Schema.String,
      ordinal: Schema.Int,
      text: Schema.String,
      ...position,
      /** 0 to 1; comparable within one search only. */
      score: Schema.Finite,
      lexical: Schema.NullOr(Schema.Finite),
      semantic: Schema.NullOr(Schema.Finite)
    })
  ),
  total_count: Schema.Int,
  /** The query was longer than a search takes. */
  note: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "DocumentExcerpts" })
export type DocumentExcerpts = typeof DocumentExcerpts.Type

/** Seven days. A client that needs the file for longer asks for another address. */
const longestLifetime = 604_800

export const DocumentUrlRequest = Schema.Struct({
  /** Seconds. Default: as addresses in answers. */
  expires_in: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: longestLifetime })))
}).annotate({ identifier: "DocumentUrlRequest" })
export type DocumentUrlRequest = typeof DocumentUrlRequest.Type

export const DocumentUrl = Schema.Struct({ url: Schema.String, expires_at: Timestamp }).annotate({
  identifier: "DocumentUrl"
})
export type DocumentUrl = typeof DocumentUrl.Type

export const AddressesRevoked = Schema.Struct({ revoked_at: Timestamp }).annotate({ identifier: "AddressesRevoked" })

const MetadataText = Schema.String.check(
  Schema.makeFilter((value: string) => isJsonObject(value) || "Expected the text of a JSON object")
)

/** What an upload may carry beside its file. */
export const DocumentFields = Schema.Struct({ metadata: maybe(MetadataText) })

/** The form of an upload, for the description of the API. */
export const DocumentUpload = Schema.Struct({
  file: Schema.String.annotate({ format: "binary" }),
  metadata: maybe(Schema.String.annotate({ contentMediaType: "application/json" }))
}).annotate({ identifier: "DocumentUpload" })
