/**
 * Pure: everything that the index stores about a text, ready for `ChunkIndex.put`. One function for documents, which are split into chunks,
 * and one for texts that are one chunk each: turns of a conversation, memories.
 */
import { runSteps, type Steps } from "../primitives/Steps.ts"
import { type Chunk, ownText } from "./Chunk.ts"
import { chunking } from "./Chunking.ts"
import type { ChunkSize } from "./Packing.ts"
import type { IndexedChunk, IndexedDocument } from "./ChunkIndex.ts"
import { type Language, languageAmong } from "./Language.ts"
import {
  documentWeighting,
  type Impacts,
  type Passage,
  turnWeighting,
  weighed,
  weighing,
  type Weighting
} from "./Impacts.ts"
import { unknownPosition, type Section } from "./Section.ts"

/** The chunks of a text, all at once. */
export type Prepared = Pick<IndexedDocument, "language" | "chunks">

/** A document in chunks. Every chunk is also found by the document's title. */
export const prepareDocument = (title: string, sections: ReadonlyArray<Section>, size: ChunkSize): Prepared =>
  runSteps(preparingDocument(title, sections, size))

/**
 * The same in steps, because a file may have megabytes of text. The terms of each chunk are packed until a store takes them: as maps, those of
 * 8 MB of text take 80 MB.
 */
export function* preparingDocument(title: string, sections: ReadonlyArray<Section>, size: ChunkSize): Steps<Prepared> {
  const chunks = yield* chunking(sections, size)
  const passages = titledPassages(title, chunks)
  const language = languageAmong(textSample(passages), [])
  const packed: Array<IndexedChunk> = []
  for (const { chunk, impacts } of indexedOneByOne(chunks, weighed(passages, language, documentWeighting))) {
    packed.push(new PackedChunk(chunk, impacts))
    yield
  }
  return { language, chunks: packed }
}

class PackedChunk implements IndexedChunk {
  readonly chunk: Chunk
  readonly #terms: string
  readonly #values: Uint16Array

  constructor(chunk: Chunk, impacts: Impacts) {
    this.chunk = chunk
    this.#terms = [...impacts.keys()].join("\n")
    this.#values = Uint16Array.from(impacts.values())
  }

  /** No term has a line break: it is a word, or two characters of one. */
  get impacts(): Impacts {
    const terms = this.#values.length === 0 ? [] : this.#terms.split("\n")
    return new Map(terms.map((term, at) => [term, this.#values[at] ?? 0]))
  }
}

/** The chunks of a text, one after the other. */
export interface PreparedText {
  readonly language: Language
  /** How many chunks there are. */
  readonly count: number
  readonly chunks: Iterable<IndexedChunk>
}

/** The same, where the terms of a chunk are made when it is asked for, so that those of a large text are never in memory together. */
export const prepareText = (title: string, sections: ReadonlyArray<Section>, size: ChunkSize): PreparedText => {
  const chunks = runSteps(chunking(sections, size))
  const passages = titledPassages(title, chunks)
  const language = languageAmong(textSample(passages), [])
  return {
    language,
    count: chunks.length,
    chunks: indexedOneByOne(chunks, weighed(passages, language, documentWeighting))
  }
}

function* indexedOneByOne(chunks: ReadonlyArray<Chunk>, all: Iterable<Impacts>): Generator<IndexedChunk> {
  let index = 0
  for (const impacts of all) {
    const chunk = chunks[index++]
    if (chunk !== undefined) yield { chunk, impacts }
  }
}

const titledPassages = (title: string, chunks: ReadonlyArray<Chunk>): ReadonlyArray<Passage> =>
  chunks.map((chunk) => ({
    text: ownText(chunk),
    label: "",
    context: [title, chunk.heading, chunk.sheet].filter(Boolean).join(" "),
    said: null
  }))

/** The sentence for a file that gives more chunks than allowed. */
export const tooManyChunks = (most: number): string =>
  `The file is too large to be searched: its text makes more than ${most.toLocaleString("en")} parts. Split it into several files.`

/** The turns of one session, in order, or one memory: each becomes a chunk. The texts around them tell the language of a few words. */
export const prepareTurns = (turns: ReadonlyArray<Passage>, around: ReadonlyArray<string> = []): Prepared =>
  runSteps(preparingTurns(turns, around))

/** The same in steps. */
export const preparingTurns = (turns: ReadonlyArray<Passage>, around: ReadonlyArray<string>): Steps<Prepared> =>
  prepared(
    turns.map(({ text }, ordinal) => ({ ...unknownPosition, ordinal, text, repeated: 0 })),
    turns,
    turnWeighting,
    around
  )

function* prepared(
  chunks: ReadonlyArray<Chunk>,
  passages: ReadonlyArray<Passage>,
  weighting: Weighting,
  around: ReadonlyArray<string> = []
): Steps<Prepared> {
  const language = languageAmong(textSample(passages), around)
  const impacts = yield* weighing(passages, language, weighting)
  return {
    language,
    chunks: chunks.map((chunk, index) => ({ chunk, impacts: impacts[index] ?? new Map() }))
  }
}

/** Parts of the beginning and of every section, because a title page may be in another language. */
const textSample = (passages: ReadonlyArray<Passage>): string => {
  const step = Math.max(1, Math.floor(passages.length / 20))
  return passages
    .filter((_, index) => index % step === 0)
    .map(({ text }) => text.slice(0, 1000))
    .join("\n")
}

/** The text of a chunk that is embedded: its heading and sheet, and the text with the repeated sentences before it. */
export const embeddingText = ({ heading, sheet, text }: Chunk): string =>
  [heading, sheet, text].filter(Boolean).join("\n")
