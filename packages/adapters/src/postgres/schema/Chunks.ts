/**
 * The tables and functions of the index of chunks (`ChunkIndex`). Each put of a document writes one entry. The entry is written in pieces
 * and is not searched while its state is `open`; one statement makes it `ready`, and the next put of the same document makes it `retired`.
 * Retired entries are deleted in pieces, from the last segment to the first. So a document of any size is found completely or not at all,
 * and no statement takes long.
 *
 * A posting row holds one term in up to 256 chunks of an entry (a segment), because the size of an index row is limited. A posting is found
 * by its owner and a hash of its scope's name; the hash has 64 bits, so two scopes of one owner with the same hash are not expected.
 *
 * Vectors stand in a table of their own, which `keep_search_vectors` creates when the extension pgvector is available. Statements that use
 * this table are dynamic SQL.
 */
import { type Migration, primaryKey, sqlFunction, type SqlFunction } from "./SchemaPart.ts"

const entries = `
create table {schema}.search_entries (
  owner text collate "C" not null,
  id bigint generated always as identity,
  scope text collate "C" not null,
  document uuid not null,
  language text collate "C" not null,
  chunks integer not null,
  state text collate "C" not null default 'open',
  opened_at timestamptz not null default clock_timestamp(),
  primary key (owner, id)
)`

const chunks = `
create table {schema}.search_chunks (
  owner text collate "C" not null,
  entry bigint not null,
  ordinal integer not null,
  body text not null,
  place text not null,
  primary key (owner, entry, ordinal)
)`

const postings = `
create table {schema}.search_postings (
  owner text collate "C" not null,
  scope_key bigint not null,
  term text collate "C" not null,
  entry bigint not null,
  segment smallint not null,
  offsets smallint[] not null,
  impacts smallint[] not null
)`

export const chunkTables: Migration = {
  name: "search",
  tables: ["search_entries", "search_chunks", "search_postings"],
  statements: [
    entries,
    `create unique index search_entries_ready on {schema}.search_entries (owner, scope, document) where state = 'ready'`,
    `create index search_entries_gone on {schema}.search_entries (owner, scope, id) where state <> 'ready'`,
    chunks,
    postings,
    `create index search_postings_of_entry on {schema}.search_postings (owner, entry)`,
    primaryKey("search_postings", "(owner, scope_key, term, entry, segment) include (offsets, impacts)")
  ]
}

/** Postings are deleted segment by segment. The primary key is made again, because it has to be the newest index. */
export const postingsBySegment: Migration = {
  name: "search postings by segment",
  tables: [],
  statements: [
    `drop index {schema}.search_postings_of_entry`,
    `create index search_postings_of_segment on {schema}.search_postings (owner, entry, segment)`,
    `alter table {schema}.search_postings drop constraint search_postings_pkey`,
    primaryKey("search_postings", "(owner, scope_key, term, entry, segment) include (offsets, impacts)")
  ]
}

/** The largest number of chunks in one posting row. */
export const segmentSize = 256

/** If the searched scopes hold more chunks than this, an index of vectors is used when one exists. Below it, every vector is compared. */
export const exactLimit = 10_000

/**
 * Returns whether vectors can be stored. With `p_make` it creates the extension and the table if they are missing. The type `halfvec` needs
 * pgvector 0.7.
 */
const keepSearchVectors = sqlFunction(
  "keep_search_vectors",
  `(p_make boolean) returns boolean language plpgsql as $$
declare
  v_type text;
begin
  if to_regclass('{schema}.search_vectors') is not null then return true; end if;
  if not p_make then return false; end if;
  perform pg_advisory_xact_lock(hashtextextended('{schema}.search_vectors', 0));
  -- Another process that has started at the same moment may have made it meanwhile, so that each statement may find its work done.
  begin
    if not exists (select from pg_extension where extname = 'vector') then create extension vector; end if;
    select format('%I.halfvec', n.nspname) into v_type from pg_extension e join pg_namespace n on n.oid = e.extnamespace
      where e.extname = 'vector';
    execute format('create table if not exists {schema}.search_vectors (
      owner text collate "C" not null,
      entry bigint not null,
      ordinal integer not null,
      scope_key bigint not null,
      model text collate "C" not null,
      dimensions smallint not null,
      embedding %s not null,
      primary key (owner, entry, ordinal)
    )', v_type);
    -- Out of line, every vector would be fetched by itself: two to three times slower.
    alter table {schema}.search_vectors alter column embedding set storage main;
    create index if not exists search_vectors_of_scope on {schema}.search_vectors (owner, scope_key);
  exception when others then
    return false;
  end;
  return true;
end $$`
)

/** Creates an entry that is not searched yet, and returns its id. */
const openSearchEntry = sqlFunction(
  "open_search_entry",
  `(p_owner text, p_scope text, p_document uuid, p_language text, p_chunks integer) returns bigint language plpgsql as $$
declare
  v_entry bigint;
begin
  insert into {schema}.search_entries (owner, scope, document, language, chunks)
    values (p_owner, p_scope, p_document, p_language, p_chunks) returning id into v_entry;
  return v_entry;
end $$`
)

/**
 * Adds a segment of chunks and its postings, which the caller has sorted by term. Returns the id of the entry, or null when the entry was
 * retired meanwhile, because its document was removed. The lock keeps the entry from being retired until the segment is committed, so that
 * the deletion of a retired entry finds all its rows.
 */
const addSearchSegment = sqlFunction(
  "add_search_segment",
  `(p_owner text, p_scope text, p_entry bigint, p_segment integer, p_bodies text[], p_places text[], p_terms text[],
    p_offsets text[], p_impacts text[]) returns bigint language plpgsql as $$
begin
  perform from {schema}.search_entries e where e.owner = p_owner and e.id = p_entry and e.state = 'open' for share;
  if not found then return null; end if;
  insert into {schema}.search_chunks (owner, entry, ordinal, body, place)
    select p_owner, p_entry, p_segment * ${segmentSize} + c.place_in - 1, c.body, c.place
    from unnest(p_bodies, p_places) with ordinality c (body, place, place_in);
  insert into {schema}.search_postings (owner, scope_key, term, entry, segment, offsets, impacts)
    select p_owner, hashtextextended(p_scope, 0), t.term, p_entry, p_segment, t.offsets::smallint[], t.impacts::smallint[]
    from unnest(p_terms, p_offsets, p_impacts) t (term, offsets, impacts);
  return p_entry;
end $$`
)

/**
 * Stores the vectors of existing chunks. Returns false when the entry does not exist or is retired. Vectors have the text format of
 * pgvector.
 */
const setSearchVectors = sqlFunction(
  "set_search_vectors",
  `(p_owner text, p_scope text, p_document uuid, p_entry bigint, p_model text, p_dimensions integer, p_ordinals integer[],
    p_vectors text[]) returns boolean language plpgsql as $$
declare
  v_schema text;
begin
  perform from {schema}.search_entries e where e.owner = p_owner and e.id = p_entry and e.scope = p_scope
    and e.document = p_document and e.state <> 'retired' for share;
  if not found then return false; end if;
  select quote_ident(n.nspname) into v_schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    where e.extname = 'vector';
  execute format('insert into {schema}.search_vectors (owner, entry, ordinal, scope_key, model, dimensions, embedding)
    select $1, $2, c.ordinal, hashtextextended($3, 0), $4, $5, v.vector::%1$s.halfvec(%2$s)
    from unnest($6, $7) v (ordinal, vector)
    join {schema}.search_chunks c on c.owner = $1 and c.entry = $2 and c.ordinal = v.ordinal
    on conflict (owner, entry, ordinal) do update
      set model = excluded.model, dimensions = excluded.dimensions, embedding = excluded.embedding', v_schema, p_dimensions)
    using p_owner, p_entry, p_scope, p_model, p_dimensions, p_ordinals, p_vectors;
  return true;
end $$`
)

/** Makes an entry `ready` and retires the document's previous entry; false, and that one stays, when the entry is no longer open. */
const publishSearchEntry = sqlFunction(
  "publish_search_entry",
  `(p_owner text, p_scope text, p_document uuid, p_entry bigint) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(p_owner || p_scope || p_document, 0));
  perform from {schema}.search_entries where owner = p_owner and id = p_entry and state = 'open' for update;
  if not found then return false; end if;
  update {schema}.search_entries set state = 'retired'
    where owner = p_owner and scope = p_scope and document = p_document and state = 'ready';
  update {schema}.search_entries set state = 'ready' where owner = p_owner and id = p_entry;
  return true;
end $$`
)

/**
 * Retires the entries of a document, or all entries of the scope when `p_document` is null: searches no longer find them, and nothing is
 * added to those that are still being written. Returns whether one of them was searched.
 */
const retireSearchEntries = sqlFunction(
  "retire_search_entries",
  `(p_owner text, p_scope text, p_document uuid) returns boolean language plpgsql as $$
declare
  v_ready bigint[];
begin
  v_ready := array(select id from {schema}.search_entries
    where owner = p_owner and scope = p_scope and state = 'ready' and (p_document is null or document = p_document));
  update {schema}.search_entries set state = 'retired'
    where owner = p_owner and scope = p_scope and state <> 'retired' and (p_document is null or document = p_document);
  return cardinality(v_ready) > 0;
end $$`
)

/** How many postings one call deletes: a few milliseconds of work, because in an embedded database all others wait meanwhile. */
const slice = 2000

/**
 * Deletes a slice of the retired entries of a document, or of all the scope when `p_document` is null, and of entries that are older than a
 * day and still open, because the process that wrote them died. Returns true when none is left, otherwise the caller calls again.
 *
 * An entry is deleted from its last segment to its first, and `chunks` says what is left of it. Rows are deleted by their place in the
 * table, because a table without statistics would be read once for each of them.
 */
const dropSearchEntries = sqlFunction(
  "drop_search_entries",
  `(p_owner text, p_scope text, p_document uuid) returns boolean language plpgsql set plan_cache_mode = force_custom_plan as $$
declare
  v_entry bigint;
  v_chunks integer;
  v_segment integer;
  v_rows bigint;
begin
  select id, chunks into v_entry, v_chunks from {schema}.search_entries
    where owner = p_owner and scope = p_scope and state <> 'ready'
      and (state = 'retired' and (p_document is null or document = p_document) or opened_at < clock_timestamp() - interval '1 day')
    order by id limit 1 for update;
  -- Another process may have deleted the first entry while this one waited for it, so that only a second look says that none is left.
  if not found then
    return not exists (select from {schema}.search_entries where owner = p_owner and scope = p_scope and state = 'retired'
      and (p_document is null or document = p_document));
  end if;
  v_segment := greatest(v_chunks - 1, 0) / ${segmentSize};
  delete from {schema}.search_postings where owner = p_owner and ctid = any (array(
    select ctid from {schema}.search_postings where owner = p_owner and entry = v_entry and segment = v_segment limit ${slice}));
  get diagnostics v_rows = row_count;
  if v_rows = ${slice} then return false; end if;
  if to_regclass('{schema}.search_vectors') is not null then
    delete from {schema}.search_vectors where owner = p_owner and entry = v_entry and ordinal >= v_segment * ${segmentSize};
  end if;
  delete from {schema}.search_chunks where owner = p_owner and entry = v_entry and ordinal >= v_segment * ${segmentSize};
  if v_segment > 0 then
    update {schema}.search_entries set state = 'retired', chunks = v_segment * ${segmentSize} where owner = p_owner and id = v_entry;
  else
    delete from {schema}.search_entries where owner = p_owner and id = v_entry;
  end if;
  return false;
end $$`
)

/**
 * Brings the statistics up to date after a large document was written: an embedded database has nothing that does so later. A small sample
 * of the columns by which rows are found is enough, and takes a few milliseconds. Postings, texts and vectors themselves are left out: to read
 * them took 40 ms for five files of 10,000 chunks, and more with each further one.
 */
const analyzeSearch = sqlFunction(
  "analyze_search",
  `() returns void language plpgsql set default_statistics_target = 3 as $$
begin
  analyze (skip_locked) {schema}.search_entries,
    {schema}.search_chunks (owner, entry, ordinal),
    {schema}.search_postings (owner, scope_key, term, entry, segment);
  if to_regclass('{schema}.search_vectors') is not null then
    execute 'analyze (skip_locked) {schema}.search_vectors (owner, entry, ordinal, scope_key, model, dimensions)';
  end if;
end $$`
)

/** Writes a document of one segment in one call. Returns false when the previous entry is not completely deleted yet. */
const putSearchDocument = sqlFunction(
  "put_search_document",
  `(p_owner text, p_scope text, p_document uuid, p_language text, p_bodies text[], p_places text[], p_terms text[],
    p_offsets text[], p_impacts text[], p_model text, p_dimensions integer, p_ordinals integer[], p_vectors text[])
returns boolean language plpgsql as $$
declare
  v_entry bigint;
begin
  v_entry := {schema}.open_search_entry(p_owner, p_scope, p_document, p_language, cardinality(p_bodies));
  perform {schema}.add_search_segment(p_owner, p_scope, v_entry, 0, p_bodies, p_places, p_terms, p_offsets, p_impacts);
  if p_model is not null then
    perform {schema}.set_search_vectors(p_owner, p_scope, p_document, v_entry, p_model, p_dimensions, p_ordinals, p_vectors);
  end if;
  perform {schema}.publish_search_entry(p_owner, p_scope, p_document, v_entry);
  return {schema}.drop_search_entries(p_owner, p_scope, p_document);
end $$`
)

/** Replaces the terms of a document of one segment. Its chunks and vectors stay. */
const reweighSearchDocument = sqlFunction(
  "reweigh_search_document",
  `(p_owner text, p_scope text, p_document uuid, p_language text, p_terms text[], p_offsets text[], p_impacts text[])
returns void language plpgsql as $$
declare
  v_entry bigint;
begin
  update {schema}.search_entries set language = p_language
    where owner = p_owner and scope = p_scope and document = p_document and state = 'ready' returning id into v_entry;
  if not found then return; end if;
  delete from {schema}.search_postings where owner = p_owner and entry = v_entry and segment = 0;
  insert into {schema}.search_postings (owner, scope_key, term, entry, segment, offsets, impacts)
    select p_owner, hashtextextended(p_scope, 0), t.term, v_entry, 0, t.offsets::smallint[], t.impacts::smallint[]
    from unnest(p_terms, p_offsets, p_impacts) t (term, offsets, impacts);
end $$`
)

/** Copies the document's entry that is ready. Returns false when there is none. */
const copySearchDocument = sqlFunction(
  "copy_search_document",
  `(p_owner text, p_scope text, p_document uuid, p_to_scope text, p_to_document uuid) returns boolean language plpgsql as $$
declare
  v_from record;
  v_entry bigint;
begin
  select * into v_from from {schema}.search_entries
    where owner = p_owner and scope = p_scope and document = p_document and state = 'ready' for key share;
  if not found then return false; end if;
  v_entry := {schema}.open_search_entry(p_owner, p_to_scope, p_to_document, v_from.language, v_from.chunks);
  insert into {schema}.search_chunks (owner, entry, ordinal, body, place)
    select owner, v_entry, ordinal, body, place from {schema}.search_chunks where owner = p_owner and entry = v_from.id;
  insert into {schema}.search_postings (owner, scope_key, term, entry, segment, offsets, impacts)
    select owner, hashtextextended(p_to_scope, 0), term, v_entry, segment, offsets, impacts
    from {schema}.search_postings where owner = p_owner and entry = v_from.id order by term, segment;
  if to_regclass('{schema}.search_vectors') is not null then
    insert into {schema}.search_vectors (owner, entry, ordinal, scope_key, model, dimensions, embedding)
      select owner, v_entry, ordinal, hashtextextended(p_to_scope, 0), model, dimensions, embedding
      from {schema}.search_vectors where owner = p_owner and entry = v_from.id;
  end if;
  return {schema}.publish_search_entry(p_owner, p_to_scope, p_to_document, v_entry);
end $$`
)

/**
 * The chunks nearest to a vector, best first. The result is exact, unless the scopes are large (`p_is_large`) and an index of vectors
 * exists: then it is approximate.
 */
const nearestChunks = sqlFunction(
  "nearest_chunks",
  `(p_owner text, p_keys bigint[], p_hidden bigint[], p_model text, p_dimensions integer, p_vector text, p_limit integer,
    p_is_large boolean)
returns table (entry bigint, ordinal integer, cosine double precision) language plpgsql stable set jit = off as $$
declare
  v_schema text;
  v_query text;
  v_entries bigint[];
  v_ordinals integer[];
  v_cosines double precision[];
begin
  select quote_ident(n.nspname) into v_schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    where e.extname = 'vector';
  v_query := format('select f.entry, f.ordinal, 1 - f.distance from (
      select v.entry, v.ordinal, v.embedding::%1$s.halfvec(%2$s) operator(%1$s.<=>) $5::%1$s.halfvec(%2$s) as distance
      from {schema}.search_vectors v
      where v.owner = $1 and v.scope_key = any ($2) and v.entry <> all ($3) and v.model = $4 and v.dimensions = %2$s
      order by (v.embedding::%1$s.halfvec(%2$s) operator(%1$s.<=>) $5::%1$s.halfvec(%2$s)) %%s limit $6
    ) f where f.distance <> ''NaN'' order by f.distance', v_schema, p_dimensions);
  if p_is_large and exists (
    select from pg_index i where i.indisvalid and i.indexrelid = to_regclass('{schema}.search_vectors_near_' || p_dimensions)
  ) then
    perform set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '100', true);
    execute format('select array_agg(n.entry), array_agg(n.ordinal), array_agg(n.cosine) from (%s) n (entry, ordinal, cosine)',
        format(v_query, ''))
      into v_entries, v_ordinals, v_cosines using p_owner, p_keys, p_hidden, p_model, p_vector, p_limit;
    -- With fewer, the index gave up before it had enough.
    if cardinality(v_entries) >= p_limit then
      return query select * from unnest(v_entries, v_ordinals, v_cosines);
      return;
    end if;
  end if;
  -- An expression keeps an index of vectors out, whose answer would be approximate.
  return query execute format(v_query, '+ 0, v.entry, v.ordinal') using p_owner, p_keys, p_hidden, p_model, p_vector, p_limit;
end $$`
)

/**
 * Three common table expressions: the postings of the terms (`found`), the weight of each term (`weighed`), and the best chunks by the sum
 * of their terms' weights (`worded`). `unnest` stands in the list of columns, because in FROM PostgreSQL would first write each array to a
 * temporary table. Postings are looked up one term after the other, because for all terms at once a table without statistics would be read
 * whole: an embedded database has nothing that makes them.
 */
const byWords = (limit: string): string => `
  found as materialized (
    select p.term, p.entry, p.segment, p.offsets, p.impacts from unnest(v_keys) k (scope_key) cross join unnest(v_terms) t (term)
    cross join lateral (
      select * from {schema}.search_postings p where p.owner = p_owner and p.scope_key = k.scope_key and p.term = t.term
        and p.entry <> all (v_hidden) offset 0
    ) p
  ), weighed as materialized (
    select c.term, round(1000 * ln(1 + (v_all - c.chunks + 0.5) / (c.chunks + 0.5)))::integer as rarity
    from (select term, sum(cardinality(offsets))::double precision as chunks from found group by term) c
  ), worded as materialized (
    select u.entry, u.ordinal, sum(u.weight) as lexical from (
      select f.entry, f.segment * ${segmentSize} + unnest(f.offsets) as ordinal, unnest(f.impacts) * w.rarity as weight
      from found f join weighed w on w.term = f.term
    ) u
    group by 1, 2 order by 3 desc, 1, 2 limit ${limit}
  )`

/** The entry and the chunk of a row that was found. Each is looked up by its key, for the same reason as the postings. */
const joinedChunk = (found: string): string => `
    cross join lateral (select * from {schema}.search_entries e where e.owner = p_owner and e.id = ${found}.entry offset 0) e
    cross join lateral (
      select * from {schema}.search_chunks c where c.owner = p_owner and c.entry = ${found}.entry and c.ordinal = ${found}.ordinal
      offset 0
    ) c`

/**
 * One search, with the ranking that core's `Ranking` defines. `p_languages` names the language of each term. A term that all of a thousand
 * chunks have weighs nothing, so the best sum may be 0. The function is `stable`, so all its statements read the same snapshot. It uses
 * generic plans, because the best plan does not depend on the arguments, and no just-in-time compilation, which would take longer than the
 * search.
 */
const searchChunks = sqlFunction(
  "search_chunks",
  `(p_owner text, p_scopes text[], p_languages text[], p_terms text[], p_model text, p_dimensions integer, p_vector text,
    p_candidates integer, p_share double precision, p_limit integer)
returns table (scope text, document uuid, ordinal integer, score double precision, lexical bigint, semantic double precision,
  body text, place text) language plpgsql stable set jit = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_all bigint;
  v_languages text[];
  v_keys bigint[] := array(select distinct hashtextextended(n, 0) from unnest(p_scopes) n);
  v_hidden bigint[];
  v_terms text[];
  v_near_entries bigint[];
  v_near_ordinals integer[];
  v_cosines double precision[];
begin
  select sum(g.chunks), array_agg(g.language) into v_all, v_languages from (
    select e.language, sum(e.chunks) as chunks from (select distinct n as scope from unnest(p_scopes) n) s
      join {schema}.search_entries e on e.owner = p_owner and e.scope = s.scope and e.state = 'ready'
      group by e.language
  ) g;
  if v_all is null then return; end if;
  -- Entries that are being written or deleted: seldom any.
  v_hidden := array(select e.id from unnest(p_scopes) s (scope)
    join {schema}.search_entries e on e.owner = p_owner and e.scope = s.scope and e.state <> 'ready');
  v_terms := array(select distinct t.term from unnest(p_languages, p_terms) t (language, term)
    where t.language = any (v_languages));
  if p_vector is not null and to_regclass('{schema}.search_vectors') is not null then
    select array_agg(n.entry), array_agg(n.ordinal), array_agg(n.cosine) into v_near_entries, v_near_ordinals, v_cosines
      from {schema}.nearest_chunks(p_owner, v_keys, v_hidden, p_model, p_dimensions, p_vector, p_candidates,
        v_all > ${exactLimit}) n;
  end if;
  if v_near_entries is null then
    return query
    with ${byWords("least(p_limit, p_candidates)")}
    select e.scope, e.document, w.ordinal, w.lexical / greatest(max(w.lexical) over (), 1)::double precision, w.lexical,
      null::double precision, c.body, c.place
    from worded w ${joinedChunk("w")}
    order by w.lexical desc, w.entry, w.ordinal;
    return;
  end if;
  return query
  with ${byWords("p_candidates")}, near as (
    select * from unnest(v_near_entries, v_near_ordinals, v_cosines) n (entry, ordinal, semantic)
  ), both_ranks as materialized (
    select coalesce(w.entry, n.entry) as entry, coalesce(w.ordinal, n.ordinal) as ordinal, w.lexical, n.semantic
    from worded w full join near n on n.entry = w.entry and n.ordinal = w.ordinal
  ), spans as materialized (
    select greatest(max(lexical), 1)::double precision as most, min(semantic) as farthest,
      greatest(max(semantic) - min(semantic), 1e-6) as range
    from both_ranks
  ), scored as (
    select b.*, (1 - p_share) * (coalesce(b.lexical, 0) / s.most)
      + p_share * coalesce((b.semantic - s.farthest) / s.range, 0) as score
    from both_ranks b, spans s
  ), best as materialized (
    select * from scored order by round(score * 1000000) desc, lexical desc nulls last, entry, ordinal limit p_limit
  )
  select e.scope, e.document, b.ordinal, b.score, b.lexical, b.semantic, c.body, c.place
  from best b ${joinedChunk("b")}
  order by round(b.score * 1000000) desc, b.lexical desc nulls last, b.entry, b.ordinal;
end $$`
)

export const chunkFunctions: ReadonlyArray<SqlFunction> = [
  keepSearchVectors,
  openSearchEntry,
  addSearchSegment,
  setSearchVectors,
  publishSearchEntry,
  retireSearchEntries,
  dropSearchEntries,
  analyzeSearch,
  putSearchDocument,
  reweighSearchDocument,
  copySearchDocument,
  nearestChunks,
  searchChunks
]
