/** The excerpts of documents that an answer cites, as OpenAI's clients read them: the id is that of the document. Pure. */
import { citationsIn, retrievedIn } from "@colloquy/core/wings"
import type * as Schema from "effect/Schema"

interface CitedFile {
  readonly file_id: string
  readonly filename: string
  readonly start: number
  readonly end: number
}

const citedFiles = (supplements: Schema.JsonObject | null): ReadonlyArray<CitedFile> => {
  const found = citationsIn(supplements)?.citations ?? []
  if (found.length === 0) return []
  const retrieved = retrievedIn(supplements)
  return found.flatMap(({ end, index, kind, start }) => {
    const excerpt = kind === undefined ? retrieved[index] : undefined
    return excerpt === undefined ? [] : [{ file_id: excerpt.documentId, filename: excerpt.filename, start, end }]
  })
}

/** Of a response: `index` is where the marker stands in the text. */
export const responseAnnotations = (supplements: Schema.JsonObject | null) =>
  citedFiles(supplements).map(({ file_id, filename, start }) => ({
    type: "file_citation",
    file_id,
    filename,
    index: start
  }))

/** Of a completion, in the form of its `url_citation`. */
export const chatAnnotations = (supplements: Schema.JsonObject | null) =>
  citedFiles(supplements).map(({ end, file_id, filename, start }) => ({
    type: "file_citation",
    file_citation: { file_id, filename, start_index: start, end_index: end }
  }))
