/** Converts chunks, postings and vectors to arguments of the schema's functions, and rows back to chunks. */
import { runSteps, type Steps } from "@colloquy/core/adapters"
import type { Chunk, IndexedChunk, SectionPosition } from "@colloquy/core/wings"
import { segmentSize } from "./schema/Chunks.ts"
import { fromJson, fromText, toText } from "./StoredText.ts"

/** The arguments of one segment. The names are those of the parameters of the schema's functions, without `p_`. */
export interface SegmentArguments {
  readonly bodies: ReadonlyArray<string>
  readonly places: ReadonlyArray<string>
  readonly terms: ReadonlyArray<string>
  readonly offsets: ReadonlyArray<string>
  readonly impacts: ReadonlyArray<string>
}

/** Splits the chunks of a document into segments. */
export const splitSegments = <A>(chunks: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(chunks.length / segmentSize) }, (_, segment) =>
    chunks.slice(segment * segmentSize, (segment + 1) * segmentSize)
  )

/** The arguments of a few chunks. */
export const encodeSegment = (chunks: ReadonlyArray<IndexedChunk>): SegmentArguments =>
  runSteps(encodingSegment(chunks))

interface Posted {
  offsets: string
  impacts: string
}

/**
 * The arguments of one segment, in steps: its chunks may have a hundred thousand terms. Postings are sorted by term: neighbouring rows are stored
 * together, and two writers lock rows in the same order.
 */
export function* encodingSegment(chunks: ReadonlyArray<IndexedChunk>): Steps<SegmentArguments> {
  const postings = new Map<string, Posted>()
  for (const [offset, { impacts }] of chunks.entries()) {
    addPostings(postings, offset, impacts)
    yield
  }
  const [terms, offsets, impacts]: [Array<string>, Array<string>, Array<string>] = [[], [], []]
  for (const some of sortedParts([...postings.keys()])) {
    for (const term of some) {
      const posted = postings.get(term)
      terms.push(term)
      offsets.push(`{${posted?.offsets ?? ""}}`)
      impacts.push(`{${posted?.impacts ?? ""}}`)
    }
    yield
  }
  return {
    bodies: chunks.map(({ chunk }) => toText(chunk.text)),
    places: chunks.map(({ chunk }) => encodePosition(chunk)),
    terms,
    offsets,
    impacts
  }
}

const addPostings = (postings: Map<string, Posted>, offset: number, impacts: IndexedChunk["impacts"]): void => {
  for (const [term, impact] of impacts) {
    const row = postings.get(term)
    if (row === undefined) postings.set(term, { offsets: `${offset}`, impacts: `${impact}` })
    else {
      row.offsets += `,${offset}`
      row.impacts += `,${impact}`
    }
  }
}

/** How many terms are looked at, or sorted, in one step. */
const termsInStep = 2_000

/** All terms in order, a few at a time. The terms have their first `at` characters in common; too many of them are split by the next one. */
function* sortedParts(terms: ReadonlyArray<string>, at = 0): Generator<ReadonlyArray<string>> {
  if (terms.length <= termsInStep) {
    yield terms.toSorted()
    return
  }
  const parts = new Map<string, Array<string>>()
  for (const [index, term] of terms.entries()) {
    const next = term.charAt(at)
    const part = parts.get(next)
    if (part === undefined) parts.set(next, [term])
    else part.push(term)
    if (index % termsInStep === termsInStep - 1) yield []
  }
  for (const next of [...parts.keys()].toSorted()) yield* sortedParts(parts.get(next) ?? [], at + 1)
}

/** How many terms one statement writes: in an embedded database all others wait meanwhile. */
const termsAtOnce = 500

/** The statements that write a segment: its chunks, and then their postings. */
export const splitStatements = (segment: SegmentArguments): ReadonlyArray<SegmentArguments> => {
  const { bodies, impacts, offsets, places, terms } = segment
  if (terms.length <= termsAtOnce) return [segment]
  const count = Math.ceil(terms.length / termsAtOnce)
  return [
    { bodies, places, terms: [], offsets: [], impacts: [] },
    ...Array.from({ length: count }, (_, index) => {
      const [from, to] = [index * termsAtOnce, (index + 1) * termsAtOnce]
      return {
        bodies: [],
        places: [],
        terms: terms.slice(from, to),
        offsets: offsets.slice(from, to),
        impacts: impacts.slice(from, to)
      }
    })
  ]
}

interface StoredPosition extends SectionPosition {
  readonly repeated: number
  readonly start?: number
}

const encodePosition = ({ heading, page, repeated, row, sheet, slide, start }: Chunk): string =>
  JSON.stringify({ heading, page, slide, sheet, row, repeated, ...startIn(start) } satisfies StoredPosition)

/** Rows of older versions have none. */
const startIn = (start: number | undefined) => (start === undefined ? {} : { start })

export interface ChunkRow {
  readonly ordinal: number
  readonly body: string
  readonly place: string
}

export const decodeChunk = ({ body, ordinal, place }: ChunkRow): Chunk => {
  const { heading, page, repeated, row, sheet, slide, start } = fromJson<StoredPosition>(place)
  return { heading, page, slide, sheet, row, ordinal, text: fromText(body), repeated, ...startIn(start) }
}

/**
 * The text format of pgvector, scaled to length one: the column has half precision, and the cosine distance does not depend on the length.
 */
export const encodeVector = (values: Float32Array): string => {
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0)) || 1
  return `[${Array.from(values, (value) => (value / length).toPrecision(6)).join(",")}]`
}
