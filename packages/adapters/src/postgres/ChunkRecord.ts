/** Converts chunks, postings and vectors to arguments of the schema's functions, and rows back to chunks. */
import type { Chunk, IndexedChunk, Place } from "@colloquy/core/wings"
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
export const segmentsOf = <A>(chunks: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(chunks.length / segmentSize) }, (_, segment) =>
    chunks.slice(segment * segmentSize, (segment + 1) * segmentSize)
  )

/** Postings are sorted by term: neighbouring rows are stored together, and two writers lock rows in the same order. */
export const encodeSegment = (chunks: ReadonlyArray<IndexedChunk>): SegmentArguments => {
  const postings = new Map<string, { offsets: string; impacts: string }>()
  chunks.forEach(({ impacts }, offset) => {
    for (const [term, impact] of impacts) {
      const row = postings.get(term)
      if (row === undefined) postings.set(term, { offsets: `${offset}`, impacts: `${impact}` })
      else {
        row.offsets += `,${offset}`
        row.impacts += `,${impact}`
      }
    }
  })
  const terms = [...postings.keys()].sort()
  const column = (name: "impacts" | "offsets") => terms.map((term) => `{${postings.get(term)?.[name] ?? ""}}`)
  return {
    bodies: chunks.map(({ chunk }) => toText(chunk.text)),
    places: chunks.map(({ chunk }) => encodePlace(chunk)),
    terms,
    offsets: column("offsets"),
    impacts: column("impacts")
  }
}

interface StoredPlace extends Place {
  readonly repeated: number
}

const encodePlace = ({ heading, page, repeated, row, sheet, slide }: Chunk): string =>
  JSON.stringify({ heading, page, slide, sheet, row, repeated } satisfies StoredPlace)

export interface ChunkRow {
  readonly ordinal: number
  readonly body: string
  readonly place: string
}

export const decodeChunk = ({ body, ordinal, place }: ChunkRow): Chunk => {
  const { heading, page, repeated, row, sheet, slide } = fromJson<StoredPlace>(place)
  return { heading, page, slide, sheet, row, ordinal, text: fromText(body), repeated }
}

/**
 * The text format of pgvector, scaled to length one: the column has half precision, and the cosine distance does not depend on the length.
 */
export const encodeVector = (values: Float32Array): string => {
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0)) || 1
  return `[${Array.from(values, (value) => (value / length).toPrecision(6)).join(",")}]`
}
