/** What the part of documents keeps with messages, and how it is shown when documents of it are gone: names stay, and so do positions by number. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { asList, asObject, type JsonRecord, type KeptTexts } from "../threads/RecalledTexts.ts"
import { keptIn } from "../threads/Supplement.ts"
import { documentsPartName } from "./DocumentWork.ts"

const number = Schema.NullOr(Schema.Int)
const text = Schema.NullOr(Schema.String)
const orNull = <S extends Schema.Constraint>(schema: S) => Schema.NullOr(schema).pipe(Schema.optionalKey)

/** An excerpt that was given to a model, as it is kept with the answer. Those of older versions have fewer fields. */
const KeptExcerpt = Schema.Struct({
  documentId: Schema.String,
  filename: Schema.String,
  firstOrdinal: Schema.Int,
  lastOrdinal: Schema.Int,
  place: Schema.Struct({ heading: text, page: number, slide: number, sheet: text, row: number }),
  start: orNull(Schema.Int),
  end: orNull(Schema.Int),
  score: Schema.Finite,
  lexical: Schema.NullOr(Schema.Finite),
  semantic: Schema.NullOr(Schema.Finite),
  text: orNull(Schema.String)
})
export type KeptExcerpt = typeof KeptExcerpt.Type

const decodeKept = Schema.decodeUnknownOption(Schema.Struct({ excerpts: Schema.Array(KeptExcerpt) }))

export const readExcerpts = (kept: unknown): ReadonlyArray<KeptExcerpt> =>
  Option.match(decodeKept(kept), { onNone: () => [], onSome: ({ excerpts }) => excerpts })

/** An excerpt that the model was given for an answer. */
export interface RetrievedExcerpt {
  /** Counted from 0, in the order in which the model read them: `[d1]` in the answer is the first. */
  readonly index: number
  readonly documentId: string
  readonly filename: string
  readonly page: number | null
  readonly heading: string | null
  /** The position in the document's text, in UTF-16 units; null: the document was indexed by an older version. */
  readonly start: number | null
  readonly end: number | null
  readonly score: number
  /** Its first 1,000 characters; null once the document has been deleted. */
  readonly text: string | null
}

/** The excerpts that the model was given for an answer, from the supplements of a reply or a stored message. */
export const retrievedIn = (supplements: Schema.JsonObject | null): ReadonlyArray<RetrievedExcerpt> =>
  readExcerpts(keptIn(supplements, documentsPartName)).map(
    ({ documentId, end = null, filename, place, score, start = null, text: own = null }, index) => ({
      index,
      documentId,
      filename,
      page: place.page,
      heading: place.heading,
      start,
      end,
      score,
      text: own
    })
  )

export const shownDocuments: KeptTexts["shown"] = (kept, exists) => {
  const value = asObject(kept)
  if (value === null) return null
  const shown = (field: string, without: (each: JsonRecord) => JsonRecord) =>
    field in value
      ? { [field]: asList(value[field]).map((each) => (isThere(each, exists) ? each : without(each))) }
      : {}
  return {
    ...value,
    ...shown("attachments", (each) => ({ ...each, summary: null })),
    ...shown("excerpts", (each) => ({ ...each, place: { ...asObject(each["place"]), heading: null }, text: null }))
  }
}

const isThere = ({ documentId }: JsonRecord, exists: (source: string) => boolean): boolean =>
  typeof documentId === "string" && exists(documentId)
