/** Fills an index with a corpus and asks its questions through `Retrieval`, as a host would. */
import { Principal, Providers } from "@colloquy/core"
import { DocumentId, estimateTokens, newId, noCharge } from "@colloquy/core/adapters"
import {
  ChunkIndex,
  documentWeighting,
  termImpacts,
  type IndexedChunk,
  type Language,
  ownText,
  type Passage,
  prepareDocument,
  type Prepared,
  prepareTurns,
  Retrieval,
  SearchScope,
  turnWeighting,
  type Weighting
} from "@colloquy/core/retrieval"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Corpus, Group, Source } from "./Corpus.ts"

/** A change of the ranking, to see what a part of it is worth. */
export interface Variant {
  /** How many hits are looked at. */
  readonly hits: number
  readonly name: string
  readonly weighting: Partial<Weighting>
  readonly keepsDates: boolean
  readonly language: Language | null
}

export const asShipped: Variant = { name: "as shipped", hits: 10, weighting: {}, keepsDates: true, language: null }

export interface Recall {
  /** Questions with a piece of evidence among the first ten, in percent. */
  readonly any: number
  /** The part of all evidence that the first ten hold, in percent. */
  readonly mean: number
  readonly questions: number
  /** The median time of a search, in milliseconds. */
  readonly millis: number
  /** The ten of every question, to compare stores. */
  readonly tens: ReadonlyArray<string>
}

const size = { tokens: 400, overlap: 60, count: estimateTokens }

const prepare = (source: Source, variant: Variant): Prepared => {
  const prepared =
    source.kind === "turns" ? prepareTurns(source.turns) : prepareDocument(source.title, source.sections, size)
  if (variant === asShipped) return prepared
  const base = source.kind === "turns" ? turnWeighting : documentWeighting
  const passages = source.kind === "turns" ? source.turns : chunkPassages(source.title, prepared.chunks)
  const dated = variant.keepsDates ? passages : passages.map((passage) => ({ ...passage, said: null }))
  const language = variant.language ?? prepared.language
  const impacts = termImpacts(dated, language, { ...base, ...variant.weighting })
  const chunks = prepared.chunks.map(({ chunk }, at) => ({ chunk, impacts: impacts[at] ?? new Map() }))
  return { language, chunks }
}

const chunkPassages = (title: string, chunks: ReadonlyArray<IndexedChunk>): ReadonlyArray<Passage> =>
  chunks.map(({ chunk }) => ({
    text: ownText(chunk),
    label: "",
    context: `${title} ${chunk.heading ?? ""}`,
    said: null
  }))

const measureGroup = (group: Group, variant: Variant) =>
  Effect.gen(function* () {
    const index = yield* ChunkIndex
    const retrieval = yield* Retrieval
    const scope = SearchScope.make(`recall:${yield* newId(DocumentId)}`)
    // Ids in the order of the documents, so that equal scores are ordered alike in every store.
    const ids = group.sources.map((_, at) => DocumentId.make(`00000000-0000-7000-8000-${String(at).padStart(12, "0")}`))
    for (const [at, source] of group.sources.entries()) {
      const documentId = ids[at]
      if (documentId !== undefined) yield* index.put({ scope, documentId, vectors: null, ...prepare(source, variant) })
    }
    const answers = yield* Effect.forEach(group.questions, ({ evidence, text }) =>
      Effect.gen(function* () {
        const start = performance.now()
        const { hits } = yield* retrieval.search({
          scopes: [scope],
          query: text,
          limit: variant.hits,
          embedding: null,
          beginCharge: noCharge
        })
        const millis = performance.now() - start
        const found = hits.map((hit) => ({ document: ids.indexOf(hit.documentId), hit }))
        const seen = evidence.filter((isEvidence) => found.some(isEvidence)).length
        const ten = found.map(({ document, hit }) => `${document}.${hit.chunk.ordinal}`).join(" ")
        return { any: seen > 0 ? 1 : 0, mean: seen / evidence.length, millis, ten }
      })
    )
    yield* index.removeScope(scope)
    return answers
  })

const retrievalLayer = Retrieval.layer.pipe(
  Layer.provide(Providers.layer({ providers: [{ id: "none" }], defaults: { provider: "none", model: "none" } }))
)

export const measureRecall = (corpus: Corpus, variant: Variant): Effect.Effect<Recall, unknown, ChunkIndex> =>
  Effect.gen(function* () {
    const answers = (yield* Effect.forEach(corpus.groups, (group) => measureGroup(group, variant))).flat()
    const percent = (key: "any" | "mean") =>
      (100 * answers.reduce((sum, answer) => sum + answer[key], 0)) / answers.length
    const times = answers.map(({ millis }) => millis).sort((a, b) => a - b)
    return {
      any: percent("any"),
      mean: percent("mean"),
      questions: answers.length,
      millis: times[Math.floor(times.length / 2)] ?? 0,
      tens: answers.map(({ ten }) => ten)
    }
  }).pipe(Principal.provide("recall"), Effect.provide(retrievalLayer))
