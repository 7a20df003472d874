/**
 * Documents, and the bytes of files in pieces, so that a service needs no store other than this database. A blob has no foreign key to a
 * document: the blob is stored before its document and deleted after it. If a process dies in between, the sweep deletes the blob.
 */
import { type Migration, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

/**
 * A document belongs to an assistant or to a thread, never to both. The message that an attachment belongs to may be stored after the
 * document, so there is no foreign key to it. `attempts` counts the attempts to index the document.
 */
const documents = `
create table {schema}.documents (
  owner text collate "C" not null,
  id uuid not null,
  ordinal bigint generated always as identity,
  assistant_id uuid,
  thread_id uuid,
  message_id uuid,
  filename text not null,
  extension text not null,
  mime_type text not null,
  blob_id uuid not null,
  size bigint not null,
  sha256 text not null,
  status text not null,
  attempts integer not null default 0,
  status_message text,
  summary text,
  total_tokens integer,
  chunk_count integer,
  metadata text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  processing_started_at timestamptz,
  processing_completed_at timestamptz,
  primary key (owner, id),
  foreign key (owner, assistant_id) references {schema}.assistants (owner, id) on delete cascade,
  foreign key (owner, thread_id) references {schema}.threads (owner, id) on delete cascade,
  check (num_nonnulls(assistant_id, thread_id) = 1)
) with (fillfactor = 80)`

/** `size` is null until the last piece is stored. */
const blobs = `
create table {schema}.blobs (
  owner text collate "C" not null,
  id uuid not null,
  piece_size integer not null,
  size bigint,
  stored_at timestamptz not null default clock_timestamp(),
  primary key (owner, id)
)`

const pieces = `
create table {schema}.blob_pieces (
  owner text collate "C" not null,
  blob_id uuid not null,
  ordinal integer not null,
  bytes bytea not null,
  primary key (owner, blob_id, ordinal),
  foreign key (owner, blob_id) references {schema}.blobs (owner, id) on delete cascade
)`

export const documentTables: Migration = {
  name: "documents",
  tables: ["documents", "blobs", "blob_pieces"],
  statements: [
    documents,
    `create index documents_of_assistant on {schema}.documents (owner, assistant_id, created_at, ordinal) where assistant_id is not null`,
    `create index documents_of_thread on {schema}.documents (owner, thread_id, created_at, ordinal) where thread_id is not null`,
    `create index documents_of_message on {schema}.documents (owner, message_id) where message_id is not null`,
    `create index documents_of_blob on {schema}.documents (blob_id)`,
    blobs,
    pieces,
    // Most files are compressed already, so PostgreSQL does not try to compress them again.
    `alter table {schema}.blob_pieces alter column bytes set storage external`
  ]
}

/** A signed link names a document but no owner, so documents are also found by their id alone. */
export const documentIds: Migration = {
  name: "documents by id",
  tables: [],
  statements: [`create index documents_by_id on {schema}.documents (id)`]
}

/** Addresses of a document that were written before this moment are no longer valid. */
export const revokedAddresses: Migration = {
  name: "documents revoke addresses",
  tables: [],
  statements: [`alter table {schema}.documents add column addresses_revoked_at timestamptz`]
}

/** Few documents at a time are being processed; the sweep for lost work looks at these alone. */
export const processingDocuments: Migration = {
  name: "documents in processing",
  tables: [],
  statements: [
    `create index documents_in_processing on {schema}.documents (created_at, ordinal) where status = 'processing'`
  ]
}

/**
 * Locks the assistant or the thread, so that it cannot be removed until the document is committed. Returns `stored`, `missing` when it does not exist, or
 * the refusal by a limit as JSON.
 */
const insertDocument = sqlFunction(
  "insert_document",
  `(p_owner text, p_id uuid, p_assistant uuid, p_thread uuid, p_message uuid, p_filename text, p_extension text, p_mime_type text,
    p_blob uuid, p_size bigint, p_sha256 text, p_status text, p_status_message text, p_summary text, p_total_tokens integer,
    p_chunk_count integer, p_metadata text, p_created_at timestamptz, p_updated_at timestamptz, p_started_at timestamptz,
    p_completed_at timestamptz, p_follow_ups text, p_most_documents double precision, p_most_bytes double precision) returns text language plpgsql as $$
declare
  v_documents bigint;
  v_bytes bigint;
begin
  if p_assistant is not null then
    perform 1 from {schema}.assistants where owner = p_owner and id = p_assistant for key share;
  else
    perform 1 from {schema}.threads where owner = p_owner and id = p_thread for key share;
  end if;
  if not found then return 'missing'; end if;
  if p_most_documents is not null or p_most_bytes is not null then
    perform pg_advisory_xact_lock(hashtextextended(p_owner || 'documents', 0));
    select count(*), coalesce(sum(size), 0) into v_documents, v_bytes from {schema}.documents where owner = p_owner;
    if v_documents >= p_most_documents then
      return json_build_object('limit', 'documents', 'left', 0, 'wait', null)::text;
    end if;
    if v_bytes + p_size > p_most_bytes then
      return json_build_object('limit', 'bytes', 'left', greatest(p_most_bytes - v_bytes, 0), 'wait', null)::text;
    end if;
  end if;
  insert into {schema}.documents (owner, id, assistant_id, thread_id, message_id, filename, extension, mime_type, blob_id, size,
    sha256, status, status_message, summary, total_tokens, chunk_count, metadata, created_at, updated_at,
    processing_started_at, processing_completed_at)
  values (p_owner, p_id, p_assistant, p_thread, p_message, p_filename, p_extension, p_mime_type, p_blob, p_size,
    p_sha256, p_status, p_status_message, p_summary, p_total_tokens, p_chunk_count, p_metadata, p_created_at, p_updated_at,
    p_started_at, p_completed_at);
  if p_follow_ups is not null then perform {schema}.add_follow_ups(p_owner, p_follow_ups); end if;
  return 'stored';
end $$`
)

export const documentFunctions: ReadonlyArray<SqlFunction> = [insertDocument]
