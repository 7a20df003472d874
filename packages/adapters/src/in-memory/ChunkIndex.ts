/**
 * `ChunkIndex` in memory, the reference implementation. It ranks with the functions of core, and rounds vectors in the same way as PostgreSQL,
 * which stores them in half precision.
 */
import type { OwnerId } from "@colloquy/core"
import { Principal } from "@colloquy/core"
import { runSteps, runYielding, type Steps } from "@colloquy/core/adapters"
import {
  candidates,
  type Chunk,
  type ChunkHit,
  ChunkIndex,
  type ChunkSearch,
  type IndexedDocument,
  type IndexKey,
  joinRanks,
  type Language,
  type NewVectors,
  type Ranks,
  termRarity,
  scoreUnit,
  type SearchScope,
  type VectorModel
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface Entry extends IndexKey {
  readonly revision: string
  readonly language: Language
  readonly chunks: ReadonlyArray<Chunk>
  /** For each term, the chunks that contain it. */
  readonly postings: ReadonlyMap<string, ReadonlyArray<Posting>>
  /** The vectors by the ordinal of their chunk. */
  readonly vectors: Map<number, Vector>
}

interface Posting {
  readonly ordinal: number
  readonly impact: number
}

interface Vector {
  readonly model: VectorModel
  readonly values: Float32Array
}

/** A chunk that was found by its terms or by its vector. */
interface Found {
  readonly entry: Entry
  readonly ordinal: number
  readonly score: number
}

/** The entries by scope and document. */
export type EntriesOfOwner = Map<string, Entry>

export const chunkIndex = (owners: Map<OwnerId, EntriesOfOwner>): typeof ChunkIndex.Service => {
  const owned = <A>(operation: (entries: EntriesOfOwner) => A): Effect.Effect<A, never, Principal> =>
    Principal.use(({ ownerId }) =>
      Effect.sync(() => {
        const entries = owners.get(ownerId) ?? new Map()
        owners.set(ownerId, entries)
        return operation(entries)
      })
    )
  const nextRevision = () => globalThis.crypto.randomUUID()

  return ChunkIndex.of({
    keepsVectors: true,
    put: (document) =>
      Effect.flatMap(runYielding(makingEntry(document, nextRevision())), (entry) =>
        owned((entries) => putLast(entries, indexName(document), entry))
      ),
    setVectors: (vectors) =>
      owned((entries) => {
        const entry = entries.get(indexName(vectors))
        if (entry?.revision !== vectors.revision) return false
        setVectors(entry, vectors)
        return true
      }),
    withoutVectors: (scopes, model, limit) =>
      owned((entries) =>
        inScopes(entries, scopes)
          .flatMap((entry) =>
            entry.chunks
              .filter(({ ordinal }) => !isForModel(entry.vectors.get(ordinal), model))
              .map((chunk) => ({ ...pickKey(entry), revision: entry.revision, chunk }))
          )
          .slice(0, limit)
      ),
    remove: (key) => owned((entries) => entries.delete(indexName(key))),
    removeScope: (scope) =>
      owned((entries) => {
        for (const [name, entry] of entries) if (entry.scope === scope) entries.delete(name)
      }),
    copy: (from, to) =>
      owned((entries) => {
        const entry = entries.get(indexName(from))
        if (entry === undefined) return false
        const { documentId, scope } = to
        const copied = { ...entry, documentId, scope, revision: nextRevision(), vectors: new Map(entry.vectors) }
        putLast(entries, indexName(to), copied)
        return true
      }),
    chunks: (key, { limit, skip }) =>
      owned((entries) => {
        const all = entries.get(indexName(key))?.chunks ?? []
        return { chunks: all.slice(skip, skip + limit), total: all.length }
      }),
    search: (search) => owned((entries) => searchIn(inScopes(entries, search.scopes), search))
  })
}

/** Only the index of chunks, with its own state. */
export const layerChunkIndex: Layer.Layer<ChunkIndex> = Layer.sync(ChunkIndex, () => chunkIndex(new Map()))

const indexName = ({ documentId, scope }: IndexKey): string => JSON.stringify([scope, documentId])

const putLast = (entries: EntriesOfOwner, name: string, entry: Entry): void => {
  entries.delete(name)
  entries.set(name, entry)
}

const pickKey = ({ documentId, scope }: IndexKey): IndexKey => ({ scope, documentId })

export const makeEntry = (document: IndexedDocument, revision: string): Entry =>
  runSteps(makingEntry(document, revision))

/** In steps, one chunk each, because a document may have a million terms. */
function* makingEntry(document: IndexedDocument, revision: string): Steps<Entry> {
  const postings = new Map<string, Array<Posting>>()
  for (const [ordinal, { impacts }] of document.chunks.entries()) {
    for (const [term, impact] of impacts) {
      const found = postings.get(term) ?? []
      found.push({ ordinal, impact })
      postings.set(term, found)
    }
    yield
  }
  const kept = new Map<number, Vector>()
  const { language, vectors } = document
  for (const [ordinal, values] of (vectors?.values ?? []).entries()) {
    if (vectors !== null) kept.set(ordinal, makeVector(vectors.model, values))
    yield
  }
  const chunks = document.chunks.map(({ chunk }) => chunk)
  return { ...pickKey(document), revision, language, chunks, postings, vectors: kept }
}

export const setVectors = (entry: Entry, { model, values }: NewVectors): void => {
  for (const { ordinal, vector } of values) {
    if (ordinal < entry.chunks.length) entry.vectors.set(ordinal, makeVector(model, vector))
  }
}

/** Normalizes the vector before rounding, because PostgreSQL stores it so, and again after it, so that a product of two vectors is their cosine. */
const makeVector = (model: VectorModel, values: Float32Array): Vector => ({
  model,
  values: toUnit(toUnit(values).map(toHalf))
})

const toUnit = (values: Float32Array): Float32Array => {
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
  return values.map((value) => value / (length || 1))
}

/** The nearest number with half precision, which has eleven binary digits. */
const toHalf = (value: number): number => {
  const scale = 2 ** (10 - Math.max(Math.floor(Math.log2(Math.abs(value))), -14))
  const scaled = value * scale
  const rounded = Math.round(scaled)
  const isTie = Math.abs(scaled - Math.trunc(scaled)) === 0.5
  return value === 0 ? 0 : (isTie ? 2 * Math.round(scaled / 2) : rounded) / scale
}

const isForModel = (vector: Vector | undefined, { dimensions, name }: VectorModel): vector is Vector =>
  vector?.model.name === name && vector.model.dimensions === dimensions

const inScopes = (entries: ReadonlyMap<string, Entry>, scopes: ReadonlyArray<SearchScope>): ReadonlyArray<Entry> =>
  [...entries.values()].filter(({ scope }) => scopes.includes(scope))

/** `entries` are in the order in which they were stored, which decides between equal scores. */
export const searchIn = (entries: ReadonlyArray<Entry>, search: ChunkSearch): ReadonlyArray<ChunkHit> => {
  const lexical = new Map(best(byTerms(entries, search)).map((found) => [foundKey(found), found]))
  const semantic = new Map(best(byVector(entries, search)).map((found) => [foundKey(found), found]))
  const union = [...new Map([...lexical, ...semantic])]
  const ranks = union.map(([key]) => ({
    lexical: lexical.get(key)?.score ?? null,
    semantic: semantic.get(key)?.score ?? null
  }))
  const scores = joinRanks(ranks)
  return union
    .map(([, found], index) => ({ ...found, score: scores[index] ?? 0, rank: ranks[index] ?? noRank }))
    .sort(
      (a, b) =>
        comparable(b.score) - comparable(a.score) ||
        (b.rank.lexical ?? -1) - (a.rank.lexical ?? -1) ||
        entries.indexOf(a.entry) - entries.indexOf(b.entry) ||
        a.ordinal - b.ordinal
    )
    .slice(0, search.limit)
    .flatMap(({ entry, ordinal, rank, score }): ReadonlyArray<ChunkHit> => {
      const chunk = entry.chunks[ordinal]
      return chunk === undefined ? [] : [{ ...pickKey(entry), chunk, score, ...rank }]
    })
}

const noRank: Ranks = { lexical: null, semantic: null }

/** Rounds a score before it is compared: its last digits depend on the order of additions, which differs from PostgreSQL's. */
const comparable = (score: number): number => Math.round(score * 1_000_000)

const foundKey = ({ entry, ordinal }: Found): string => `${entry.revision} ${ordinal}`

/** `found` is in the order of entries and ordinals. The sort keeps this order for equal scores. */
const best = (found: ReadonlyArray<Found>): ReadonlyArray<Found> =>
  found.toSorted((a, b) => b.score - a.score).slice(0, candidates)

const byTerms = (entries: ReadonlyArray<Entry>, { terms }: ChunkSearch): ReadonlyArray<Found> => {
  const all = entries.reduce((sum, { chunks }) => sum + chunks.length, 0)
  const used = new Set(entries.map(({ language }) => language))
  const asked = new Set([...used].flatMap((language) => terms.get(language) ?? []))
  const scores = new Map(entries.map((entry) => [entry, new Map<number, number>()]))
  for (const term of asked) {
    const found = entries.reduce((sum, { postings }) => sum + (postings.get(term)?.length ?? 0), 0)
    const rarity = termRarity(found, all)
    for (const [entry, sums] of scores) {
      for (const { impact, ordinal } of entry.postings.get(term) ?? [])
        sums.set(ordinal, (sums.get(ordinal) ?? 0) + impact * rarity)
    }
  }
  return [...scores].flatMap(([entry, sums]) =>
    Array.from(sums, ([ordinal, score]) => ({ entry, ordinal, score: score / scoreUnit })).sort(
      (a, b) => a.ordinal - b.ordinal
    )
  )
}

const byVector = (entries: ReadonlyArray<Entry>, { vector }: ChunkSearch): ReadonlyArray<Found> => {
  if (vector === null) return []
  const asked = makeVector(vector.model, vector.values)
  if (!hasDirection(asked.values)) return []
  return entries.flatMap((entry) =>
    [...entry.vectors]
      .sort(([a], [b]) => a - b)
      .flatMap(([ordinal, kept]) =>
        isForModel(kept, vector.model) && hasDirection(kept.values)
          ? [{ entry, ordinal, score: cosine(asked.values, kept.values) }]
          : []
      )
  )
}

const hasDirection = (values: Float32Array): boolean => values.some((value) => value !== 0)

const cosine = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
