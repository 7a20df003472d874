/**
 * `ChunkIndex` on PostgreSQL. A search is one statement. A put of up to 16 chunks is also one statement; a larger one writes segment by
 * segment, in statements that an embedded database does in some milliseconds, and a last statement makes the document visible to searches.
 */
import { Principal, StoreUnavailable } from "@colloquy/core"
import { DocumentId, runYielding } from "@colloquy/core/adapters"
import {
  candidates,
  type ChunkHit,
  ChunkIndex,
  type ChunkSearch,
  type IndexedDocument,
  type IndexKey,
  scoreUnit,
  SearchScope,
  semanticShare,
  type VectorModel
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import {
  type ChunkRow,
  decodeChunk,
  encodeVector,
  encodingSegment,
  type SegmentArguments,
  splitSegments,
  splitStatements
} from "./ChunkRecord.ts"
import { type Arguments, call, type Database } from "./Database.ts"
import { segmentSize } from "./schema/Chunks.ts"
import { storedCount } from "./schema/SchemaPart.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromText, toText } from "./StoredText.ts"

interface KeyRow extends ChunkRow {
  readonly scope: string
  readonly document: string
}

/** Returns whether vectors can be stored. With `mayMake` it creates the extension and the table if they are missing. */
export const openVectors = (database: Database, mayMake: boolean): Effect.Effect<boolean, StoreUnavailable> =>
  Effect.map(
    database.query<{ readonly kept: boolean }>(
      "ChunkIndex.open",
      `select ${call(database, "keep_search_vectors", { make: mayMake })} as kept`,
      [mayMake]
    ),
    ([row]) => row?.kept === true
  )

export const withoutExtension =
  "Search uses words only, because this database cannot store vectors. Install pgvector 0.7 or newer, let an administrator run " +
  "CREATE EXTENSION vector, and start again; the missing vectors are then added."

export const chunkIndex = (database: Database, keepsVectors: boolean): typeof ChunkIndex.Service => {
  const { query, schema } = database

  /** Calls a function that returns one value. */
  const callFunction = <A>(
    operation: string,
    name: string,
    args: Arguments
  ): Effect.Effect<A | null, StoreUnavailable> =>
    Effect.map(
      query<{ readonly result: A }>(operation, `select ${call(database, name, args)} as result`, Object.values(args)),
      ([row]) => row?.result ?? null
    )

  /** Deletes until the database says that nothing is left. Other fibers run in between, also with an embedded database, which answers at once. */
  const cleanUp = (operation: string, key: RemovedKey): Effect.Effect<void, StoreUnavailable> =>
    Effect.flatMap(callFunction<boolean>(operation, "drop_search_entries", key), (isDone) =>
      isDone === true ? Effect.void : Effect.andThen(Effect.yieldNow, cleanUp(operation, key))
    )

  const putAtOnce = Effect.fnUntraced(function* (key: Key, document: IndexedDocument, segment: SegmentArguments) {
    const operation = "ChunkIndex.put"
    const isDone = yield* callFunction<boolean>(operation, "put_search_document", {
      ...key,
      language: document.language,
      ...segment,
      ...encodeVectors(keepsVectors ? document.vectors : null, 0, document.chunks.length)
    })
    if (isDone !== true) yield* cleanUp(operation, key)
  })

  const putVectors = Effect.fnUntraced(function* (
    key: Key,
    entry: bigint | null,
    { chunks, vectors }: IndexedDocument,
    segment: number
  ) {
    if (!keepsVectors || vectors === null) return
    const first = segment * segmentSize
    const end = Math.min(first + segmentSize, chunks.length)
    for (let from = first; from < end; from += vectorsAtOnce) {
      const some = encodeVectors(vectors, from, Math.min(from + vectorsAtOnce, end))
      yield* callFunction("ChunkIndex.put", "set_search_vectors", { ...key, entry, ...some })
      yield* Effect.yieldNow
    }
  })

  const putSegment = Effect.fnUntraced(function* (
    key: Key,
    entry: bigint | null,
    document: IndexedDocument,
    chunks: IndexedDocument["chunks"],
    segment: number
  ) {
    const { owner, scope } = key
    for (const some of splitStatements(yield* runYielding(encodingSegment(chunks)))) {
      const args = { owner, scope, entry, segment, ...some }
      if ((yield* callFunction("ChunkIndex.put", "add_search_segment", args)) === null) return yield* removedMeanwhile
      // An embedded database answers at once, so other fibers would wait until the last segment.
      yield* Effect.yieldNow
    }
    yield* putVectors(key, entry, document, segment)
  })

  const putInSegments = Effect.fnUntraced(function* (key: Key, document: IndexedDocument) {
    const operation = "ChunkIndex.put"
    const { language } = document
    const opened = { ...key, language, chunks: document.chunks.length }
    const entry = yield* callFunction<bigint>(operation, "open_search_entry", opened)
    // While the database writes one segment, this process encodes the next one.
    yield* Effect.forEach(
      splitSegments(document.chunks),
      (chunks, segment) => putSegment(key, entry, document, chunks, segment),
      { concurrency: 2, discard: true }
    )
    const isShown = yield* callFunction<boolean>(operation, "publish_search_entry", { ...key, entry })
    if (isShown !== true) return yield* removedMeanwhile
    yield* callFunction(operation, "analyze_search", {})
    yield* cleanUp(operation, key)
  })

  return ChunkIndex.of({
    keepsVectors,

    put: Effect.fnUntraced(function* (document) {
      const { ownerId } = yield* Principal
      const key = {
        owner: toText(ownerId),
        scope: toText(document.scope),
        document: newRowId(document.documentId)
      }
      if (document.chunks.length > mostAtOnce) return yield* putInSegments(key, document)
      yield* putAtOnce(key, document, yield* runYielding(encodingSegment(document.chunks)))
    }),

    setVectors: ({ model, revision, values, ...document }) =>
      Principal.use(({ ownerId }) =>
        !keepsVectors || !/^\d+$/u.test(revision)
          ? Effect.succeed(false)
          : Effect.map(
              callFunction<boolean>("ChunkIndex.setVectors", "set_search_vectors", {
                ...keyArguments(ownerId, document),
                entry: BigInt(revision),
                model: toText(model.name),
                dimensions: model.dimensions,
                ordinals: values.map(({ ordinal }) => ordinal),
                vectors: values.map(({ vector }) => encodeVector(vector))
              }),
              (isSet) => isSet === true
            )
      ),

    withoutVectors: (scopes, model, limit) =>
      Principal.use(({ ownerId }) =>
        !keepsVectors
          ? Effect.succeed([])
          : Effect.map(
              query<KeyRow & { readonly entry: bigint }>(
                "ChunkIndex.withoutVectors",
                `select e.scope, e.document, e.id as entry, c.ordinal, c.body, c.place
                 from ${schema}.search_entries e join ${schema}.search_chunks c on c.owner = e.owner and c.entry = e.id
                 where e.owner = $1 and e.scope = any ($2::text[]) and e.state = 'ready' and not exists (
                   select from ${schema}.search_vectors v where v.owner = c.owner and v.entry = c.entry
                     and v.ordinal = c.ordinal and v.model = $3 and v.dimensions = $4)
                 order by e.id, c.ordinal limit $5`,
                [toText(ownerId), scopes.map(toText), toText(model.name), model.dimensions, limit]
              ),
              (rows) =>
                rows.map((row) => ({ ...decodeKey(row), revision: row.entry.toString(), chunk: decodeChunk(row) }))
            )
      ),

    remove: Effect.fnUntraced(function* (document) {
      const { ownerId } = yield* Principal
      const key = keyArguments(ownerId, document)
      if (key.document === null) return false
      const isRetired = yield* callFunction<boolean>("ChunkIndex.remove", "retire_search_entries", key)
      yield* cleanUp("ChunkIndex.remove", key)
      return isRetired === true
    }),

    removeScope: Effect.fnUntraced(function* (scope) {
      const { ownerId } = yield* Principal
      const key = { owner: toText(ownerId), scope: toText(scope), document: null }
      yield* callFunction("ChunkIndex.removeScope", "retire_search_entries", key)
      yield* cleanUp("ChunkIndex.removeScope", key)
    }),

    copy: Effect.fnUntraced(function* (from, to) {
      const { ownerId } = yield* Principal
      const target = { to_scope: toText(to.scope), to_document: newRowId(to.documentId) }
      const args = { ...keyArguments(ownerId, from), ...target }
      const isCopied = yield* callFunction<boolean>("ChunkIndex.copy", "copy_search_document", args)
      yield* cleanUp("ChunkIndex.copy", { owner: args.owner, scope: target.to_scope, document: target.to_document })
      return isCopied === true
    }),

    chunks: (document, { limit, skip }) =>
      Principal.use(({ ownerId }) => {
        const key = keyArguments(ownerId, document)
        return Effect.map(
          query<{ readonly total: number } & (ChunkRow | { readonly ordinal: null })>(
            "ChunkIndex.chunks",
            `select e.chunks as total, c.ordinal, c.body, c.place from ${schema}.search_entries e
             left join ${schema}.search_chunks c on c.owner = e.owner and c.entry = e.id and c.ordinal >= $4 and c.ordinal < $5
             where e.owner = $1 and e.scope = $2 and e.document = $3 and e.state = 'ready' order by c.ordinal`,
            [...Object.values(key), storedCount(skip), storedCount(skip + limit)]
          ),
          (rows) => ({
            total: rows[0]?.total ?? 0,
            chunks: rows.flatMap((row) => (row.ordinal === null ? [] : [decodeChunk(row)]))
          })
        )
      }),

    search: (search) =>
      Principal.use(({ ownerId }) => {
        const args = searchArguments(toText(ownerId), search, keepsVectors)
        return Effect.map(
          query<HitRow>(
            "ChunkIndex.search",
            `select * from ${call(database, "search_chunks", args)}`,
            Object.values(args)
          ),
          (rows) => rows.map(decodeHit)
        )
      })
  })
}

interface HitRow extends KeyRow {
  readonly score: number
  readonly lexical: bigint | null
  readonly semantic: number | null
}

/** The entries of a document, or of all documents of the scope. */
type RemovedKey = { readonly owner: string; readonly scope: string; readonly document: string | null }

const removedMeanwhile = Effect.suspend(() =>
  Effect.fail(
    new StoreUnavailable({
      operation: "ChunkIndex.put",
      cause: new Error("The document was removed while it was put, or that took more than a day: put it again")
    })
  )
)

type Key = { readonly owner: string; readonly scope: string; readonly document: string }

const keyArguments = (ownerId: string, { documentId, scope }: IndexKey) => ({
  owner: toText(ownerId),
  scope: toText(scope),
  document: knownId(documentId)
})

const decodeKey = ({ document, scope }: KeyRow): IndexKey => ({
  scope: SearchScope.make(fromText(scope)),
  documentId: DocumentId.make(document)
})

const decodeHit = (row: HitRow): ChunkHit => ({
  ...decodeKey(row),
  chunk: decodeChunk(row),
  score: row.score,
  lexical: row.lexical === null ? null : Number(row.lexical) / scoreUnit,
  semantic: row.semantic
})

export const searchArguments = (
  owner: string,
  { limit, scopes, terms, vector }: ChunkSearch,
  keepsVectors: boolean
): Arguments => {
  const pairs = [...terms].flatMap(([language, each]) => each.map((term) => ({ language, term })))
  const { model, values } = (keepsVectors ? vector : null) ?? { model: null, values: null }
  return {
    owner,
    scopes: scopes.map(toText),
    languages: pairs.map(({ language }) => language),
    terms: pairs.map(({ term }) => term),
    model: model === null ? null : toText(model.name),
    dimensions: model?.dimensions ?? null,
    vector: values === null ? null : encodeVector(values),
    candidates,
    share: semanticShare,
    limit: storedCount(limit)
  }
}

/** A statement with more chunks would take too long in an embedded database, where all others wait meanwhile. */
const mostAtOnce = 16
const vectorsAtOnce = 32

/** The vectors of some chunks, as arguments of the schema's functions. */
const encodeVectors = (
  vectors: { readonly model: VectorModel; readonly values: ReadonlyArray<Float32Array> } | null,
  first: number,
  end: number
) => {
  const values = vectors?.values.slice(first, end) ?? []
  return {
    model: vectors === null ? null : toText(vectors.model.name),
    dimensions: vectors?.model.dimensions ?? null,
    ordinals: values.map((_, index) => first + index),
    vectors: values.map(encodeVector)
  }
}
